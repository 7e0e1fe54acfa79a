// A payload is dropped once, whatever happens (PROTOCOL 8): a companion killed at every step between the intent and its end on
// the disk, over real sockets and a real disk.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Agent, type Draft, decisions, encode, FlightLine, type Halo, until } from './flight-line.ts'

const DO_GRIPPER = 211
const CRASH = new URL('crash.mjs', import.meta.url).href
/** Nobody has to agree, so that it is about the release alone. */
const ALONE = [
  '    requires: [request.approval]\n    may_require: { takeoff: completed, goto',
  '    may_require: { takeoff: completed, goto',
] as const

let line: FlightLine
let agent: Agent

beforeAll(async () => {
  line = await FlightLine.open({ edits: [ALONE], vehicle: { aloft_m: 10 } })
  agent = await line.agent()
})
afterAll(() => line?.close())

const releases = (): number => line.commands.filter(({ command }) => command === DO_GRIPPER).length
const journal = (): { intents: unknown[] } => JSON.parse(readFileSync(join(line.folder, 'uav1.journal'), 'utf8'))

/** A session of its own, that knows the vehicle and is in control. */
async function session(crashAt?: number): Promise<Halo> {
  const { session } = agent
  const companion = line.launch(crashAt === undefined ? {} : { module: CRASH, env: { HALO_CRASH_AT: String(crashAt) } })
  await until('a session', () => agent.session !== session && agent.on('status').at(-1)?.status === 'online')
  await agent.ready({ mode: 'HOLD', landed: 'IN_AIR' })
  return companion
}

let drops = 0
const draft = (): { id: string; draft: Draft } => {
  const id = `drop${++drops}`
  return { id, draft: { components: [{ id, type: 'release', payload: {} }] } }
}

async function drop(): Promise<string> {
  const { id, draft: said } = draft()
  expect(decisions(await agent.respond(said))).toEqual({ [id]: 'retained' })
  return id
}

describe('an irreversible action', () => {
  it('is released once, and its intent is off the disk when it is acknowledged', async () => {
    const companion = await session()
    const before = releases()
    await agent.outcome(await drop(), 'completed')
    expect(releases()).toBe(before + 1)
    await until('an empty journal', () => journal().intents.length === 0)
    expect(await companion.kill('SIGTERM')).toBe(0)
  })

  // 1 to 4: write, sync and rename of the intent, sync of its folder; 5: the frame; 6 to 9: the same without the intent.
  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9])(
    'G3: killed before step %i is released at most once, and never again before a person has looked',
    async (step) => {
      const before = releases()
      const doomed = await session(step)
      // Some die before their verdict is told.
      await agent.say('response/planner', encode(agent.draft(draft().draft)))
      expect(await doomed.ended).toBe(null)
      const left = releases() - before
      expect(left).toBe(step > 5 ? 1 : 0)

      const companion = await session()
      const { uncertain } = agent.control!
      // What is on the disk is what the next process knows: from the rename of the intent to the rename without it.
      expect(uncertain).toEqual(step > 3 && step < 9 ? ['release'] : [])
      if (uncertain.length > 0) {
        expect(await agent.outcome(await drop(), 'blocked')).toMatchObject({ reason: 'uncertain_outcome' })
        expect(releases() - before).toBe(left)
        await agent.operate('clear', { type: 'release' })
      }
      await agent.outcome(await drop(), 'completed')
      expect(releases() - before).toBe(left + 1)
      expect(await companion.kill('SIGTERM')).toBe(0)
    },
  )
})
