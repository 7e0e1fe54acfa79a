// A smallest agent in TypeScript: one report and one notice, then fresh candidates for what was blocked (PROTOCOL 4, 9).
//
//   npx tsx examples/agent.ts [mqtt://127.0.0.1:1883] [uav1] [planner]

import { Decoder, Encoder } from 'cbor-x'
import mqtt from 'mqtt'

interface Component {
  readonly id: string
  readonly type: string
  readonly payload: Readonly<Record<string, string | number | boolean>>
}

interface Snapshot {
  readonly snapshot: string
  readonly agents: Readonly<Record<string, { readonly generation: number }>>
  readonly obligations: readonly {
    readonly id: string
    readonly opened: number
    readonly plan: string
    readonly route: string
    readonly scope: readonly { id: string }[]
  }[]
}

const [url = 'mqtt://127.0.0.1:1883', vehicle = 'uav1', agent = 'planner'] = process.argv.slice(2)
const root = `halo/v1/${vehicle}/`
// Maps as plain CBOR maps, and nothing of cbor-x's own extensions: HALO refuses tags.
const encoder = new Encoder({ useRecords: false, variableMapSize: true, tagUint8Array: false })
// `int64AsNumber` is missing in the types: without it a time in ms is a BigInt.
const plain = { useRecords: false, mapsAsObjects: true, int64AsNumber: true }
const decoder = new Decoder(plain)

const candidates: readonly Component[] = [
  { id: 'range', type: 'report.range', payload: {} },
  { id: 'hello', type: 'notice.operator', payload: { text: 'range reported' } },
]
let generation = 0
let started = false
const answered = new Set<string>()

/** Cites the newest snapshot; a response's id is never used twice, and generations only grow. */
function respond(snapshot: Snapshot, components: readonly Component[], recovers?: string): void {
  generation = Math.max(generation, snapshot.agents[agent]?.generation ?? 0) + 1
  const response = { v: 1, response: `ts-${Date.now()}`, generation, snapshot: snapshot.snapshot, components }
  client.publish(`${root}response/${agent}`, encoder.encode(recovers ? { ...response, recovers } : response), {
    qos: 1,
  })
}

const client = mqtt.connect(url)
client.on('error', (error) => console.error(error.message))
client.on('connect', () => {
  client.subscribe(
    [`catalog/${agent}`, 'snapshot', `verdict/${agent}`, `outcome/${agent}`, `obligation/${agent}`].map(
      (t) => root + t,
    ),
  )
})
client.on('message', (topic, bytes) => {
  const value = decoder.decode(bytes)
  const [kind] = topic.slice(root.length).split('/')
  if (kind === 'catalog') console.log('may say:', Object.keys(value.types))
  else if (kind === 'snapshot') heed(value)
  else console.log(kind, JSON.stringify(value))
  // Somebody spoke under our name since that snapshot: once more, from the next one.
  if (kind === 'verdict' && value.reason === 'generation_not_fresh') started = false
})

function heed(snapshot: Snapshot): void {
  if (!started) respond(snapshot, candidates)
  started = true
  // What was blocked comes back only as a fresh candidate; a snapshot that lists the obligation is newer than it.
  const owed = snapshot.obligations.find(
    ({ id, opened, plan, route }) =>
      plan.startsWith(`${agent}/`) && route !== 'operator' && !answered.has(`${id} ${opened}`),
  )
  if (owed === undefined) return
  answered.add(`${owed.id} ${owed.opened}`) // a snapshot on its way may list it once more
  const fresh = candidates.filter(({ id }) => owed.scope.some((member) => member.id === id))
  if (fresh.length > 0) respond(snapshot, fresh, owed.plan.slice(agent.length + 1))
}
