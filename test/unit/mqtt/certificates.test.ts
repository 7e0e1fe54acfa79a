// What no certificate is; that real ones work, and only together, is shown in test/e2e/tls.test.ts.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { brokerOf } from '../../../companion/commands/ground.ts'
import { readCertificates } from '../../../companion/mqtt/certificates.ts'

const folder = mkdtempSync(join(tmpdir(), 'halo-certificates-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const junk = join(folder, 'junk.pem')
writeFileSync(junk, 'not a certificate')
const absent = join(folder, 'absent.pem')

it('names the key and the file that is missing, or is no certificate', () => {
  expect(() => readCertificates({ ca: absent })).toThrow(`mqtt.ca ${absent}: no such file`)
  expect(() => readCertificates({ cert: absent, key: junk })).toThrow(`mqtt.cert ${absent}: no such file`)
  expect(() => readCertificates({ cert: junk, key: absent })).toThrow(`mqtt.key ${absent}: no such file`)
  expect(() => readCertificates({ ca: junk })).toThrow(`mqtt.ca ${junk}: `)
  expect(() => readCertificates({ cert: junk, key: junk })).toThrow(`mqtt.cert ${junk}: `)
  expect(readCertificates({})).toEqual({})
})

it('refuses options that would not be used', () => {
  const mqtt = 'mqtts://127.0.0.1:8883'
  expect(() => brokerOf({ mqtt, cert: junk })).toThrow('--cert and --key need each other')
  expect(() => brokerOf({ mqtt, key: junk })).toThrow('--cert and --key need each other')
  expect(() => brokerOf({ ca: junk })).toThrow('--ca and --cert need an encrypted broker, not mqtt://127.0.0.1:1883')
  expect(() => brokerOf({ mqtt, ca: absent })).toThrow(`mqtt.ca ${absent}: no such file`)
})
