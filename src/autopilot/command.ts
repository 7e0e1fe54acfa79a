// Commands and verbs as the built-in profiles write them: COMMAND_LONG frames, and the steps and contingencies made of them.

import type { ContingencyProfile, FrameTemplate, Mode, Step, VerbProfile } from './profile.ts'

export const DO_SET_MODE = 176
export const NAV_TAKEOFF = 22
export const COMPONENT_ARM_DISARM = 400

/** A COMMAND_LONG; parameters that are not given are 0. */
export const command = (id: number, params: Readonly<Record<number, number | string>>): FrameTemplate => ({
  message: 'COMMAND_LONG',
  values: {
    ...Object.fromEntries(Object.entries(params).map(([n, value]) => [`param${n}`, value])),
    command: id,
    target_system: 'target.system',
    target_component: 'target.component',
  },
})

const armFrame = (armed: boolean): FrameTemplate => command(COMPONENT_ARM_DISARM, { 1: armed ? 1 : 0 })

export const armStep = (armed: boolean): Step => ({
  frame: armFrame(armed),
  command: COMPONENT_ARM_DISARM,
  shows: { armed },
  awaits_ms: armed ? 1500 : 0,
  changesMode: false,
  arms: armed,
  takesOff: false,
})

export const disarming: ContingencyProfile = {
  frame: armFrame(false),
  command: COMPONENT_ARM_DISARM,
  shows: { armed: false },
}

/** The commands of an autopilot that sets a mode with these parameters of DO_SET_MODE. */
export function modeCommands<M extends Mode>(params: (mode: M) => Readonly<Record<number, number>>) {
  const frame = (mode: M): FrameTemplate => command(DO_SET_MODE, params(mode))
  return {
    step: (mode: M, awaits_ms: number): Step => ({
      frame: frame(mode),
      command: DO_SET_MODE,
      shows: { mode },
      awaits_ms,
      changesMode: true,
      arms: false,
      takesOff: false,
    }),
    contingency: (mode: M): ContingencyProfile => ({ frame: frame(mode), command: DO_SET_MODE, shows: { mode } }),
  }
}

export const takeoffStep = (params: Readonly<Record<number, number | string>>, shows: Step['shows']): Step => ({
  frame: command(NAV_TAKEOFF, params),
  command: NAV_TAKEOFF,
  shows,
  awaits_ms: 0,
  changesMode: true,
  arms: false,
  takesOff: true,
})

export const verb = (steps: readonly Step[], leads: readonly Mode[], rest: Partial<VerbProfile> = {}): VerbProfile => ({
  steps: () => steps,
  leads,
  endsWithHold: false,
  undo: { ground: [], air: [] },
  payload: {},
  ...rest,
})
