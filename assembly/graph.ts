// The prerequisites of one admission as compressed rows, both ways (PROTOCOL 5, step 2). Nodes are the candidates, then the
// standing components. Each edge is proven as it is added; afterwards no walk checks it again.

import {
  BACK_COLUMNS_AT, BACK_ROWS_AT, COLUMNS_AT, NODE_BYTES, NODES_AT, ROWS_AT, WORKLIST_AT,
} from './layout'
import { EDGES_MAX, NODES_MAX } from './limits'

/** A column that names nothing. */
export const UNKNOWN: u32 = 0xffff

let nodes: u32 = 0
let announced: u32 = 0  // nodes in all,
let candidates: u32 = 0 // of which so many come first
let committed: bool = false
let turned: bool = false
/** Every edge leads to a node of lower rank: then there is no cycle to look for. */
let descends: bool = false

// A node:  slot u16 · type u8 · flags u8 · index u32 · low u32 · next edge u32 · caller u32 · below on the stack u32
//
// Of a settled one the index is its sequence: nothing stands behind it, so no walk for cycles has to visit it.

/** It takes part in step 2: it is standing, or passed step 1. */
export const JUDGED: u32 = 1
/** An action that is not completed. */
export const OPEN_ACTION: u32 = 2
/** It rests, transitively, on an open action. */
export const RESTS_ON_ACTION: u32 = 4
/** It is on a cycle. */
export const ON_CYCLE: u32 = 8
const ON_STACK: u32 = 16

// @ts-ignore: decorator
@inline
function nodeAt(node: u32): usize {
  return NODES_AT + <usize>node * NODE_BYTES
}
// @ts-ignore: decorator
@inline
export function nodeSlot(node: u32): u32 {
  return load<u16>(nodeAt(node))
}
// @ts-ignore: decorator
@inline
export function nodeIndex(node: u32): u32 {
  return load<u32>(nodeAt(node), 4)
}
// @ts-ignore: decorator
@inline
export function nodeType(node: u32): u32 {
  return load<u8>(nodeAt(node), 2)
}
// @ts-ignore: decorator
@inline
export function isMarked(node: u32, flag: u32): bool {
  return (load<u8>(nodeAt(node), 3) & flag) != 0
}
// @ts-ignore: decorator
@inline
export function setMark(node: u32, flag: u32): void {
  store<u8>(nodeAt(node), load<u8>(nodeAt(node), 3) | flag, 3)
}
// @ts-ignore: decorator
@inline
function clearMark(node: u32, flag: u32): void {
  store<u8>(nodeAt(node), load<u8>(nodeAt(node), 3) & ~flag, 3)
}

// @ts-ignore: decorator
@inline
export function rowBegin(node: u32): u32 {
  return load<u32>(ROWS_AT + (<usize>node << 2))
}
// @ts-ignore: decorator
@inline
export function rowEnd(node: u32): u32 {
  return load<u32>(ROWS_AT + (<usize>node << 2), 4)
}
/** The prerequisite at an edge, or UNKNOWN. */
// @ts-ignore: decorator
@inline
export function prerequisite(edge: u32): u32 {
  return load<u16>(COLUMNS_AT + (<usize>edge << 1))
}
// @ts-ignore: decorator
@inline
export function backBegin(node: u32): u32 {
  return load<u32>(BACK_ROWS_AT + (<usize>node << 2))
}
// @ts-ignore: decorator
@inline
export function backEnd(node: u32): u32 {
  return load<u32>(BACK_ROWS_AT + (<usize>node << 2), 4)
}
/** The dependent at an edge. */
// @ts-ignore: decorator
@inline
export function dependent(edge: u32): u32 {
  return load<u16>(BACK_COLUMNS_AT + (<usize>edge << 1))
}
// @ts-ignore: decorator
@inline
export function work(i: u32): u32 {
  return load<u32>(WORKLIST_AT + (<usize>i << 2))
}
// @ts-ignore: decorator
@inline
export function setWork(i: u32, node: u32): void {
  store<u32>(WORKLIST_AT + (<usize>i << 2), node)
}

/** An empty graph, to which so many candidates and so many standing components will be added, in this order. */
export function clear(candidateCount: u32, standingCount: u32): void {
  assert(candidateCount + standingCount <= NODES_MAX)
  nodes = 0
  candidates = candidateCount
  announced = candidateCount + standingCount
  committed = false
  turned = false
  descends = true
  store<u32>(ROWS_AT, 0)
}

/** The next node; its edges follow. `index` is 0 but for a settled one. */
export function addNode(slot: u32, type: u32, flags: u32, index: u32): void {
  assert(!committed && nodes < announced)
  const at = nodeAt(nodes)
  store<u16>(at, <u16>slot)
  store<u8>(at, <u8>type, 2)
  store<u8>(at, <u8>flags, 3)
  store<u32>(at, index, 4)
  store<u32>(ROWS_AT + (<usize>(nodes + 1) << 2), rowBegin(nodes))
  nodes++
}

/** An edge of the node added last, to any that was announced, or to UNKNOWN. */
export function addEdge(to: u32): void {
  assert(!committed && nodes > 0 && (to < announced || to == UNKNOWN))
  const node = nodes - 1
  const edge = rowEnd(node)
  assert(edge < EDGES_MAX)
  store<u16>(COLUMNS_AT + (<usize>edge << 1), <u16>to)
  store<u32>(ROWS_AT + (<usize>nodes << 2), edge + 1)
  if (to == UNKNOWN) return
  descends = descends && rank(to) < rank(node)
  // Where all edges descend, a standing component's prerequisites were marked before it.
  if (to < node && isMarked(to, OPEN_ACTION | RESTS_ON_ACTION)) setMark(node, RESTS_ON_ACTION)
}

