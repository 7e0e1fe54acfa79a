// Every bound of the core, and how they hang together (PROTOCOL 4, 5). Nothing in the core grows: what does not fit is
// refused by name.

export const FIELDS_MAX: u32 = 256          // fields of the state table
export const SNAPSHOTS_MAX: u32 = 256       // snapshots kept; the newest win
export const TYPES_MAX: u32 = 64            // component types of a catalog: a set of types is one u64
export const AGENTS_MAX: u32 = 64
export const INSTANCES_MAX: u32 = 1024      // components known at once, over all plans
export const STANDING_MAX: u32 = 2 * INSTANCES_MAX // that one admission may list: all that are known, as many that have settled
export const EDGES_MAX: u32 = 8192          // prerequisites known at once
export const CANDIDATES_MAX: u32 = 256      // components of one response
export const PREREQUISITES_MAX: u32 = 64    // prerequisites of one component
export const RESPONSE_EDGES_MAX: u32 = 4096 // prerequisites of one response
export const RESPONSE_BYTES_MAX: u32 = 65536
export const PAYLOAD_BYTES_MAX: u32 = 1024  // of one component's payload, as CBOR
export const SLOTS_MAX: u32 = 32            // payload fields of a type
export const CLAUSES_MAX: u32 = 64          // clauses of a type, of all roles together
export const CITED_MAX: u32 = 64            // fields that a type reads in the cited tense or watches
export const INSTRUCTIONS_MAX: u32 = 512    // words of one program
export const STACK_MAX: u32 = 64            // operands of one program
export const PROGRAM_WORDS_MAX: u32 = 16384 // words of all programs together: 128 KiB
export const FRAMES_MAX: u32 = 8            // frames of one effect
export const FRAME_BYTES_MAX: u32 = 255     // payload of one MAVLink 2 frame
export const ENTRIES_MAX: u32 = 32          // values written into one frame
export const LEASES_MAX: u32 = 64           // effects under way at once
export const CONTINGENCIES_MAX: u32 = 8     // frames that need no support
export const CONTINGENCY_SENDS_MAX: u32 = 10
export const TEXT_BYTES_MAX: u32 = 64       // a response's, component's or agent's name
export const PLAN_BYTES_MAX: u32 = 129      // `<agent>/<response>`
export const PROGRAMS_MAX: u32 = 4096       // clauses and frame values of all types; equal ones are one program
export const ENTRIES_TOTAL_MAX: u32 = 4096  // values written into frames, of all types together
export const TOLERANCES_MAX: u32 = 16       // references of one effect
export const PREDICATES_MAX: u32 = 256     // predicates of rules, once for each type whose payload they read
export const GRANTS_MAX: u32 = 64           // contingency tokens that can be open at once
export const NODES_MAX: u32 = STANDING_MAX + CANDIDATES_MAX // of one admission's graph
