// What an endpoint's URL says: `udpin://host:port`, `udpout://host:port`, `tcpout://host:port` or `serial:///dev/ttyAMA0?baud=921600`.

export interface NetworkAddress {
  readonly kind: 'udpin' | 'udpout' | 'tcpout'
  readonly host: string
  readonly port: number
}

export interface SerialAddress {
  readonly kind: 'serial'
  /** Of the device. */
  readonly path: string
  /** Bits a second. */
  readonly baud: number
}

export type Address = NetworkAddress | SerialAddress

const FORMS =
  'must be udpin://host:port, udpout://host:port or tcpout://host:port, the port at most 65535, or serial:///dev/ttyAMA0?baud=921600'
const BAUD_MAX = 12_000_000

/** Throws an error that says what the URL must be. */
export function parseAddress(url: string): Address {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const kind = parsed?.protocol.slice(0, -1)
  if (parsed !== undefined && kind === 'serial') return serial(parsed)
  if (parsed === undefined || (kind !== 'udpin' && kind !== 'udpout' && kind !== 'tcpout')) throw new Error(FORMS)
  const { hostname: host, port, pathname, search, username, hash } = parsed
  if (host === '' || port === '') throw new Error(`${FORMS}; host and port are missing`)
  // An IPv6 address would need sockets of its own.
  if (host.startsWith('[') || pathname !== '' || search !== '' || username !== '' || hash !== '') throw new Error(FORMS)
  return { kind, host, port: Number(port) }
}

function serial({ host, pathname: path, searchParams }: URL): SerialAddress {
  const given = searchParams.get('baud') ?? ''
  const baud = Number(given)
  if (host !== '' || path.length < 2 || [...searchParams.keys()].some((key) => key !== 'baud')) throw new Error(FORMS)
  if (!/^\d+$/.test(given) || baud < 1 || baud > BAUD_MAX) {
    throw new Error(`${FORMS}; ?baud= must be 1 to ${BAUD_MAX}, as set on the autopilot`)
  }
  return { kind: 'serial', path, baud }
}

/** Whether others on the network reach it, or can answer in the autopilot's place: UDP that is not between programs of this machine. */
export function isExposed(address: Address): boolean {
  if (address.kind !== 'udpin' && address.kind !== 'udpout') return false
  return address.host !== 'localhost' && !/^127(\.\d{1,3}){3}$/.test(address.host)
}