/** Standing components first, then the candidates. */
// @ts-ignore: decorator
@inline
function rank(node: u32): u32 {
  return node < candidates ? node + announced : node
}

/** Everything that was announced has been added. */
export function commit(): void {
  assert(nodes == announced)
  committed = true
}

/** Turns the edges round: `dependent` holds from here on. Where all edges descend and nothing falls, nobody asks. */
export function turn(): void {
  assert(committed)
  if (turned) return
  turned = true
  for (let node: u32 = 0; node <= nodes + 1; node++) store<u32>(BACK_ROWS_AT + (<usize>node << 2), 0)
  for (let edge: u32 = 0; edge < rowBegin(nodes); edge++) {
    const to = prerequisite(edge)
    if (to == UNKNOWN) continue
    const count = BACK_ROWS_AT + (<usize>(to + 2) << 2)
    store<u32>(count, load<u32>(count) + 1)
  }
  // Counts become beginnings, shifted by one row; filling a row moves its beginning to where the next one expects it.
  for (let node: u32 = 2; node <= nodes + 1; node++) {
    const at = BACK_ROWS_AT + (<usize>node << 2)
    store<u32>(at, load<u32>(at) + load<u32>(at - 4))
  }
  for (let node: u32 = 0; node < nodes; node++) {
    for (let edge = rowBegin(node); edge < rowEnd(node); edge++) {
      const to = prerequisite(edge)
      if (to == UNKNOWN) continue
      const row = BACK_ROWS_AT + (<usize>(to + 1) << 2)
      const back = load<u32>(row)
      store<u16>(BACK_COLUMNS_AT + (<usize>back << 1), <u16>node)
      store<u32>(row, back + 1)
    }
  }
}

/** Marks what rests on an open action: also on one that failed step 1, with which it falls. Each node is visited once. */
export function markRests(): void {
  assert(committed)
  if (descends) return markDescending()
  turn()
  let tail: u32 = 0
  for (let node: u32 = 0; node < nodes; node++) {
    if (isMarked(node, OPEN_ACTION | RESTS_ON_ACTION)) setWork(tail++, node)
  }
  // What is in the list already need not be visited again, only marked.
  for (let head: u32 = 0; head < tail; head++) {
    const node = work(head)
    for (let edge = backBegin(node); edge < backEnd(node); edge++) {
      const above = dependent(edge)
      if (isMarked(above, RESTS_ON_ACTION)) continue
      setMark(above, RESTS_ON_ACTION)
      if (!isMarked(above, OPEN_ACTION)) setWork(tail++, above)
    }
  }
  assert(tail <= nodes)
}

/** The standing components are marked, and what a candidate rests on comes before it. */
function markDescending(): void {
  for (let node: u32 = 0; node < candidates; node++) {
    for (let edge = rowBegin(node); edge < rowEnd(node); edge++) {
      const to = prerequisite(edge)
      if (to == UNKNOWN || !isMarked(to, OPEN_ACTION | RESTS_ON_ACTION)) continue
      setMark(node, RESTS_ON_ACTION)
      break
    }
  }
}

/** Marks every judged node on a cycle of judged nodes, self-references included: Tarjan's components, without recursion. */
export function markCycles(): void {
  assert(committed)
  if (descends) return
  let visited: u32 = 0
  for (let root: u32 = 0; root < nodes; root++) {
    if (!isMarked(root, JUDGED) || load<u32>(nodeAt(root), 4) != 0) continue
    let top: u32 = UNKNOWN // of the stack of open components
    let node = root
    visited = enter(node, visited, UNKNOWN)
    store<u32>(nodeAt(node), top, 20)
    top = node
    while (node != UNKNOWN) {
      const at = nodeAt(node)
      const edge = load<u32>(at, 12)
      if (edge < rowEnd(node)) {
        store<u32>(at, edge + 1, 12)
        const to = prerequisite(edge)
        if (to == UNKNOWN || !isMarked(to, JUDGED)) continue
        if (to == node) setMark(node, ON_CYCLE)
        if (load<u32>(nodeAt(to), 4) == 0) {
          visited = enter(to, visited, node)
          store<u32>(nodeAt(to), top, 20)
          top = to
          node = to
        } else if (isMarked(to, ON_STACK)) {
          store<u32>(at, min(load<u32>(at, 8), load<u32>(nodeAt(to), 4)), 8)
        }
        continue
      }
      const low = load<u32>(at, 8)
      if (low == load<u32>(at, 4)) {
        // `node` is the root of a component: all above it on the stack. More than one node is a cycle.
        const single = top == node
        for (;;) {
          const member = top
          top = load<u32>(nodeAt(member), 20)
          clearMark(member, ON_STACK)
          if (!single) setMark(member, ON_CYCLE)
          if (member == node) break
        }
      }
      const caller = load<u32>(at, 16)
      if (caller != UNKNOWN) store<u32>(nodeAt(caller), min(load<u32>(nodeAt(caller), 8), low), 8)
      node = caller
    }
    assert(top == UNKNOWN)
  }
}

function enter(node: u32, visited: u32, caller: u32): u32 {
  const at = nodeAt(node)
  store<u32>(at, visited + 1, 4)
  store<u32>(at, visited + 1, 8)
  store<u32>(at, rowBegin(node), 12)
  store<u32>(at, caller, 16)
  setMark(node, ON_STACK)
  return visited + 1
}
