import { fstatSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../../companion/config.ts'
import { openLog, withoutSecrets } from '../../../companion/log.ts'

const CONFIG = { vehicle: 'uav1', log: { level: 'debug' } } as const

function lines(env: NodeJS.ProcessEnv): string[] {
  const written: string[] = []
  const log = openLog(CONFIG, { write: (line) => written.push(line) }, env)
  for (const level of ['debug', 'info', 'warn', 'error', 'fatal'] as const) log[level]({ event: 'x', text: 'a\u202eb' })
  return written
}

describe('the log (docs/vehicles.md)', () => {
  it('is JSON lines, with what cannot be seen escaped', () => {
    const [first] = lines({})
    expect(JSON.parse(first!)).toMatchObject({ level: 20, vehicle: 'uav1', event: 'x', text: 'a\u202eb' })
    expect(first).toContain('\\u202e')
    expect(first).toMatch(/}\n$/)
  })

  it('has levels that the journal understands, where stderr is the journal', () => {
    const { dev, ino } = fstatSync(2)
    const written = lines({ JOURNAL_STREAM: `${dev}:${ino}` })
    expect(written.map((line) => line.slice(0, 4))).toEqual(['<7>{', '<6>{', '<4>{', '<3>{', '<2>{'])
    for (const line of written) expect(JSON.parse(line.slice(3))).toMatchObject({ event: 'x' })
  })

  it('has none where the journal is another stream, of the program that started it', () => {
    const { dev, ino } = fstatSync(2)
    for (const line of lines({ JOURNAL_STREAM: `${dev}:${ino + 1}` })) expect(line).toMatch(/^\{/)
  })
})

describe('the configuration in the log', () => {
  const configured = (mqtt: string) =>
    parseConfig(
      `vehicle: uav1\ncatalog: c.yaml\nmavlink: { endpoint: "udpin://127.0.0.1:0" }\nmqtt: ${mqtt}\n`,
      '/etc/halo/halo.yaml',
    )

  it('has no secret', () => {
    const secret = configured(
      '{ url: "wss://ada:hunter2@broker:8883/ws?token=hunter2", ca: ca.pem, agents: { url: "mqtts://bob:hunter2@other" } }',
    )
    expect(JSON.stringify(secret)).toContain('hunter2')
    const shown = withoutSecrets(secret)
    expect(JSON.stringify(shown)).not.toMatch(/hunter2|ada|bob/)
    expect(shown).toMatchObject({
      vehicle: 'uav1',
      catalog: '/etc/halo/c.yaml',
      mqtt: {
        url: 'wss://***@broker:8883/ws',
        agents: { url: 'mqtts://***@other' },
        certificates: { ca: '/etc/halo/ca.pem' },
      },
    })
  })

  it('is whole otherwise', () => {
    const plain = configured('{ url: "mqtt://127.0.0.1:1883" }')
    expect(withoutSecrets(plain)).toEqual(plain)
    const embedded = configured('{ embedded: "127.0.0.1:1883" }')
    expect(withoutSecrets(embedded)).toEqual(embedded)
  })
})
