// The observer itself, on turns made by hand: what it must not take for a break, beside what it must.

import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { encode } from '../../src/wire/write.ts'
import { type Input, Observer, type Turn } from './observer.ts'
import { catalog } from './survey.ts'

const OLD = 'a'.repeat(16)
const NEW = 'b'.repeat(16)

const control = (session: string, n: number, uncertain: readonly string[]) => ({
  topic: 'control',
  value: { session, n, paused: false, pilot_control: false, revoked: [], pending: [], uncertain },
  retain: true,
})

const outcome = (component: string, sequence: number, phase: string, reason?: string) => ({
  topic: 'outcome/courier',
  value: { plan: 'courier/r1', component, generation: 1, sequence, phase, reason },
  retain: false,
})

/** DO_GRIPPER in a COMMAND_LONG, as far as the observer reads it. */
function release(): Uint8Array {
  const frame = new Uint8Array(10 + 33 + 2)
  frame.set([0xfd, 33, 0, 0, 0, 1, 191, 76])
  const payload = new DataView(frame.buffer, 10)
  payload.setFloat32(0, 1, true)
  payload.setUint16(28, 211, true)
  return frame
}

/** A release that waits for a person, as an observer has heard of it. */
function waiting(): { observer: Observer; turn: (turn: Partial<Turn> & { readonly input: Input }) => void } {
  const observer = new Observer(catalog)
  const turn = (turn: Partial<Turn> & { readonly input: Input }): void =>
    observer.turn({ frames: [], published: [], renewed: undefined, byItself: false, deaf: false, full: false, ...turn })
  const status = { topic: 'status', value: { status: 'online', session: OLD }, retain: true }
  turn({ input: { kind: 'start' }, published: [status, control(OLD, 0, [])] })
  const components = [
    { id: 'may', type: 'request.approval', payload: { text: 'may I' } },
    { id: 'drop', type: 'release', payload: {}, requires: ['may'] },
  ]
  const bytes = encode({ v: 1, response: 'r1', generation: 1, snapshot: `${OLD}-1`, components })
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
  const decisions = components.map(({ id }, at) => ({ id, decision: 'retained', sequence: at + 1 }))
  turn({
    input: { kind: 'response', agent: 'courier', bytes },
    published: [
      {
        topic: 'verdict/courier',
        value: { digest, accepted: true, plan: 'courier/r1', components: decisions },
        retain: false,
      },
      outcome('may', 1, 'released'),
    ],
  })
  const approval = encode({ v: 1, session: OLD, after: 0, consent: '' })
  turn({
    input: { kind: 'operate', verb: 'approve', bytes: approval, retained: false },
    published: [outcome('may', 1, 'completed')],
  })
  return { observer, turn }
}

const G3 = ({ findings }: Observer): string[] => findings.filter((f) => f.guarantee === 'G3').map((f) => f.what)

test('G3: a frame that left before its session ended is what is uncertain, and breaks nothing', () => {
  const { observer, turn } = waiting()
  const status = { topic: 'status', value: { status: 'online', session: NEW }, retain: true }
  turn({
    input: { kind: 'tick' },
    frames: [release()],
    renewed: 'trap',
    published: [outcome('drop', 2, 'uncertain', 'session_changed'), status, control(NEW, 1, ['release'])],
  })
  expect(G3(observer)).toEqual([])
})

test('G3: a frame that left although an earlier one was uncertain is found, in the turn of a session’s end too', () => {
  const { observer, turn } = waiting()
  turn({ input: { kind: 'tick' }, published: [control(OLD, 1, ['release'])] })
  const status = { topic: 'status', value: { status: 'online', session: NEW }, retain: true }
  turn({
    input: { kind: 'tick' },
    frames: [release()],
    renewed: 'trap',
    published: [outcome('drop', 2, 'uncertain', 'session_changed'), status, control(NEW, 2, ['release'])],
  })
  expect(G3(observer)).toEqual(['drop (2) left, and nobody knows whether the release before it happened'])
})
