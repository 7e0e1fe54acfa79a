// @marcbachmann/cel-js, the parser of this project's clauses, evaluating them itself: parsed once, asked for each action.

import { parse } from '@marcbachmann/cel-js'
import { LIMITS, type Peer, parts } from './decision.ts'

const clauses = [
  `state.battery >= ${LIMITS.battery}`,
  `state.fix >= ${LIMITS.fix}`,
  `state.height_mm <= ${LIMITS.height_mm}`,
  `payload.alt_mm <= ${LIMITS.alt_mm}`,
].map((text) => parse(text))

export const cel: Peer<readonly boolean[]> = {
  name: 'cel-js, parsed',
  decides: parts('C'),
  ask: (state, actions) => ({
    run: () => actions.map((payload) => clauses.every((holds) => holds({ state, payload }) === true)),
    kept: (answer) => answer,
  }),
}
