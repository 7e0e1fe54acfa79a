// `halo sim`: the simulated vehicle, never for flight; each line of input is a fault.

import { FAULT_USAGE } from '../../simulator/fault.ts'
import { startSimulatedVehicle } from '../../simulator/server.ts'
import type { AutopilotName } from '../../simulator/vehicle.ts'

export { AUTOPILOTS } from '../../simulator/vehicle.ts'

export interface SimOptions {
  readonly autopilot: AutopilotName
  readonly listen: string
  readonly send: string
  readonly speed: number
  /** Parameters of the autopilot with other values; null: a request of it is never answered. */
  readonly param: Readonly<Record<string, number | null>>
  /** Home: deg, deg, m. */
  readonly lat: number
  readonly lon: number
  readonly amsl: number
}

/** Flies until the process ends; the end of the input does not end it. Rejects where its port cannot be had. */
export async function sim(
  { autopilot, listen, send, speed, param, lat, lon, amsl }: SimOptions,
  lines: AsyncIterable<string>,
  print: (line: string) => void,
): Promise<void> {
  const simulated = await startSimulatedVehicle({
    autopilot,
    listen,
    send,
    speed,
    parameters: param,
    home: { lat, lon, amsl },
  })
  const sends = listen.startsWith('tcp://') ? 'for one client' : `sends to ${send}`
  print(`simulated vehicle (${autopilot}): listens on ${listen}, ${sends}, ${speed} times real speed`)
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
