// What lies between the air and the loop: the kernel's buffer of a UDP socket, and the turns of Node's event loop that empty it,
// 32 datagrams at a time. Dates come from the companion's own Backlog.

import { Backlog } from '../../companion/mavlink/backlog.ts'

const BATCH = 32

interface Datagram {
  readonly arrived_ms: number
  readonly read: (received_ms: number) => void
}

export class Loop {
  readonly #now: () => number
  readonly #room: number
  #datagrams: Datagram[] = []
  #messages: ((received_ms: number) => void)[] = []
  #immediates: (() => void)[] = []
  readonly #link: Backlog
  readonly #broker: Backlog
  #running = false
  /** Datagrams that the kernel had no room for. */
  dropped = 0

  /** `now` is the process's clock; `room`: so many datagrams the kernel keeps; `batch`: what the companion takes for a full turn. */
  constructor(now: () => number, room: number, batch = BATCH) {
    this.#now = now
    this.#room = room
    const later = (act: () => void): unknown => this.#immediates.push(act)
    this.#link = new Backlog({ now }, batch, 0, later)
    this.#broker = new Backlog({ now }, 1, 0, later)
  }

  /** A datagram comes in. `read` gets the time at which it counts as received. */
  datagram(read: Datagram['read']): void {
    if (this.#datagrams.length >= this.#room) this.dropped++
    else this.#datagrams.push({ arrived_ms: this.#now(), read })
  }

  message(read: (received_ms: number) => void): void {
    this.#messages.push(read)
  }

  /** Turns until there is nothing more to do; with `tick`, one that a timer began. */
  run(tick?: () => void): void {
    if (this.#running) return
    this.#running = true
    if (tick !== undefined) {
      this.#link.look()
      this.#broker.look()
      tick()
    }
    do {
      for (const { read } of this.#datagrams.splice(0, BATCH)) read(this.#link.piece())
      for (const read of this.#messages.splice(0)) read(this.#broker.piece())
      for (const act of this.#immediates.splice(0)) act()
    } while (this.#datagrams.length + this.#messages.length + this.#immediates.length > 0)
    this.#running = false
  }
}
