import { describe, expect, it } from 'vitest'
import {
  answerTo,
  type Control,
  Desk,
  listing,
  named,
  operator,
  type Pending,
  shown,
  type Types,
  type Verb,
} from '../../../companion/commands/operator.ts'

const TYPES: Types = {
  'request.approval': { payload: { text: {} } },
  goto: { payload: { lat: { unit: 'deg' }, lon: { unit: 'deg' }, alt: { unit: 'm' } } },
  land: { payload: {} },
}
const PENDING: Pending = {
  consent: `3f9a2c1d0b44${'0'.repeat(52)}`,
  agent: 'planner',
  plan: 'planner/r1',
  component: 'ask',
  type: 'request.approval',
  payload: { text: 'to the gate?' },
  covers: [
    { component: 'out', type: 'goto', payload: { lat: 47.398, lon: 8.5456, alt: 10 } },
    { component: 'down', type: 'land', payload: {} },
  ],
  expires: 300_000,
}
const TWIN: Pending = { ...PENDING, consent: `3f9a2c1d0b44${'1'.repeat(52)}` }
const CONTROL: Control = {
  session: '00000000000000aa',
  n: 7,
  paused: false,
  pilot_control: false,
  revoked: [],
  uncertain: [],
  pending: [PENDING],
}

describe('the list', () => {
  it('shows the control, and of each consent every payload that would fly, with units', () => {
    const control = { ...CONTROL, pilot_control: true, revoked: ['scout'], uncertain: ['drop'] }
    expect(listing('uav1', control, TYPES, 60_000)).toEqual([
      'vehicle uav1: session 00000000000000aa, control 7',
      '  paused         no',
      '  pilot control  yes: no action crosses until resume',
      '  revoked        scout',
      '  uncertain      drop',
      '  pending        1',
      '',
      'consent 3f9a2c1d0b440000',
      '  agent planner, plan planner/r1, expires in 240 s',
      '  asks',
      '    ask: request.approval text "to the gate?"',
      '  and would let pass',
      '    out: goto lat 47.398 deg, lon 8.5456 deg, alt 10 m',
      '    down: land',
    ])
  })

  it('leaves nothing out that the catalog does not know, and says where nothing would fly', () => {
    const covers = [{ component: 'x', type: 'novel', payload: { power: 3, on: true } }]
    expect(shown({ ...PENDING, covers }, TYPES, 0).at(-1)).toBe('    x: novel power 3, on true')
    expect(shown({ ...PENDING, covers: [] }, TYPES, 0).slice(2)).toEqual([
      '  asks',
      '    ask: request.approval text "to the gate?"',
    ])
    expect(shown(PENDING, TYPES, 400_000)[1]).toContain('expires now')
  })

  it('names the rules that hold a component', () => {
    const held = {
      ...PENDING,
      component: 'out',
      type: 'goto',
      payload: { alt: 10 },
      rules: ['far', 'dark'],
      covers: [],
    }
    expect(shown(held, TYPES, 0).slice(2)).toEqual(['  held by rule far, dark', '    out: goto alt 10 m'])
  })

  it('spells out what could hide a line from a person: escapes, line ends, overrides of direction', () => {
    const text = 'fine\u001b[2K\r\n\u009b1A\u202eyas\u2028\u200b"'
    const lines = shown({ ...PENDING, component: 'ask\u001b[8m', payload: { text } }, TYPES, 0)
    expect(lines.join('')).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
    expect(lines[3]).toBe(
      '    "ask\\u001b[8m": request.approval text "fine\\u001b[2K\\r\\n\\u{9b}1A\\u{202e}yas\\u{2028}\\u{200b}\\""',
    )
  })
})

