// vehicle.ts UDP_PORT: the simulated vehicle of the live rig (never for flight), in the air, sending to UDP_PORT unprompted.

import { startSimulatedVehicle } from '../simulator/server.ts'
import { HOME } from '../test/e2e/flight-line.ts'
import { ready } from './part.ts'

await startSimulatedVehicle({
  listen: '127.0.0.1:0',
  send: `127.0.0.1:${process.argv[2]}`,
  home: HOME,
  seed: 1,
  aloft_m: 20,
  readyAfter_ms: 500,
})
ready()
