// The files that make a connection to a broker a trusted one, read once at the start: a mistake in them is found before
// anything flies, not when the link first breaks.

import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { readText } from '../machine/file.ts'

export const CERTIFICATES = ['ca', 'cert', 'key'] as const

/** Paths of PEM files. `cert` and `key` come together or not at all; without `ca` the roots that Node ships are trusted. */
export interface CertificateFiles {
  /** Whose signature makes a broker ours. */
  readonly ca?: string
  /** Who we are, for a broker that asks. */
  readonly cert?: string
  readonly key?: string
}

/** Their contents, PEM. */
export type Certificates = CertificateFiles

/** Throws with the key and the file for what cannot be read, is no PEM, or does not belong together. */
export function readCertificates({ ca, cert, key }: CertificateFiles): Certificates {
  const read = (name: string, file: string | undefined) => file && { [name]: readText(`mqtt.${name}`, file) }
  const certificates: Certificates = { ...read('ca', ca), ...read('cert', cert), ...read('key', key) }
  // A secure context takes any text for a list of authorities, and then trusts nobody without saying why.
  if (ca !== undefined) proved(`mqtt.ca ${ca}`, () => new X509Certificate(certificates.ca!))
  if (cert !== undefined) {
    proved(`mqtt.cert ${cert}`, () => new X509Certificate(certificates.cert!))
    proved(`mqtt.key ${key}`, () => createSecureContext(certificates))
  }
  return certificates
}

/** Whether a connection to it is one that certificates could matter to. */
export const isEncrypted = (url: string): boolean => /^(mqtts|wss):/.test(url)

function proved(what: string, use: () => unknown): void {
  try {
    use()
  } catch (error) {
    throw new Error(`${what}: ${(error as Error).message}`)
  }
}
