// Admission: A*_t, the largest set of supported components whose prerequisites are all in it (PROTOCOL 5).
//
// Each candidate gets the reason of the first of steps 1 to 4 that it fails; those are the roots. Step 5 is a greatest fixed
// point, reached by removal: start from everything that passed and strike out, once each, what rests on something that is
// gone. Every component enters the worklist at most once, so the cost is O(|V| + |D|). Removal goes root by root in the
// response's order, so the first root that reaches a component is the one that is named as its cause.

import { bind, recordOf, recordType, writePrerequisite, writeRecord, writeSequence } from './binding'
import { clauseCount, clauseOf, isSealed, kindOf, phaseNeeded, requiresCount, requiresOf, Role, settles, typeCount } from './catalog'
import { sha256Rest } from './digest'
import {
  addEdge, addNode, backBegin, backEnd, clear, commit, dependent, isMarked, JUDGED, markCycles, markRests, nodeIndex, nodeSlot, nodeType,
  ON_CYCLE, OPEN_ACTION, prerequisite, RESTS_ON_ACTION, rowBegin, rowEnd, setWork, turn, UNKNOWN, work,
} from './graph'
import { CANDIDATE_BYTES, CANDIDATES_AT, INPUT_AT, INPUT_EDGES_AT, PLAN_AT } from './layout'
import { CANDIDATES_MAX, PLAN_BYTES_MAX, PREREQUISITES_MAX, STANDING_MAX } from './limits'
import {
  digestOf, find, giveBack, isForgotten, isSettled, NOWHERE, reachedBy, retain, sequenceOf, settledSlot, take, typeOf,
} from './ledger'
import { Kind, Phase } from './phase'
import { holds, see } from './program'
import { Reason } from './reason'
import { look, snapshotKept } from './state'
import { changed, detailOf, unseen, unsupported } from './support'

let candidates: u32 = 0 // announced
let standings: u32 = 0
let added: u32 = 0      // candidates, then standing ones
let judged: bool = false // and not bound
let agent: u32 = 0
let generation: f64 = 0
let snapshot: u32 = 0
let planLength: u32 = 0
let now: f64 = 0

// A candidate:  reason u32 · detail i32 · cause i32 · sequence u32 · scope u32 · barrier u32 · record length u32.
// The host reads the first four after `judge`.

// @ts-ignore: decorator
@inline
function candidateAt(i: u32): usize {
  return CANDIDATES_AT + <usize>i * CANDIDATE_BYTES
}
// @ts-ignore: decorator
@inline
function reasonOf(i: u32): Reason {
  return load<u32>(candidateAt(i))
}
// @ts-ignore: decorator
@inline
function fail(i: u32, reason: Reason, detail: i32): void {
  store<u32>(candidateAt(i), reason)
  store<i32>(candidateAt(i), detail, 4)
}

/** Begins an admission; the plan's name stands at INPUT. All candidates follow, then all standing components. */
export function open(
  candidateCount: u32, standingCount: u32, ofAgent: u32, ofGeneration: f64, ofSnapshot: u32, planBytes: u32, now_ms: f64,
): void {
  assert(isSealed() && !judged && candidateCount <= CANDIDATES_MAX && standingCount <= STANDING_MAX)
  assert(planBytes <= PLAN_BYTES_MAX && snapshotKept(ofSnapshot))
  candidates = candidateCount
  standings = standingCount
  added = 0
  agent = ofAgent
  generation = ofGeneration
  snapshot = ofSnapshot
  planLength = planBytes
  now = now_ms
  memory.copy(PLAN_AT, INPUT_AT, planBytes)
  clear(candidateCount, standingCount)
}

/** An edge code of the host: a candidate's index, -1, or -2 - i for the i-th standing component. */
function addEdges(count: u32): void {
  assert(count <= PREREQUISITES_MAX)
  for (let i: u32 = 0; i < count; i++) {
    const code = load<i32>(INPUT_EDGES_AT + (i << 2))
    if (code == -1) addEdge(UNKNOWN)
    else if (code >= 0) {
      assert(<u32>code < candidates)
      addEdge(code)
    } else {
      const i = <u32>(-2 - code)
      assert(i < standings)
      addEdge(candidates + i)
    }
  }
}

