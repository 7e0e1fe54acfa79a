// `halo sim`: the simulated vehicle, never for flight; each line of input is a fault.

import { FAULT_USAGE } from '../sim/fault.ts'
import { startSimulatedVehicle } from '../sim/server.ts'

export interface SimOptions {
  readonly listen: string
  readonly send: string
  readonly speed: number
  /** Home: deg, deg, m. */
  readonly lat: number
  readonly lon: number
  readonly amsl: number
}

/** Flies until the process ends; the end of the input does not end it. Rejects where its port cannot be had. */
export async function sim(
  { listen, send, speed, lat, lon, amsl }: SimOptions,
  lines: AsyncIterable<string>,
  print: (line: string) => void,
): Promise<void> {
  const simulated = await startSimulatedVehicle({ listen, send, speed, home: { lat, lon, amsl } })
  print(`simulated vehicle: listens on ${listen}, sends to ${send}, ${speed} times real speed`)
  print(`a line here is a fault: ${FAULT_USAGE.join('; ')}`)
  for await (const line of lines) {
    if (line.trim() === '') continue
    try {
      simulated.fault(line)
      print(`fault: ${line.trim()}`)
    } catch (error) {
      print((error as Error).message)
    }
  }
}
