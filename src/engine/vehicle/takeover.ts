// Who has the vehicle: which mode our own effects explain, and whether a frame may change the mode (PROTOCOL 8, "Takeover"
// and "Mode guard"). Autopilots let a companion override the pilot and cancel failsafes, so we do not ask them.

import type { Mode } from '../../autopilot/profile.ts'
import { MODE_AGE_MS, type ModeReport, type VehicleView } from './view.ts'

/** Where a mode was shown before a frame that asks for it left, a report may still tell of the time before it arrived. */
export const SETTLING_MS = 100
/** A report that nothing explains is believed where no other comes for so long. */
const DOUBT_MS = 500

/** An effect of ours that changes the mode, from its crossing to its end. */
export interface Underway {
  /** Modes that the vehicle goes through because of it. */
  readonly leads: readonly Mode[]
  /** `land` and `return`: once on the ground they explain any mode that we set, and HOLD. */
  readonly endsWithHold: boolean
  /** Since a frame that changes the mode has left, only reports received after this show what it did. */
  since_ms: number | undefined
  /** The mode has been shown: from now on only this effect explains. */
  confirmed: boolean
  /** When an arm frame left, and was not refused. */
  armed_ms: number | undefined
}

export class Takeover {
  readonly #view: VehicleView
  readonly #engaged: Mode
  readonly #underway = new Set<Underway>()
  /** Modes that a frame of ours set in this session; at its start the setpoint mode counts as ours. */
  readonly #ours: Set<Mode>
  /** What the last-finished effect explains; at a session's start HOLD and the setpoint mode. */
  #explained: Set<Mode>
  #endedOnGround = false
  /** When the newest arm frame of what has ended left: what was heard before does not say that it stands there disarmed. */
  #armed_ms = Number.NEGATIVE_INFINITY
  /** No effect of ours and no operator has explained anything in this session yet. */
  #fresh: boolean
  /** When one report was heard that nothing explains: it may be an old one that came late. */
  #doubtedSince_ms: number | undefined
  /** When a report lifted the doubt: an old one may do that too, so the mode guard waits for the next. */
  #liftedSince_ms: number | undefined
  /** It is believed that somebody else has it; until a mode of ours is shown again there is nothing to doubt. */
  #taken = false
  /** The session found the setpoint mode as intended mode: a mere setpoint would engage it. */
  #foundEngaged: boolean | undefined