describe('a consent by the beginning of its digest', () => {
  it('is found, in either case', () => {
    expect(named([PENDING], PENDING.consent)).toBe(PENDING)
    expect(named([{ ...PENDING, consent: 'ee'.repeat(32) }, PENDING], '3F9A2C1D0B44')).toBe(PENDING)
  })

  it('is an error where it is unknown, ambiguous or too short', () => {
    expect(() => named([PENDING], '3f9a2c1d0b45')).toThrow('nothing of that name is pending')
    expect(() => named([], PENDING.consent)).toThrow('nothing of that name is pending')
    expect(() => named([PENDING, TWIN], '3f9a2c1d0b44')).toThrow('ambiguous, 2 begin like this')
    expect(named([PENDING, TWIN], '3f9a2c1d0b441')).toBe(TWIN)
    expect(() => named([PENDING], '3f9a2c1d0b4')).toThrow('must be 12 hex digits or more')
  })
})

describe('the answer', () => {
  const online = { status: 'online', session: CONTROL.session }
  const outcome = (component: string, phase: string, reason?: string) => ({
    plan: 'planner/r1',
    component,
    phase,
    ...(reason && { reason }),
  })
  type Heard = [topic: string, value: Record<string, unknown>]
  const ask = (verb: Verb, about: string | undefined, ...heard: Heard[]) => askOn(CONTROL, verb, about, ...heard)
  const askOn = (first: Control, verb: Verb, about: string | undefined, ...heard: Heard[]) => {
    const desk = new Desk()
    desk.hear('catalog', { types: TYPES })
    desk.hear('control', first)
    desk.hear('status', online)
    const seen = desk.view!.control
    for (const [topic, value] of heard) desk.hear(topic, value)
    const consent = verb === 'approve' || verb === 'refuse' ? seen.pending[0]! : undefined
    return answerTo({ verb, about, consent }, seen, desk)
  }
  const control = (over: Partial<Control>): [string, Record<string, unknown>] => [
    'control',
    { ...CONTROL, n: CONTROL.n + 1, ...over },
  ]

  it.each<[Verb, string | undefined, Partial<Control>, Partial<Control>]>([
    ['pause', undefined, { paused: true }, { revoked: ['scout'] }],
    ['resume', undefined, { revoked: ['scout'] }, { pilot_control: true }],
    ['revoke', 'planner', { revoked: ['planner'] }, { revoked: ['scout'] }],
    ['restore', 'planner', { revoked: ['scout'] }, { revoked: ['planner'] }],
    ['clear', 'goto', { pending: [{ ...PENDING, expires: 300_001 }] }, { paused: true }],
    ['clear', 'goto', {}, { n: CONTROL.n + 2 }],
    ['restart', undefined, { session: '00000000000000bb' }, {}],
  ])('%s %s: applied where the new control shows it, and not before', (verb, about, applied, other) => {
    const desk: [string, Record<string, unknown>][] = [control(applied)]
    if (applied.session !== undefined) desk.push(['status', { ...online, session: applied.session }])
    expect(ask(verb, about)).toBeUndefined()
    expect(ask(verb, about, control(other))).toBeUndefined()
    expect(ask(verb, about, ...desk)).toMatchObject({ code: 0, lines: [expect.stringContaining(`${verb}: applied`)] })
  })

  it('a clear of what was uncertain is applied where that is gone, and nothing else is', () => {
    const first = { ...CONTROL, uncertain: ['release', 'flare'] }
    const cleared = (over: Partial<Control>) => askOn(first, 'clear', 'release', control({ n: CONTROL.n + 2, ...over }))
    expect(cleared({ uncertain: ['flare'] })).toMatchObject({ code: 0 })
    expect(cleared({ uncertain: ['release', 'flare'] })).toBeUndefined()
    expect(cleared({ uncertain: ['flare'], paused: true })).toBeUndefined()
  })

  it('refused is what the notice of this verb says', () => {
    const text = 'operator/resume refused: operator_conflict: after must be 8'
    expect(ask('resume', undefined, ['notice', { kind: 'operator', text }])).toEqual({ code: 2, lines: [text] })
    expect(ask('pause', undefined, ['notice', { kind: 'operator', text }])).toBeUndefined()
    expect(ask('resume', undefined, ['notice', { kind: 'notice', text }])).toBeUndefined() // an agent may say anything
  })

  it('an approved consent is told with what it let pass', () => {
    const heard = [outcome('ask', 'completed'), outcome('out', 'dispatched'), outcome('free', 'dispatched')]
    const said = heard.map((o): [string, Record<string, unknown>] => ['outcome/planner', o])
    expect(ask('approve', PENDING.consent, ...said)).toBeUndefined()
    expect(ask('approve', PENDING.consent, ...said, control({ pending: [] }))).toEqual({
      code: 0,
      lines: ['approve: applied, control 8', '  ask: completed', '  out: dispatched'],
    })
  })

  it('a consent that went otherwise is no success', () => {
    const went = (phase: string, reason?: string): [string, Record<string, unknown>] => [
      'outcome/planner',
      outcome('ask', phase, reason),
    ]
    const gone = control({ pending: [] })
    expect(ask('refuse', PENDING.consent, went('failed', 'consent_refused'), gone)?.code).toBe(0)
    expect(ask('refuse', PENDING.consent, went('completed'), gone)?.code).toBe(2)
    expect(ask('approve', PENDING.consent, went('failed', 'consent_refused'), gone)?.code).toBe(2)
    expect(ask('approve', PENDING.consent, went('expired', 'expired'), gone)?.lines.at(-1)).toBe(
      '  ask: expired expired',
    )
    expect(ask('approve', PENDING.consent, gone)?.code).toBe(2)
  })

  it('what rules held is approved where it crossed or may still, not where it ended', () => {
    const held: Control = {
      ...CONTROL,
      pending: [{ ...PENDING, component: 'out', type: 'goto', covers: [], rules: ['far'] }],
    }
    const answer = (verb: Verb, over: Partial<Control>, ...[phase, reason]: string[]) => {
      const said: Heard[] = phase === undefined ? [] : [['outcome/planner', outcome('out', phase, reason)]]
      const status: Heard[] = over.session === undefined ? [] : [['status', { ...online, session: over.session }]]
      return askOn(held, verb, PENDING.consent, ...said, ...status, control({ pending: [], ...over }))?.code
    }
    expect(answer('approve', {})).toBe(0)
    expect(answer('approve', {}, 'dispatched')).toBe(0)
    expect(answer('approve', {}, 'blocked', 'consent_refused')).toBe(2)
    expect(answer('approve', {}, 'expired', 'expired')).toBe(2)
    expect(answer('approve', { session: 'another' })).toBe(2)
    expect(answer('refuse', {}, 'blocked', 'consent_refused')).toBe(0)
    expect(answer('refuse', {})).toBe(2)
  })
})

