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

// Whoever takes over in an alarm

const HEARTBEAT = 0
const CURRENT_MODE = 436
const REQUEST_MESSAGE = 512
const MODES = { HOLD: (4 << 16) | (3 << 24), RETURN: (4 << 16) | (5 << 24) }

/** A frame of the vehicle's, or of the companion's for it, as far as the observer reads it. */
function frameOf(message: number, length: number, fill: (payload: DataView) => void): Uint8Array {
  const frame = new Uint8Array(10 + length + 2)
  frame.set([0xfd, length, 0, 0, 0, 1, 1, message & 0xff, message >> 8])
  fill(new DataView(frame.buffer, 10))
  return frame
}

const ask = (): Uint8Array =>
  frameOf(76, 33, (payload) => {
    payload.setUint16(28, REQUEST_MESSAGE, true)
    payload.setUint16(30, 0x0101, true)
  })

/** An alarm in the flight home, in a silence: LAND is owed. Then the vehicle is heard in a mode, each 100 ms, and nothing leaves but `asked`. */
function alarmed(mode: keyof typeof MODES, asked: (at_ms: number) => boolean): string[] {
  const observer = new Observer(catalog, new Set(['strangers']))
  const turn = (turn: Partial<Turn> & { readonly input: Input }): void =>
    observer.turn({ frames: [], published: [], renewed: undefined, byItself: false, deaf: false, full: false, ...turn })
  const hear = (datagram: Uint8Array, frames: readonly Uint8Array[] = []): void => {
    const { at_ms } = observer
    const times = { received_ms: at_ms, arrived_ms: at_ms, sent_ms: at_ms, boot: 1 }
    turn({ input: { kind: 'telemetry', datagram, ...times, dropped: false }, frames })
  }
  const report = (mode: keyof typeof MODES): Uint8Array =>
    frameOf(CURRENT_MODE, 9, (payload) => {
      payload.setUint32(0, MODES[mode], true)
      payload.setUint32(4, MODES[mode], true)
    })
  const heartbeat = frameOf(HEARTBEAT, 9, (payload) => {
    payload.setUint8(6, 0x80) // armed
    payload.setUint8(7, 4) // active
  })
  const status = { topic: 'status', value: { status: 'online', session: OLD }, retain: true }
  turn({ input: { kind: 'start' }, published: [status, control(OLD, 0, [])] })
  hear(heartbeat)
  hear(report('HOLD'))
  const components = [{ id: 'end', type: 'return', payload: {} }]
  const bytes = encode({ v: 1, response: 'r1', generation: 1, snapshot: `${OLD}-1`, components })
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
  const decided = [{ id: 'end', decision: 'retained', sequence: 1 }]
  const verdict = { digest, accepted: true, plan: 'planner/r1', components: decided }
  const told = (phase: string, reason?: string) => {
    const { topic, value, retain } = outcome('end', 1, phase, reason)
    return { topic: topic.replace('courier', 'planner'), value: { ...value, plan: 'planner/r1' }, retain }
  }
  const sent = frameOf(76, 33, (payload) => {
    payload.setFloat32(4, 4, true)
    payload.setFloat32(8, 5, true)
    payload.setUint16(28, 176, true)
    payload.setUint16(30, 0x0101, true)
  })
  turn({
    input: { kind: 'response', agent: 'planner', bytes },
    frames: [sent],
    published: [{ topic: 'verdict/planner', value: verdict, retain: false }, told('dispatched')],
  })
  const step = (frames: readonly Uint8Array[] = [], datagrams: readonly Uint8Array[] = []): void => {
    observer.at_ms += 50
    turn({ input: { kind: 'tick' }, frames })
    for (const datagram of datagrams) hear(datagram)
  }
  for (let i = 0; i < 4; i++) step([], [report('RETURN')])
  for (let i = 0; i < 22; i++) step() // silence: nothing may leave
  const alarm = { topic: 'notice', value: { kind: 'alarm', text: 'another autopilot speaks' }, retain: false }
  const latched = control(OLD, 1, [])
  observer.at_ms += 50
  turn({
    input: { kind: 'tick' },
    published: [
      alarm,
      told('failed', 'pilot_control'),
      { ...latched, value: { ...latched.value, pilot_control: true } },
    ],
  })
  const since_ms = observer.at_ms
  for (let i = 1; i <= 40; i++) {
    const asks = asked(observer.at_ms + 50 - since_ms)
    step(asks ? [ask()] : [], i % 2 === 0 ? [report(mode), heartbeat] : [])
  }
  return observer.findings.map(({ what }) => what)
}

const OWED = 'no contingency of LAND after: end (1) failed pilot_control'

test('G5: a HOLD that nothing explains is a takeover in an alarm too, and what was owed is not owed any more', () => {
  expect(alarmed('HOLD', (at_ms) => at_ms === 150 || at_ms === 250)).toEqual([])
})

test('G5: what is owed in an alarm is owed where nobody has doubted the mode, and where it is that of the flight', () => {
  expect(alarmed('HOLD', () => false)).toEqual([OWED])
  expect(alarmed('RETURN', (at_ms) => at_ms === 150 || at_ms === 250)).toEqual([OWED])
})
