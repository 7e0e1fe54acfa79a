// What a peer can make us hold (PROTOCOL 4, `too_large`): packets of MQTT, one by one, and none of them long. The parsers behind
// this gather a packet whole before anybody sees it, up to 256 MB.
//
// A PUBLISH that is longer than anybody may say is cut to one byte too many, with its length put right, and the rest of it is
// dropped as it comes: so it is acknowledged, and refused with a verdict, like any other. Every other packet that is too long is
// an error.

import { Duplex } from 'node:stream'

const PUBLISH = 3
/** Beside the payload: topic, packet id, properties. */
const ROOM_BYTES = 1024
/** No packet but PUBLISH needs more: CONNECT with a will, SUBSCRIBE with a list. */
const OTHER_BYTES = 8192

export interface LimitOptions {
  /** The longest payload that passes whole, bytes. */
  readonly payload: number
  /** 3.1.1 (4) or 5, which has properties before the payload. */
  readonly protocolVersion: 4 | 5
  /** Packets that it hands on in one turn of the event loop; all that come by default. */
  readonly perTurn?: number
  /** When it may hand on more, where it may not at once: the next turn of the event loop by default. */
  readonly nextTurn?: (go: () => void) => void
}

type Done = (error?: Error | null) => void

/** Bytes in, one whole packet a chunk out. It holds one packet, and the chunk in which it found it. */
export class Limit extends Duplex {
  /** Who is trusted may say more. */
  payload: number
  /** Bytes that were dropped. */
  dropped = 0
  perTurn: number
  readonly #version: 4 | 5
  readonly #nextTurn: (go: () => void) => void
  #handed = 0
  #packet = new Packet()
  /** Goes on where a reader that wanted no more, or the end of the turn, has stopped it. */
  #resume: (() => void) | undefined

  constructor({ payload, protocolVersion, perTurn = Number.POSITIVE_INFINITY, nextTurn = setImmediate }: LimitOptions) {
    super({ readableObjectMode: true, readableHighWaterMark: 1 })
    this.payload = payload
    this.#version = protocolVersion
    this.perTurn = perTurn
    this.#nextTurn = nextTurn
  }

  /** Bytes of the packet that is not whole yet. */
  get held(): number {
    return this.#packet.held
  }

  override _read(): void {
    const resume = this.#resume
    this.#resume = undefined
    resume?.()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#scan(chunk, 0, done)
  }

  override _final(done: Done): void {
    this.push(null)
    done()
  }

  #scan(chunk: Buffer, from: number, done: Done): void {
    for (let at = from; at < chunk.length; ) {
      if (this.#handed >= this.perTurn) {
        this.#nextTurn(() => {
          this.#handed = 0
          this.#scan(chunk, at, done)
        })
        return
      }
      let whole: Buffer | undefined
      try {
        at = this.#packet.take(chunk, at, this.payload, this.#version)
        whole = this.#packet.whole
      } catch (error) {
        return done(error as Error)
      }
      if (whole === undefined) continue
      this.dropped += this.#packet.dropped
      this.#packet = new Packet()
      this.#handed++
      if (this.push(whole)) continue
      const next = at
      this.#resume = () => this.#scan(chunk, next, done)
      return
    }
    done()
  }
}

/** One packet as it comes. */
class Packet {
  dropped = 0
  /** Fixed header, as it came. */
  readonly #head: number[] = []
  /** What follows the fixed header, bytes; undefined until the header is whole. */
  #remaining: number | undefined
  /** Of a PUBLISH that is too long: topic and packet id, to begin with as long as the topic's length. */
  #start: Buffer | undefined
  /** What is kept, and how much of it has come. */
  #kept: Buffer | undefined
  #filled = 0
  /** Bytes to be dropped: properties before what is kept, the rest behind it. */
  #skip = 0
  #behind = 0
  #properties: 'none' | 'length' | 'over' = 'none'
  #length = { value: 0, bytes: 0 }

  get held(): number {
    return this.#head.length + (this.#start?.length ?? 0) + (this.#kept?.length ?? 0)
  }

  /** The packet, once all of it has come. */
  get whole(): Buffer | undefined {
    return this.#kept !== undefined && this.#filled === this.#kept.length && this.#skip === 0 && this.#behind === 0
      ? this.#kept
      : undefined
  }