  /** `before` is that of a session of the same process and vehicle: what it set and explained is not forgotten. */
  constructor(view: VehicleView, engaged: Mode, before?: Takeover) {
    this.#view = view
    this.#engaged = engaged
    this.#ours = new Set([engaged, ...(before === undefined ? [] : before.#ours)])
    this.#explained = new Set(['HOLD', engaged, ...(before === undefined ? [] : before.#allExplained())])
    this.#fresh = before === undefined || before.#fresh
    if (before !== undefined) {
      for (const { armed_ms } of [...before.#underway, { armed_ms: before.#armed_ms }]) {
        this.#armed_ms = Math.max(this.#armed_ms, armed_ms ?? Number.NEGATIVE_INFINITY)
      }
    }
  }

  #allExplained(): Mode[] {
    return [...this.#explained, ...[...this.#underway].flatMap(({ leads }) => leads)]
  }

  begin(effect: Underway): void {
    if (effect.leads.length > 0) this.#underway.add(effect)
  }

  /** A frame that changes the mode is about to leave for this effect. */
  commands(effect: Underway, now_ms: number): void {
    const seen = this.#view.mode(now_ms)
    const already = seen !== undefined && effect.leads.includes(seen.mode)
    effect.since_ms ??= already ? now_ms + SETTLING_MS : now_ms
    this.#fresh = false
    // What an operator's resume explained and is left is nobody's: it would be the pilot's again.
    if (seen?.fresh) this.#explained = new Set([...this.#explained].filter((m) => this.isOurs(m) || m === seen.mode))
    for (const mode of effect.leads) this.#ours.add(mode)
    // From here on the setpoint mode is one that this session asked for, whatever it found (ArduPilot's take-off).
    if (effect.leads.includes(this.#engaged)) this.#foundEngaged = false
  }

  finish(effect: Underway): void {
    this.#armed_ms = Math.max(this.#armed_ms, effect.armed_ms ?? Number.NEGATIVE_INFINITY)
    if (!this.#underway.delete(effect) || effect.since_ms === undefined) return
    if (effect.confirmed) this.#explained = new Set(effect.leads)
    else for (const mode of effect.leads) this.#explained.add(mode)
    this.#endedOnGround = effect.endsWithHold
  }

  /** The mode is one that we set, or the one that the vehicle would rest in. */
  isOurs(mode: Mode): boolean {
    return mode === 'HOLD' || this.#ours.has(mode)
  }

  /** The setpoint mode is shown, and by us: a stream needs no mode command. */
  isEngaged(now_ms: number): boolean {
    const seen = this.#view.mode(now_ms)
    if (!seen?.fresh || !seen.current || seen.age_ms > MODE_AGE_MS || this.foundEngaged) return false
    return seen.mode === this.#engaged && seen.intended === this.#engaged && this.#ours.has(this.#engaged)
  }

  get foundEngaged(): boolean {
    return this.#foundEngaged ?? false
  }

  /**
   * True when the pilot, a failsafe or somebody else has the vehicle. A report of the mode carries no time, so one that nothing
   * explains holds everything back (`doubted`), and a second one that was received after it, or silence, decides.
   */
  judge(now_ms: number): boolean {
    const seen = this.#view.mode(now_ms)
    const explained = seen === undefined || !seen.fresh ? undefined : this.#follow(seen, now_ms)
    const received_ms = seen === undefined ? Number.NEGATIVE_INFINITY : now_ms - seen.age_ms
    if (explained === true && received_ms > (this.#liftedSince_ms ?? Number.POSITIVE_INFINITY)) {
      this.#liftedSince_ms = undefined
    }
    // Disarmed, nothing latches.
    if (explained === true || !this.#view.isArmed(now_ms)) {
      if (this.#doubtedSince_ms !== undefined) this.#liftedSince_ms = explained === true ? now_ms : undefined
      this.#doubtedSince_ms = undefined
      this.#taken = false
      return false
    }
    if (this.#taken) return explained === false
    if (this.#doubtedSince_ms === undefined) {
      if (explained === false) this.#doubtedSince_ms = now_ms
      return false
    }
    const since_ms = this.#doubtedSince_ms
    const again = explained === false && received_ms > since_ms
    if (!again && now_ms - since_ms < DOUBT_MS) return false
    this.#doubtedSince_ms = undefined
    this.#taken = true
    return true
  }

  /** Nobody knows who has the vehicle: no frame of ours leaves. */
  get doubted(): boolean {
    return this.#doubtedSince_ms !== undefined
  }

  /** What a fresh report shows of our effects, and whether something of ours explains it. */
  #follow(seen: ModeReport, now_ms: number): boolean {
    if (this.#foundEngaged !== false) this.#foundEngaged = seen.intended === this.#engaged
    const explained = this.#explains(seen.mode, now_ms)
    for (const effect of this.#underway) {
      const since_ms = effect.since_ms ?? Number.POSITIVE_INFINITY
      const shown = effect.leads.includes(seen.mode) && effect.leads.includes(seen.intended)
      if (shown && now_ms - seen.age_ms > since_ms) effect.confirmed = true
    }
    return explained && !(this.#fresh && seen.mode !== seen.intended)
  }

  #explains(mode: Mode, now_ms: number): boolean {
    const live = [...this.#underway]
    if (live.some((effect) => effect.leads.includes(mode))) return true
    if ((live.length === 0 || live.some((effect) => !effect.confirmed)) && this.#explained.has(mode)) return true
    const landing = live.some((effect) => effect.endsWithHold) || (live.length === 0 && this.#endedOnGround)
    return landing && this.isOurs(mode) && this.#view.wasOnGround(now_ms)
  }

  /**
   * The mode guard: a frame that changes the mode, or arms, may leave. Standing disarmed there is nobody to override. Otherwise
   * the newest mode report is at most 1 s old and from behind the last stall, mode equals intended mode, the system is not
   * critical, and the mode is HOLD or one that we set.
   */
  inControl(now_ms: number): boolean {
    if (this.#isAlone(now_ms)) return true
    if (this.#isLifted(now_ms)) return false
    const seen = this.#view.mode(now_ms)
    if (!seen?.current || seen.age_ms > MODE_AGE_MS || seen.mode !== seen.intended) return false
    return this.#view.isUncritical(now_ms) && this.isOurs(seen.mode)
  }

  /**
   * The mode guard says no for now: it waits until the mode has been heard behind a stall, or that the vehicle stands there
   * disarmed where it did before; or until a second report bears out the one that lifted a doubt.
   */
  awaitsMode(now_ms: number): boolean {
    const lifted = this.#isLifted(now_ms)
    if (!lifted && !this.#view.isBehindStall(now_ms)) return false
    if (this.inControl(now_ms)) return false
    return lifted || this.#view.awaitsMode(now_ms) || this.#view.awaitsStanding(now_ms)
  }

  /** A doubt was lifted by one report, and no second one has come; without any the mode grows old by itself. */
  #isLifted(now_ms: number): boolean {
    return this.#liftedSince_ms !== undefined && now_ms - this.#liftedSince_ms <= MODE_AGE_MS
  }

  #isAlone(now_ms: number): boolean {
    return !this.#isArming() && this.#view.standsDisarmed(now_ms, this.#armed_ms)
  }

  #isArming(): boolean {
    for (const effect of this.#underway) if (effect.armed_ms !== undefined) return true
    return false
  }

  /** The operator gives control back: the mode then shown counts as explained, until an effect of ours begins in another (PROTOCOL 10). */
  resumed(now_ms: number): void {
    const seen = this.#view.mode(now_ms)
    this.#explained = new Set(seen === undefined ? ['HOLD'] : [seen.mode])
    this.#endedOnGround = false
    this.#fresh = false
    this.#doubtedSince_ms = undefined
    this.#liftedSince_ms = undefined
    this.#taken = false
  }
}