/** The next candidate; payload, prerequisites and texts stand at INPUT. What passed step 1 gets a record to be judged by. */
export function addCandidate(
  type: u32, form: Reason, scope: Reason, barrier: Reason, present: u32, idLength: u32, textBytes: u32, prerequisites: u32,
): void {
  assert(added < candidates)
  const typed = form != Reason.unknown_type
  assert(!typed || type < typeCount())
  const at = candidateAt(added)
  fail(added, form, -1)
  store<i32>(at, -1, 8)
  store<u32>(at, 0, 12)
  store<u32>(at, scope, 16)
  store<u32>(at, barrier, 20)
  let slot = NOWHERE
  if (form == Reason.none) {
    slot = take()
    store<u32>(
      at,
      writeRecord(
        recordOf(slot), agent, generation, snapshot, planLength, type, present, idLength, textBytes, prerequisites,
      ),
      24,
    )
    judgeBounds(added, type, recordOf(slot))
  }
  // What has no type might have been an action.
  const flags = (reasonOf(added) == Reason.none ? JUDGED : 0) | (!typed || isAction(type) ? OPEN_ACTION : 0)
  addNode(slot, typed ? type : 0xff, flags, 0)
  addEdges(prerequisites)
  added++
}

/** Step 1, the type's part: every bound of the payload. */
function judgeBounds(i: u32, type: u32, record: usize): void {
  see(record, type, now)
  for (let bound: u32 = 0; bound < clauseCount(type, Role.bounds); bound++) {
    if (holds(clauseOf(type, Role.bounds, bound))) continue
    fail(i, Reason.payload_invalid, bound)
    return
  }
}

/** The next standing component, after all candidates. */
export function addStanding(sequence: u32, prerequisites: u32): void {
  assert(added >= candidates && added < candidates + standings)
  const slot = find(sequence)
  assert(slot != NOWHERE)
  const type = typeOf(slot)
  addNode(slot, type, JUDGED | (isAction(type) && reachedBy(slot) != Phase.completed ? OPEN_ACTION : 0), 0)
  addEdges(prerequisites)
  added++
}

/** The same for one that was released and has left the ledger, of a type that can do without its record. */
export function addSettled(sequence: u32, type: u32): void {
  assert(added >= candidates && added < candidates + standings)
  assert(isForgotten(sequence) && type < typeCount() && settles(type))
  addNode(settledSlot(type), type, JUDGED, sequence)
  added++
}

export function isAction(type: u32): bool {
  return kindOf(type) == Kind.command || kindOf(type) == Kind.setpoint
}

/** Judges what was added. What it retains is not bound yet: `bindRetained` follows, whatever was said. */
export function judge(): void {
  assert(added == candidates + standings && !judged)
  judged = true
  commit()
  markCycles()
  markRests()
  look(now)
  for (let i: u32 = 0; i < candidates; i++) if (reasonOf(i) == Reason.none) judgeOne(i)
  close()
}

/** Steps 2 to 4 of a candidate that passed step 1. */
function judgeOne(i: u32): void {
  judgeGraph(i)
  if (reasonOf(i) != Reason.none) return
  const scope = load<u32>(candidateAt(i), 16)
  const barrier = load<u32>(candidateAt(i), 20)
  if (scope != Reason.none) return fail(i, scope, -1)
  if (barrier != Reason.none) return fail(i, barrier, -1)

  const type = nodeType(i)
  const record = recordOf(nodeSlot(i))
  const withGate = !isMarked(i, RESTS_ON_ACTION)
  let reason = unseen(type, withGate ? Role.admission_gate : Role.admission, record)
  if (reason == Reason.none) reason = changed(type, record)
  if (reason == Reason.none) {
    see(record, type, now)
    reason = unsupported(type, withGate)
  }
  if (reason != Reason.none) fail(i, reason, detailOf())
}

