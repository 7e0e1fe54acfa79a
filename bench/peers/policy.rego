# The peers' decision (decision.ts) as a policy of the Open Policy Agent: what is supported, and what of it may be kept.

package peer

import rego.v1

supported contains i if {
	some i, action in input.actions
	input.state.battery >= 25
	input.state.fix >= 3
	input.state.height_mm <= 60000
	action.alt_mm <= 120000
}

all := {i | some i, _ in input.actions}

dependents[i] contains j if {
	some j, action in input.actions
	some i in action.requires
}

unsupported := all - supported

# graph.reachable names only what has dependents itself.
withheld contains j if {
	some i in graph.reachable(dependents, unsupported)
	some j in dependents[i]
}

kept := supported - withheld
