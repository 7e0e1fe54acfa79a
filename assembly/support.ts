// Whether the world supports a component (PROTOCOL 5 step 4, PROTOCOL 7): first every field of the footprint must be seen,
// then what is watched must be unchanged, then every clause must hold. Each function returns the reason that speaks against
// it, or none, and leaves the field or clause in `detailOf()`.

import { boundValidity, boundVersion } from './binding'
import {
  citedCount, citedOf, clauseCount, clauseOf, readsCited, readsKnown, readsNow, Role, watchCount, watchOf,
} from './catalog'
import { holds } from './program'
import { Reason } from './reason'
import { knownNow, maskWords, usableNow, Validity, versionOf } from './state'

let detail: i32 = -1

export function detailOf(): i32 {
  return detail
}

const NO_FIELD: u32 = 256

/** state_unknown with the lowest such field, else state_stale with the lowest such field, else none. `look` came before. */
export function unseen(type: u32, role: Role, record: usize): Reason {
  let unknown = NO_FIELD
  let stale = NO_FIELD
  for (let word: u32 = 0; word < maskWords(); word++) {
    const fresh = readsNow(type, role, word)
    const gone = (fresh | readsKnown(type, role, word)) & ~knownNow(word)
    const old = fresh & ~usableNow(word)
    if (gone != 0 && unknown == NO_FIELD) unknown = (word << 6) + <u32>ctz<u64>(gone)
    if (old != 0 && stale == NO_FIELD) stale = (word << 6) + <u32>ctz<u64>(old)
  }
  for (let i: u32 = 0; i < citedCount(type); i++) {
    const field = citedOf(type, i)
    if (!readsCited(type, role, field)) continue
    const validity = boundValidity(record, type, i)
    if (validity == Validity.unknown) unknown = min(unknown, field)
    else if (validity != Validity.usable) stale = min(stale, field)
  }
  if (unknown != NO_FIELD) {
    detail = unknown
    return Reason.state_unknown
  }
  if (stale != NO_FIELD) {
    detail = stale
    return Reason.state_stale
  }
  return Reason.none
}

/** changed, with the first watched field whose version is not the cited one. */
export function changed(type: u32, record: usize): Reason {
  for (let i: u32 = 0; i < watchCount(type); i++) {
    const field = watchOf(type, i)
    if (versionOf(field) != boundVersion(record, type, field)) {
      detail = field
      return Reason.changed
    }
  }
  return Reason.none
}

/** Index of the first clause of the role that does not hold, or -1. `see` and `unseen` came before. */
export function firstFallen(type: u32, role: Role): i32 {
  const count = clauseCount(type, role)
  for (let i: u32 = 0; i < count; i++) if (!holds(clauseOf(type, role, i))) return i
  return -1
}

/** unsupported, with the first support clause, or then gate clause, that does not hold. */
export function unsupported(type: u32, withGate: bool): Reason {
  detail = firstFallen(type, Role.support)
  if (detail >= 0) return Reason.unsupported
  if (!withGate) return Reason.none
  const fallen = firstFallen(type, Role.gate)
  if (fallen < 0) return Reason.none
  detail = <i32>clauseCount(type, Role.support) + fallen
  return Reason.unsupported
}
