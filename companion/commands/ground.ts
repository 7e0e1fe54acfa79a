// The ground's end of MQTT, for the commands of a person: it hears what the companion publishes and says one thing.

import mqtt from 'mqtt'
import { read, type Value } from '../../src/wire/read.ts'
import { encode } from '../../src/wire/write.ts'
import { loadConfig } from '../config.ts'
import { type CertificateFiles, type Certificates, isEncrypted, readCertificates } from '../mqtt/certificates.ts'
import { root } from '../mqtt/topics.ts'

export interface Broker {
  readonly url: string
  readonly vehicle: string
  readonly certificates?: Certificates
}

export interface GroundOptions extends CertificateFiles {
  readonly mqtt?: string
  readonly vehicle?: string
  readonly config?: string
}

/**
 * Where to connect, and as whom: the options, else the configuration, else a companion on this machine. Throws for certificates
 * that cannot be used.
 */
export function brokerOf({ mqtt: url, vehicle, config: file, ca, cert, key }: GroundOptions): Broker {
  const config = file === undefined ? undefined : loadConfig(file)
  const broker = config?.mqtt
  const configured = broker && ('embedded' in broker ? `mqtt://${broker.embedded}` : broker.url)
  const to = url ?? configured ?? 'mqtt://127.0.0.1:1883'
  if ((cert === undefined) !== (key === undefined)) throw new Error('--cert and --key need each other')
  if ((ca ?? cert) !== undefined && !isEncrypted(to))
    throw new Error(`--ca and --cert need an encrypted broker, not ${shown(to)}`)
  // Another broker is not told who the companion is.
  const of = url === undefined && broker && 'certificates' in broker ? broker.certificates : {}
  const certificates = readCertificates({ ...of, ...(ca && { ca }), ...(cert && key && { cert, key }) })
  return { url: to, vehicle: vehicle ?? config?.vehicle ?? 'uav1', certificates }
}

export interface Heard {
  /** Below `halo/v1/<vehicle>/`. */
  readonly topic: string
  readonly retain: boolean
  readonly bytes: Uint8Array
}

export interface Ground {
  /** Publishes one map at QoS 1 and gives back the bytes that went out, once the broker has them. */
  say(topic: string, value: unknown, retain?: boolean): Promise<Uint8Array>
  /** Rejects when the connection is gone. */
  readonly lost: Promise<never>
  end(): Promise<void>
}

/** Connects and subscribes to `topics` below the vehicle's root. Rejects where the broker cannot be had. */
export async function connectGround(
  { url, vehicle, certificates }: Broker,
  topics: readonly string[],
  hear: (message: Heard) => void,
): Promise<Ground> {
  const below = `${root(vehicle)}/`
  const where = shown(url)
  const client = await mqtt
    .connectAsync(url, { ...certificates, reconnectPeriod: 0, connectTimeout: 5_000, queueQoSZero: false }, false)
    .catch((error: Error) => {
      throw new Error(`mqtt ${where}: ${error.message || 'cannot connect'}`)
    })
  const lost = new Promise<never>((_, reject) => {
    client.on('error', (error) => reject(new Error(`mqtt ${where}: ${error.message}`)))
    client.on('close', () => reject(new Error(`mqtt ${where}: connection lost`)))
  })
  lost.catch(() => {})
  client.on('message', (topic, bytes, { retain }) => hear({ topic: topic.slice(below.length), retain, bytes }))
  const wanted = topics.map((topic) => below + topic)
  if (wanted.length > 0) await client.subscribeAsync(wanted, { qos: 1 })
  return {
    async say(topic, value, retain = false) {
      const bytes = encode(value)
      await client.publishAsync(below + topic, Buffer.from(bytes), { qos: 1, retain })
      return bytes
    },
    lost,
    end: () => client.endAsync(),
  }
}

/** What HALO publishes is larger than what an agent may say: the catalog carries a schema. */
const BYTES_MAX = 1 << 22

/** A message as plain values, or undefined where its bytes are not of the profile (PROTOCOL 4). */
export function decode(bytes: Uint8Array): { readonly [key: string]: unknown } | undefined {
  const result = read(bytes, undefined, BYTES_MAX)
  return 'map' in result ? (plain(result.map) as { [key: string]: unknown }) : undefined
}

function plain(value: Value): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, element]) => [key, plain(element)]))
  return Array.isArray(value) ? value.map(plain) : value
}

/** A URL without its password. */
function shown(url: string): string {
  return url.replace(/\/\/[^/@]*@/, '//')
}
