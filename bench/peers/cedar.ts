// Cedar in WebAssembly, its policy parsed once: one authorization call an action, since a Cedar request names one action.

import { preparsePolicySet, statefulIsAuthorized } from '@cedar-policy/cedar-wasm/nodejs'
import { LIMITS, type Peer, parts } from './decision.ts'

const POLICY = 'goto'
const parsed = preparsePolicySet(POLICY, {
  staticPolicies: `
permit(principal, action == Action::"goto", resource) when {
  context.battery >= ${LIMITS.battery} && context.fix >= ${LIMITS.fix} &&
  context.height_mm <= ${LIMITS.height_mm} && context.alt_mm <= ${LIMITS.alt_mm}
};`,
})
if (parsed.type === 'failure') throw new Error(parsed.errors.map(({ message }) => message).join('\n'))

const principal = { type: 'Agent', id: 'planner' }
const action = { type: 'Action', id: 'goto' }
const resource = { type: 'Vehicle', id: 'uav1' }

export const cedar: Peer<readonly boolean[]> = {
  name: 'Cedar, pre-parsed policy',
  decides: parts('C'),
  ask: ({ battery, fix, height_mm }, actions) => ({
    run: () =>
      actions.map(({ alt_mm }) => {
        const context = { battery, fix, height_mm, alt_mm }
        const call = { principal, action, resource, context, preparsedPolicySetId: POLICY, entities: [] }
        const answer = statefulIsAuthorized(call)
        return answer.type === 'success' && answer.response.decision === 'allow'
      }),
    kept: (answer) => answer,
  }),
}
