import { describe, expect, it } from 'vitest'
import { Hearing } from '../../../companion/mavlink/hearing.ts'
import { px4Multirotor } from '../../../src/autopilot/px4-multirotor.ts'

const sources = px4Multirotor.messages
const source = (name: string) => sources.find((each) => each.name === name)!

function hearing(endpoint?: string, declared: (field: string) => boolean = () => true) {
  const said: string[] = []
  const changes: string[] = []
  const made = new Hearing({
    profile: px4Multirotor,
    fields: px4Multirotor.fields.map(({ name }) => ({ declared: declared(name) })),
    ...(endpoint !== undefined && { endpoint }),
    listener: {
      silent(text, severity, change) {
        said.push(`${severity}: ${text}`)
        if (change !== undefined) changes.push(change)
      },
    },
  })
  let now_ms = 0
  /** Ticks each 10 ms; `each` is called before. */
  const pass = (time_ms: number, each: () => void = () => {}): void => {
    for (const end_ms = now_ms + time_ms; now_ms < end_ms; now_ms += 10) {
      each()
      made.tick(now_ms)
    }
  }
  const beat = (): void => {
    made.received(30, 1)
    made.heard(0)
  }
  return { hearing: made, said, changes, pass, beat, skip: (time_ms: number) => (now_ms += time_ms) }
}

describe('hearing, a link', () => {
  it('on which nothing is ever heard is told after 5 s, once, with what to look at', () => {
    const { said, pass } = hearing('serial:///dev/ttyAMA0?baud=57600')
    pass(4990)
    expect(said).toEqual([])
    pass(60_000)
    expect(said).toEqual([
      expect.stringMatching(
        /^warning: nothing is heard on serial:.*TX and RX.*baud rate.*MAV_1_CONFIG.*SERIAL2_PROTOCOL/,
      ),
    ])
  })

  it.each([
    ['udpin://127.0.0.1:14540', 'send to this address'],
    ['udpout://10.0.0.1:14550', 'listen at this address'],
    ['tcpout://127.0.0.1:5760', 'serve this address'],
  ])('says of %s what is to be looked at there', (endpoint, advice) => {
    const { said, pass } = hearing(endpoint)
    pass(6000)
    expect(said).toEqual([expect.stringContaining(advice)])
  })

  it('tells bytes without frames, then frames without an autopilot, then the autopilot; never backwards', () => {
    const { hearing: h, said, pass, beat } = hearing()
    pass(6000)
    pass(6000, () => h.received(10, 0))
    pass(6000, () => h.received(30, 1))
    pass(20_000)
    pass(1000, beat)
    expect(said).toEqual([
      expect.stringContaining('nothing is heard'),
      expect.stringMatching(/bytes and no MAVLink frame.*baud rate/),
      expect.stringMatching(/MAVLink and no autopilot of kind 12.*catalog's vehicle/),
      'info: the autopilot is heard',
    ])
  })

  it('whose autopilot is heard at once is not talked about', () => {
    const { said, pass, beat } = hearing()
    pass(3000)
    pass(60_000, beat)
    expect(said).toEqual([])
  })

  it('whose autopilot falls silent is told after 3 s, and when it is heard again; once each', () => {
    const { hearing: h, said, changes, pass, beat } = hearing('udpin://127.0.0.1:14540')
    pass(1000, beat)
    pass(2980)
    expect(said).toEqual([])
    pass(30_000)
    pass(5000, beat)
    pass(10_000, () => h.received(30, 1))
    pass(100, beat)
    expect(said).toEqual([
      expect.stringMatching(/^critical: the autopilot is silent for 3 s; nothing is heard on udpin/),
      expect.stringMatching(/^info: the autopilot is heard again after 33\.0 s/),
      expect.stringMatching(/^critical: the autopilot is silent for 3 s; others, and not the autopilot, are heard/),
      expect.stringMatching(/^info: the autopilot is heard again/),
    ])
    expect(changes).toEqual(['lost', 'found_again', 'lost', 'found_again'])
  })

  it('is not called silent for the time in which nobody listened', () => {
    const { said, pass, beat, skip } = hearing()
    pass(1000, beat)
    for (let i = 0; i < 10; i++) {
      skip(5000)
      pass(500)
    }
    expect(said).toEqual([expect.stringContaining('silent for 3 s')])
    const once = hearing()
    once.pass(1000, once.beat)
    once.skip(60_000)
    once.pass(2000)
    once.pass(1000, once.beat)
    expect(once.said).toEqual([])
  })
})

describe('hearing, a message that does not come', () => {
  /** Asks so often, each 2 s, while the autopilot speaks. */
  function asked(name: string, rounds: number, answer: number | undefined, declared?: (field: string) => boolean) {
    const all = hearing(undefined, declared)
    all.pass(100, all.beat)
    for (let i = 0; i < rounds; i++) {
      all.hearing.asks(source(name))
      if (answer !== undefined) all.hearing.answers(source(name), answer)
      all.pass(2000, all.beat)
    }
    return all
  }

  it('because it is refused is told once, with the fields that are unknown for want of it, and what to do', () => {
    const { hearing: h, said } = asked('CURRENT_MODE', 20, 3)
    expect(said).toEqual([
      expect.stringMatching(
        /^warning: CURRENT_MODE \(436\) is not heard, so mode, mode_intended cannot be known: .* refuses it \(unsupported\); PX4 has it from 1\.15 on/,
      ),
    ])
    h.heard(436)
    h.heard(436)
    expect(said.slice(1)).toEqual(['info: CURRENT_MODE is heard now'])
  })

  it('because nobody answers is told after three rounds', () => {
    expect(asked('SYS_STATUS', 3, undefined).said).toEqual([])
    expect(asked('SYS_STATUS', 4, undefined).said).toEqual([expect.stringMatching(/SYS_STATUS.*does not answer/)])
  })

  it('that is accepted may take a minute: a fix, an estimate', () => {
    expect(asked('HOME_POSITION', 30, 0).said).toEqual([])
    expect(asked('HOME_POSITION', 32, 0).said).toEqual([expect.stringMatching(/HOME_POSITION.*accepts that/)])
  })

  it('and that nobody misses is not told: a sensor that the catalog does not have', () => {
    expect(asked('DISTANCE_SENSOR', 50, 3, () => false).said).toEqual([])
    expect(asked('POSITION_TARGET_LOCAL_NED', 50, 3).said).toEqual([])
    // What the engine reads counts in any case.
    expect(asked('CURRENT_MODE', 20, 3, () => false).said).toHaveLength(1)
  })

  it('is told again of another boot, and not of an autopilot that says nothing at all', () => {
    const all = asked('CURRENT_MODE', 10, 3)
    all.hearing.begin()
    for (let i = 0; i < 10; i++) {
      all.hearing.asks(source('CURRENT_MODE'))
      all.pass(2000, all.beat)
    }
    expect(all.said).toHaveLength(2)
    all.hearing.begin()
    all.pass(2000)
    for (let i = 0; i < 10; i++) {
      all.hearing.asks(source('CURRENT_MODE'))
      all.pass(2000)
    }
    expect(all.said.slice(2)).toEqual([expect.stringContaining('silent for 3 s')])
  })
})