  /** Takes what it needs from `at` on; returns where the next begins. */
  take(chunk: Buffer, at: number, payload: number, version: 4 | 5): number {
    if (this.#remaining === undefined) return this.#takeHead(chunk[at]!, at, payload)
    if (this.#skip > 0) {
      const bytes = Math.min(this.#skip, chunk.length - at)
      this.#skip -= bytes
      this.dropped += bytes
      return at + bytes
    }
    if (this.#kept === undefined) return this.#takeStart(chunk, at, payload, version)
    if (this.#filled < this.#kept.length) {
      const bytes = chunk.copy(this.#kept, this.#filled, at)
      this.#filled += bytes
      if (this.#filled === this.#kept.length) this.#skipRest()
      return at + bytes
    }
    throw new Error('mqtt: a packet that is whole takes no more')
  }

  #skipRest(): void {
    this.#skip = this.#behind
    this.#behind = 0
  }

  #takeHead(byte: number, at: number, payload: number): number {
    this.#head.push(byte)
    const digits = this.#head.length - 1
    if (digits === 0 || byte >= 128) {
      if (digits >= 4) throw new Error('mqtt: a remaining length of more than four bytes')
      return at + 1
    }
    const remaining = this.#head.slice(1).reduce((sum, digit, i) => sum + (digit & 127) * 128 ** i, 0)
    this.#remaining = remaining
    const type = this.#head[0]! >> 4
    const longest = type === PUBLISH ? payload + ROOM_BYTES : OTHER_BYTES
    if (remaining <= longest) {
      this.#keep(this.#head, remaining)
      return at + 1
    }
    if (type !== PUBLISH) throw new Error(`mqtt: a packet of type ${type} with ${remaining} bytes, at most ${longest}`)
    this.#start = Buffer.alloc(2)
    return at + 1
  }

  /** The beginning of a PUBLISH that is too long: topic, packet id, and in MQTT 5 the length of the properties. */
  #takeStart(chunk: Buffer, at: number, payload: number, version: 4 | 5): number {
    if (this.#properties === 'length') return this.#takeLength(chunk[at]!, at, payload)
    const start = this.#start!
    if (this.#properties === 'over' || this.#filled === start.length) throw new Error('mqtt: a PUBLISH without an end')
    const bytes = chunk.copy(start, this.#filled, at)
    this.#filled += bytes
    if (this.#filled < start.length) return at + bytes
    if (start.length === 2) {
      const qos = (this.#head[0]! >> 1) & 3
      this.#start = Buffer.alloc(2 + start.readUInt16BE(0) + (qos > 0 ? 2 : 0))
      start.copy(this.#start)
      if (this.#start.length > this.#filled) return at + bytes
    }
    if (version === 5) this.#properties = 'length'
    else this.#cut(this.#remaining! - this.#start!.length, payload)
    return at + bytes
  }

  /** Nothing here reads a property: they are left out. */
  #takeLength(byte: number, at: number, payload: number): number {
    const { value, bytes } = this.#length
    if (bytes >= 4) throw new Error('mqtt: a property length of more than four bytes')
    this.#length = { value: value + (byte & 127) * 128 ** bytes, bytes: bytes + 1 }
    if (byte >= 128) return at + 1
    this.#properties = 'over'
    const properties = this.#length.value
    const start = Buffer.concat([this.#start!, Buffer.of(0)])
    const said = this.#remaining! - this.#start!.length - this.#length.bytes - properties
    this.#start = start
    this.#cut(said, payload)
    this.#skip = properties
    return at + 1
  }

  /** Keeps the beginning, and of the `said` bytes of payload one more than may be. */
  #cut(said: number, payload: number): void {
    if (said < 0) throw new Error('mqtt: a PUBLISH that is longer than its length')
    const start = this.#start!
    const kept = Math.min(said, payload + 1)
    const remaining = start.length + kept
    const head = [this.#head[0]!]
    for (let rest = remaining; rest > 0 || head.length === 1; rest = Math.floor(rest / 128)) {
      head.push((rest % 128) + (rest >= 128 ? 128 : 0))
    }
    this.#keep(head, remaining)
    this.#filled += start.copy(this.#kept!, this.#filled)
    this.#start = undefined
    this.#behind = said - kept
    if (this.#filled === this.#kept!.length) this.#skipRest()
  }

  #keep(head: readonly number[], remaining: number): void {
    this.#kept = Buffer.allocUnsafe(head.length + remaining)
    this.#kept.set(head)
    this.#filled = head.length
  }
}
