import { describe, expect, it } from 'vitest'
import { loadCore as core } from '../../../src/core/wasm.ts'
import type { JournalEntry } from '../../../src/engine/port.ts'
import { plain, range, referenceCatalog, Stage } from './stage.ts'

const GRIPPER = 211
/** Nobody has to agree, so that a test is about the release alone. */
const ALONE: [string, string] = [
  '    requires: [request.approval]\n    may_require: { takeoff: completed, goto',
  '    may_require: { takeoff: completed, goto',
]
const catalog = referenceCatalog(ALONE)
const INTENT = { agent: 'planner', type: 'release', payload: {} }
const release = plain('release')

/** In the air and still, the autopilot silent where `obeys` is not given. */
const aloft = (options: { obeys?: boolean; journal?: JournalEntry; sessions?: number } = {}): Stage =>
  new Stage(core, { catalog, obeys: false, ...options }).fly()

const releases = (stage: Stage): number => stage.sent.filter(({ command }) => command === GRIPPER).length
const uncertain = (stage: Stage): string[] => (stage.control as unknown as { uncertain: string[] }).uncertain

describe('an irreversible action (PROTOCOL 8)', () => {
  it('G3: has its intent on the disk before it crosses, and none once it is acknowledged', () => {
    const stage = aloft()
    stage.say([release])
    expect(stage.journal?.intents).toEqual([INTENT])
    expect(releases(stage)).toBe(0)
    stage.run(10)
    expect(releases(stage)).toBe(1)
    expect(stage.journal?.intents).toEqual([INTENT])
    stage.acknowledge(GRIPPER).run(10)
    expect(stage.journal?.intents).toEqual([])
    expect(stage.lastPhase('release')).toBe('completed')
    expect(uncertain(stage)).toEqual([])
  })

  it('G5: is gated after the intent is written, by what is true then', () => {
    const stage = aloft()
    stage.say([release])
    stage.set({ 'velocity.north': 5 })
    expect(stage.lastPhase('release')).toBe('blocked unsupported')
    expect(stage.journal?.intents).toEqual([])
    expect(releases(stage.run(1000))).toBe(0)
  })

  it.each<[string, (stage: Stage) => unknown]>([
    ['no answer', (stage) => stage.run(6000)],
    ['a takeover', (stage) => stage.taken('POSITION')],
    ['a pause', (stage) => stage.operate('pause')],
    ['a new session', (stage) => stage.operate('restart')],
    ['the end of the process', (stage) => stage.stop()],
    ['an answer that it has begun, and no other', (stage) => stage.acknowledge(GRIPPER, 5).run(6000)],
  ])('G3: is uncertain after %s, and so is its type until the operator clears it', (_, happens) => {
    const stage = aloft()
    stage.say([release])
    stage.run(10)
    happens(stage)
    expect(stage.lastPhase('release')).toMatch(/^uncertain /)
    expect(stage.journal?.intents).toEqual([INTENT])
    expect(uncertain(stage)).toEqual(['release'])
    expect(releases(stage)).toBe(1)
  })

  it('G3: denies every component of an uncertain type, of any agent, until the operator clears it', () => {
    const both = referenceCatalog(ALONE, ['agents:\n', 'agents:\n  scout:\n    may: [report.range, release]\n'])
    const stage = new Stage(core, { catalog: both, obeys: false }).fly()
    stage.say([release])
    stage.run(11_000)
    expect(stage.obligations.at(-1)).toMatchObject({ component: 'release', route: 'operator' })
    for (const agent of ['planner', 'scout']) {
      expect(stage.say([plain('release', 'again')], {}, agent).components[0].decision).toBe('retained')
      expect(stage.lastPhase('again', agent)).toBe('blocked uncertain_outcome')
    }
    expect(stage.obligations.at(-1)).toMatchObject({ component: 'again', route: 'operator' })
    const { n } = stage.control
    stage.operate('clear', { type: 'release' })
    // Two changes, one `control`: `halo operator clear` counts on that.
    expect(stage.control).toMatchObject({ n: n + 2, uncertain: [] })
    expect(uncertain(stage)).toEqual([])
    expect(stage.journal?.intents).toEqual([])
    stage.say([plain('release', 'third')])
    stage.run(10)
    expect(releases(stage)).toBe(2)
  })

  it.each([1, 2, 3, 4])('is known not to have happened once it is refused (result %i)', (result) => {
    const stage = aloft()
    stage.say([release])
    stage.run(10).acknowledge(GRIPPER, result).run(10)
    expect(stage.lastPhase('release')).toBe('failed refused')
    expect(stage.journal?.intents).toEqual([])
  })

  it('is known not to have happened where it never left: the link is down', () => {
    const stage = aloft()
    stage.down = true
    stage.say([release])
    stage.run(10)
    expect(stage.lastPhase('release')).toBe('failed link_lost')
    expect(stage.journal?.intents).toEqual([])
  })

  it.each([
    ['while it is in progress', (stage: Stage) => stage.acknowledge(GRIPPER, 5).run(2000)],
    ['that comes late: a gripper takes its time', (stage: Stage) => stage.run(3100)],
  ])('waits for its last word %s', (_, wait) => {
    const stage = aloft()
    stage.say([release])
    wait(stage.run(10))
    expect(stage.lastPhase('release')).toBe('dispatched')
    stage.acknowledge(GRIPPER, 0).run(10)
    expect(stage.lastPhase('release')).toBe('completed')
  })

  it('G3: what a process finds open is uncertain, and is not released again', () => {
    const before = aloft()
    before.say([release])
    before.run(10)
    const stage = aloft({ journal: before.journal!, sessions: 1, obeys: true })
    expect(uncertain(stage)).toEqual(['release'])
    stage.say([release])
    expect(stage.run(1000).lastPhase('release')).toBe('blocked uncertain_outcome')
    expect(releases(stage)).toBe(0)
    stage.operate('clear', { type: 'release' }).say([release])
    expect(stage.run(1000).lastPhase('release')).toBe('completed')
  })

  it('can be cleared where the catalog does not have its type any more', () => {
    const entry = { paused: false, pilotControl: false, revoked: [], intents: [{ ...INTENT, type: 'of.before' }] }
    const stage = aloft({ journal: entry })
    expect(uncertain(stage)).toEqual(['of.before'])
    stage.operate('clear', { type: 'of.before' })
    expect(uncertain(stage)).toEqual([])
  })

  it('G3: waits for a slow disk, is denied meanwhile like any other, and leaves when its intent is there', () => {
    const stage = aloft({ obeys: true })
    stage.disk_ms = 1500
    stage.say([release])
    expect(releases(stage.run(1490))).toBe(0)
    expect(stage.journal).toBeUndefined()
    expect(releases(stage.run(10))).toBe(1)
    expect(stage.journal?.intents).toEqual([INTENT])
    stage.run(100).say([plain('release', 'again')])
    stage.run(1000).set({ 'velocity.north': 5 })
    expect(stage.lastPhase('again')).toBe('blocked unsupported')
    expect(releases(stage.set({ 'velocity.north': 0 }).run(4000))).toBe(1)
    expect(stage.journal?.intents).toEqual([])
  })

  it('G5: is denied where the disk says nothing for 2 s, which is told, and leaves no word of it for the next process', () => {
    const stage = aloft()
    stage.disk_ms = 5000
    stage.say([release])
    expect(stage.run(1990).lastPhase('release')).not.toMatch(/^blocked/)
    expect(stage.run(20).lastPhase('release')).toBe('blocked uncertain_outcome')
    expect(stage.values('notice').at(-1)).toMatchObject({ kind: 'journal', severity: 'critical' })
    expect(releases(stage.run(8000))).toBe(0)
    expect(stage.journal?.intents).toEqual([])
    expect(stage.values('notice').filter(({ kind }) => kind === 'journal')).toHaveLength(1)
  })

  it('G5: is denied where the disk does not take its intent, and nothing else is', () => {
    const stage = aloft({ obeys: true })
    stage.full = true
    stage.say([range, release, plain('hold')])
    expect(stage.run(1000).lastPhase('release')).toBe('blocked uncertain_outcome')
    expect(stage.values('outcome/planner').find(({ phase }) => phase === 'blocked').detail).toMatch(/journal/)
    expect(releases(stage)).toBe(0)
    expect(uncertain(stage)).toEqual([])
    expect([stage.lastPhase('range'), stage.lastPhase('hold')]).toEqual(['released', 'completed'])
    stage.operate('pause')
    expect(stage.control.paused).toBe(true)
    expect(stage.values('notice').at(-1)).toMatchObject({ kind: 'journal', severity: 'critical' })
    stage.full = false
    stage.operate('resume').say([release])
    expect(stage.run(1000).lastPhase('release')).toBe('completed')
  })
})
