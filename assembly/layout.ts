// The memory map. 64 pages of 64 KiB, fixed for ever: nothing is allocated, nothing moves, no view of it is ever detached.
//
//   0x000000 ┌──────────────────────────────┐
//            │ static: constants of SHA-256 │  16 KiB
//   0x004000 ├──────────────────────────────┤
//            │ INPUT   written by the host  │   8 KiB
//            │ OUTPUT  read by the host     │   1 KiB
//            │ scratch: stack, padding ...  │   4 KiB
//            ├──────────────────────────────┤
//            │ fields      256 × 32         │   8 KiB   the state table
//            │ snapshots   256 × 3152       │ 788 KiB
//            ├──────────────────────────────┤
//            │ words     16384 × 8          │ 128 KiB   programs, proven when loaded
//            │ programs   4096 × 16         │  64 KiB
//            │ types        64 × 2592       │ 162 KiB
//            │ entries    4096 × 8          │  32 KiB   what goes where in a frame
//            │ contingencies 8 × 24         │
//            │ predicates  256 × 104        │  26 KiB   with a footprint each
//            ├──────────────────────────────┤
//            │ candidates  256 × 32         │   8 KiB   one admission
//            │ nodes and edges of its graph │ 113 KiB
//            ├──────────────────────────────┤
//            │ instances  1024 × 2560       │ 2560 KiB  the ledger: 80 bytes of its own and the binding record
//            │ chains     4096 × 2          │   8 KiB   sequence → instance
//            │ leases       64 × 2304       │ 144 KiB   frames, filled in once
//            │ grants       64 × 16         │   1 KiB   contingency tokens
//   0x400000 └──────────────────────────────┘
//
// Every region is reached only through the accessors of the file that owns it; their indices are bounded there.

import {
  CANDIDATES_MAX, CONTINGENCIES_MAX, EDGES_MAX, ENTRIES_TOTAL_MAX, FIELDS_MAX, GRANTS_MAX, INSTANCES_MAX, LEASES_MAX, NODES_MAX,
  PREDICATES_MAX, PROGRAM_WORDS_MAX, PROGRAMS_MAX, SNAPSHOTS_MAX, STACK_MAX, TYPES_MAX,
} from './limits'

export const MEMORY_END: usize = 0x400000
export const STATIC_END: usize = 0x4000

// What the host writes before a call, and reads after it.
export const INPUT_AT: usize = STATIC_END
export const INPUT_BYTES: u32 = 8192
export const INPUT_EDGES_AT: usize = INPUT_AT + 256 // of a candidate: after its slots, its prerequisites
export const INPUT_TEXT_AT: usize = INPUT_AT + 512  // and its texts
export const OUTPUT_AT: usize = INPUT_AT + INPUT_BYTES
export const OUTPUT_BYTES: u32 = 1024

// Scratch.
export const STACK_AT: usize = OUTPUT_AT + OUTPUT_BYTES
export const PADDING_BYTES: usize = 128                     // the last one or two blocks of SHA-256,
export const PADDING_AT: usize = STACK_AT + STACK_MAX * 8  // of four messages
export const LANE_BYTES: usize = 20
export const LANES_AT: usize = PADDING_AT + 4 * PADDING_BYTES
export const STATE_AT: usize = LANES_AT + 4 * LANE_BYTES   // of SHA-256, for four messages
export const DIGEST_AT: usize = STATE_AT + 128             // a digest to compare with
export const SESSION_AT: usize = DIGEST_AT + 32            // session (8) and environment (32)
export const PLAN_AT: usize = SESSION_AT + 40              // the plan of the admission under way
export const SIGHT_AT: usize = PLAN_AT + 136               // known (32) and usable (32) now, a bit a field
export const HEAD_AT: usize = SIGHT_AT + 64                // what the last digest of a record began with (64),
export const AFTER_HEAD_AT: usize = HEAD_AT + 64           // and the state of SHA-256 after it (32)
const SCRATCH_END: usize = STACK_AT + 4096

// The state table and the snapshots.
export const FIELD_BYTES: usize = 32
export const FIELDS_AT: usize = SCRATCH_END
export const SNAPSHOT_BYTES: usize = 80 + FIELDS_MAX * 8 + FIELDS_MAX * 4
export const SNAPSHOTS_AT: usize = FIELDS_AT + <usize>FIELDS_MAX * FIELD_BYTES

// The catalog.
export const WORDS_AT: usize = SNAPSHOTS_AT + <usize>SNAPSHOTS_MAX * SNAPSHOT_BYTES
export const PROGRAM_BYTES: usize = 16
export const PROGRAMS_AT: usize = WORDS_AT + PROGRAM_WORDS_MAX * 8
export const TYPE_BYTES: usize = 2592
export const TYPES_AT: usize = PROGRAMS_AT + <usize>PROGRAMS_MAX * PROGRAM_BYTES
export const ENTRIES_AT: usize = TYPES_AT + <usize>TYPES_MAX * TYPE_BYTES
export const FRAME_BYTES: usize = 24
export const CONTINGENCIES_AT: usize = ENTRIES_AT + ENTRIES_TOTAL_MAX * 8
export const FOOTPRINT_BYTES: usize = 96    // three masks of 256 bits: now, known, cited
export const PREDICATE_BYTES: usize = 8 + FOOTPRINT_BYTES
export const PREDICATES_AT: usize = CONTINGENCIES_AT + <usize>CONTINGENCIES_MAX * FRAME_BYTES

// One admission.
export const CANDIDATE_BYTES: usize = 32
export const CANDIDATES_AT: usize = PREDICATES_AT + <usize>PREDICATES_MAX * PREDICATE_BYTES
export const ROWS_AT: usize = CANDIDATES_AT + <usize>CANDIDATES_MAX * CANDIDATE_BYTES // u32: where a node's prerequisites begin
export const COLUMNS_AT: usize = ROWS_AT + (NODES_MAX + 2) * 4                // u16: they
export const BACK_ROWS_AT: usize = COLUMNS_AT + EDGES_MAX * 2                 // the same for dependents
export const BACK_COLUMNS_AT: usize = BACK_ROWS_AT + (NODES_MAX + 2) * 4
export const NODE_BYTES: usize = 24
export const NODES_AT: usize = BACK_COLUMNS_AT + EDGES_MAX * 2
export const WORKLIST_AT: usize = NODES_AT + <usize>NODES_MAX * NODE_BYTES           // u32

// The ledger.
export const ENTRY_BYTES: usize = 80        // of an instance, before its record
export const RECORD_BYTES: usize = 2480
export const INSTANCE_BYTES: usize = ENTRY_BYTES + RECORD_BYTES
export const INSTANCES_AT: usize = WORKLIST_AT + NODES_MAX * 4
export const CHAINS_MAX: u32 = 4096
export const CHAINS_AT: usize = INSTANCES_AT + <usize>INSTANCES_MAX * INSTANCE_BYTES
export const LEASE_BYTES: usize = 2304
export const LEASES_AT: usize = CHAINS_AT + CHAINS_MAX * 2
export const GRANTS_AT: usize = LEASES_AT + <usize>LEASES_MAX * LEASE_BYTES
export const LAYOUT_END: usize = GRANTS_AT + GRANTS_MAX * 16

/** The regions do not overlap the compiler's own, and end before the memory does. */
export function proveLayout(): void {
  assert(__heap_base <= STATIC_END)
  assert(AFTER_HEAD_AT + 32 <= SCRATCH_END)
  assert(LAYOUT_END <= MEMORY_END)
  assert(<usize>memory.size() << 16 == MEMORY_END)
}
