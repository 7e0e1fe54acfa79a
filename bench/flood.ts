// flood.ts BROKER_URL RATE: other traffic through the same broker, RATE messages a second of 100 bytes from one client to
// another, QoS 0.

import { performance } from 'node:perf_hooks'
import mqtt from 'mqtt'
import { ready } from './part.ts'

const PERIOD_MS = 5
const payload = Buffer.alloc(100, 'x')

const [url, rate] = process.argv.slice(2)
const [from, to] = await Promise.all([mqtt.connectAsync(url!), mqtt.connectAsync(url!)])
let heard = 0
to.on('message', () => heard++)
await to.subscribeAsync('bench/flood', { qos: 0 })

const begun_ms = performance.now()
let sent = 0
setInterval(() => {
  const due = ((performance.now() - begun_ms) / 1000) * Number(rate)
  for (; sent < due; sent++) from.publish('bench/flood', payload, { qos: 0 })
}, PERIOD_MS)
ready(() => {
  const rate = heard / ((performance.now() - begun_ms) / 1000)
  return { rate }
})
