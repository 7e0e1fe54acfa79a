// A TCP connection that can be cut in the middle, and mended.

import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

export class Cable {
  readonly #server: Server
  #ends: Socket[] = []
  #isCut = false

  private constructor(server: Server) {
    this.#server = server
  }

  /** Leads to this port of this machine. */
  static async open(to: number): Promise<Cable> {
    const server = createServer((near) => {
      if (cable.#isCut) near.destroy()
      else cable.#join(near, connect(to, '127.0.0.1'))
    })
    const cable = new Cable(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return cable
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  #join(near: Socket, far: Socket): void {
    this.#ends = [near, far]
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      from.setNoDelay(true)
      from.on('error', () => {})
      from.on('close', () => into.destroy())
      from.pipe(into)
    }
  }

  /** Until it is mended, nobody gets through. */
  cut(): void {
    this.#isCut = true
    for (const end of this.#ends) end.destroy()
  }

  mend(): void {
    this.#isCut = false
  }

  async close(): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
