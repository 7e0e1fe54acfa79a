// The Open Policy Agent's policy, compiled ahead of time to WebAssembly: one call for all actions, JSON in and out.
//
// policy.wasm is what  opa build -t wasm -e peer/supported -e peer/kept policy.rego  makes, of opa 1.22.3
// (go install github.com/open-policy-agent/opa@v1.22.3). The compiler is a Go program, so what it made is kept here.

import { readFileSync } from 'node:fs'
import { loadPolicy } from '@open-policy-agent/opa-wasm'
import { type Action, type Peer, parts } from './decision.ts'

type Answer = readonly [{ readonly result: readonly number[] }]

const policy = await loadPolicy(readFileSync('bench/peers/policy.wasm'))

/** `told`: what of an action the policy reads, since all of the input is written and parsed as JSON in each call. */
const peer = (name: string, decides: string, entrypoint: string, told: (action: Action) => object): Peer<Answer> => ({
  name,
  decides: parts(decides),
  ask: (state, actions) => {
    const input = { state, actions: actions.map(told) }
    return {
      run: () => policy.evaluate(input, entrypoint),
      kept: ([{ result }]) => actions.map((_, i) => result.includes(i)),
    }
  },
})

export const support = peer('OPA, compiled policy', 'C', 'peer/supported', ({ alt_mm }) => ({ alt_mm }))
export const closure = peer('OPA, the same with graph.reachable', 'CP', 'peer/kept', ({ alt_mm, requires }) => ({
  alt_mm,
  requires,
}))
