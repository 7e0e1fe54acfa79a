// forwarder.ts BROKER_URL UDP_PORT: the floor of the wire figures. One datagram for each packet, the same client library and
// the same kind of socket as the companion's, and not a thought about what it forwards.

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import mqtt from 'mqtt'
import { ready } from './part.ts'

/** As long as a setpoint in its frame. */
const FRAME_BYTES = 65

const [url, port] = process.argv.slice(2)
const socket = createSocket('udp4')
socket.connect(Number(port), '127.0.0.1')
await once(socket, 'connect')

const client = await mqtt.connectAsync(url!)
client.on('message', (_, payload) => socket.send(payload.subarray(0, FRAME_BYTES)))
await client.subscribeAsync('bench/forward', { qos: 1 })
ready()