/** Step 2. A prerequisite that failed step 1 is not judged: it may be named, and counts as the type that it claims. */
function judgeGraph(i: u32): void {
  const type = nodeType(i)
  const begin = rowBegin(i)
  const end = rowEnd(i)
  let refused: i32 = -1
  for (let edge = begin; edge < end; edge++) {
    const to = prerequisite(edge)
    if (to == UNKNOWN) return fail(i, Reason.unknown_prerequisite, edge - begin)
    if (refused >= 0 || !isMarked(to, JUDGED) || phaseNeeded(type, nodeType(to)) != Phase.none) continue
    refused = edge - begin
  }
  if (refused >= 0) return fail(i, Reason.prerequisite_not_allowed, refused)
  for (let r: u32 = 0; r < requiresCount(type); r++) {
    const wanted = requiresOf(type, r)
    let named = false
    for (let edge = begin; edge < end && !named; edge++) {
      const found = nodeType(prerequisite(edge))
      named = found == wanted || found == 0xff
    }
    if (!named) return fail(i, Reason.prerequisite_missing, wanted)
  }
  if (isMarked(i, ON_CYCLE)) fail(i, Reason.prerequisite_cycle, -1)
}

/** Step 5: the greatest fixed point (G1, G6). A standing component never falls. */
function close(): void {
  let tail: u32 = 0
  let head: u32 = 0
  for (let root: u32 = 0; root < candidates; root++) {
    const reason = reasonOf(root)
    if (reason == Reason.none || reason == Reason.prerequisite_withheld) continue
    turn()
    tail = lose(root, root, tail)
    for (; head < tail; head++) tail = lose(work(head), root, tail)
  }
  assert(tail <= candidates)
}

/** Strikes out the candidates that name `gone`, unless they were struck out already. */
function lose(gone: u32, root: u32, tail: u32): u32 {
  for (let edge = backBegin(gone); edge < backEnd(gone); edge++) {
    const i = dependent(edge)
    if (i >= candidates || load<i32>(candidateAt(i), 8) != -1) continue
    store<i32>(candidateAt(i), root, 8)
    // A root that rests on another root keeps its own reason; what rests on it also rests on the earlier one.
    if (reasonOf(i) == Reason.none) fail(i, Reason.prerequisite_withheld, -1)
    setWork(tail++, i)
  }
  return tail
}

/** Sequences in the response's order, then the prerequisites' ones, then b_e. The others give back their slots. */
export function bindRetained(): void {
  assert(judged)
  judged = false
  for (let i: u32 = 0; i < candidates; i++) {
    const slot = nodeSlot(i)
    const at = candidateAt(i)
    if (reasonOf(i) == Reason.none) {
      const sequence = retain(slot, nodeType(i), load<u32>(at, 24), rowEnd(i) - rowBegin(i))
      writeSequence(recordOf(slot), sequence)
      store<u32>(at, sequence, 12)
    } else {
      if (slot != NOWHERE) giveBack(slot)
      if (reasonOf(i) != Reason.prerequisite_withheld) store<i32>(at, -1, 8)
    }
  }
  for (let i: u32 = 0; i < candidates; i++) {
    if (reasonOf(i) != Reason.none) continue
    const slot = nodeSlot(i)
    const record = recordOf(slot)
    const type = recordType(record)
    const begin = rowBegin(i)
    for (let edge = begin; edge < rowEnd(i); edge++) {
      const to = prerequisite(edge)
      const named = nodeSlot(to)
      const sequence = isSettled(named) ? nodeIndex(to) : sequenceOf(named)
      // INVARIANT (G1): what a retained component rests on is retained, standing or settled, so it has a sequence.
      assert(sequence != 0)
      writePrerequisite(record, type, edge - begin, sequence, phaseNeeded(type, nodeType(to)), named)
    }
    bind(record, load<u32>(candidateAt(i), 24), digestOf(slot))
  }
  sha256Rest()
}