describe('the desk', () => {
  it('G5: has no view of a companion that is offline, of another session, or unreadable', () => {
    const desk = new Desk()
    desk.hear('catalog', { types: TYPES })
    desk.hear('control', CONTROL)
    expect(desk.view).toBeUndefined()
    desk.hear('status', { status: 'online', session: 'other' })
    expect(desk.view).toBeUndefined()
    desk.hear('status', { status: 'online', session: CONTROL.session })
    expect(desk.view?.control).toEqual(CONTROL)
    desk.hear('control', { ...CONTROL, pending: [{ ...PENDING, covers: [{ component: 'out' }] }] })
    expect(desk.view).toBeUndefined()
    desk.hear('control', CONTROL)
    desk.hear('status', { status: 'offline', session: CONTROL.session })
    expect(desk.view).toBeUndefined()
  })
})

describe('an order that makes no sense is an error before anything is connected', () => {
  const nowhere = { url: 'mqtt://127.0.0.1:1', vehicle: 'uav1' }

  it.each<[Verb, string | undefined, string]>([
    ['approve', undefined, 'operator approve: its consent is missing'],
    ['refuse', 'ask', 'operator refuse: consent ask: must be hex digits, as listed'],
    ['revoke', undefined, 'operator revoke: its agent is missing'],
    ['clear', undefined, 'operator clear: its type is missing'],
    ['pause', 'goto', 'operator pause: is about nothing, not goto'],
  ])('%s %s', async (verb, about, message) => {
    await expect(operator(nowhere, { verb, about, watch: false }, () => {})).rejects.toThrow(message)
  })
})
