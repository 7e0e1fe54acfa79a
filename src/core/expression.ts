// The tree between CEL text and the core's programs: what a clause or a value in a frame computes (PROTOCOL 3).
//
// The catalog's checker makes it, the core's encoder turns it into a program, and the naive oracle walks it. Every value is
// a double; a boolean is 0 or 1; an enumeration member is its number. Nothing here can fail, loop or allocate: what is not
// finite, unknown, stale or absent makes the whole expression not hold.

export type Expression =
  | { readonly op: 'number'; readonly value: number }
  /** `state.<field>` in the present; the field must be known and fresh. */
  | { readonly op: 'now'; readonly field: number }
  /** `cited.<field>`: the same at the cited snapshot. */
  | { readonly op: 'cited'; readonly field: number }
  /** `age(state.<field>)`, ms since receipt; the field must be known, not fresh. */
  | { readonly op: 'age'; readonly field: number }
  /** `unchanged(state.<field>)`, discrete fields: 1 while the version is the cited one. Both tenses. */
  | { readonly op: 'unchanged'; readonly field: number }
  /** `drift(state.<field>)`: |now - cited|; an angle (deg) the short way round. Both tenses. */
  | { readonly op: 'drift'; readonly field: number; readonly angle: boolean }
  /** `payload.<name>` by slot. Absent: not finite, unless `guarded` by a `has` around it, then 0. */
  | { readonly op: 'payload'; readonly slot: number; readonly guarded: boolean }
  | { readonly op: 'has'; readonly slot: number }
  /** `payload.<name> == "value"`, strings only: 1 or 0. Absent: as for `payload`. */
  | { readonly op: 'text'; readonly slot: number; readonly value: string; readonly guarded: boolean }
  /** The length of a string in bytes of UTF-8, for payload bounds only. Absent: as for `payload`. */
  | { readonly op: 'length'; readonly slot: number; readonly guarded: boolean }
  /** `elapsed()`, ms since the first frame: in `done` only. */
  | { readonly op: 'elapsed' }
  /** The autopilot's system (0) or component (1) id: in frames only. */
  | { readonly op: 'target'; readonly part: 0 | 1 }
  | { readonly op: UnaryOp; readonly args: readonly [Expression] }
  | { readonly op: BinaryOp; readonly args: readonly [Expression, Expression] }
  /** `a ? b : c`: both branches are evaluated. */
  | { readonly op: 'select'; readonly args: readonly [Expression, Expression, Expression] }
  /** `distance(lat, lon, lat, lon)`, degrees in, metres out, great circle. */
  | { readonly op: 'distance'; readonly args: readonly [Expression, Expression, Expression, Expression] }

export type UnaryOp = 'neg' | 'not' | 'abs'
export type BinaryOp =
  | 'add'
  | 'sub'
  | 'mul'
  | 'div'
  | 'min'
  | 'max'
  | 'lt'
  | 'le'
  | 'gt'
  | 'ge'
  | 'eq'
  | 'ne'
  | 'and'
  | 'or'

/** Mean Earth radius of `distance`, m. */
export const EARTH_RADIUS_M = 6371008.8

/** The fields an expression reads, per tense: `now` must be fresh, `known` only known, `cited` fresh at the snapshot. */
export interface Reads {
  readonly now: ReadonlySet<number>
  readonly known: ReadonlySet<number>
  readonly cited: ReadonlySet<number>
}

/** It reads what was bound, the payload or the cited snapshot, and not the present alone. */
export function readsRecord(expression: Expression): boolean {
  switch (expression.op) {
    case 'payload':
    case 'has':
    case 'text':
    case 'length':
    case 'cited':
    case 'unchanged':
    case 'drift':
      return true
    default:
      return 'args' in expression && expression.args.some(readsRecord)
  }
}

/** Derived syntactically: a field that is named is read, whether or not a branch would have been taken (PROTOCOL 2). */
export function reads(...expressions: readonly Expression[]): Reads {
  const now = new Set<number>()
  const known = new Set<number>()
  const cited = new Set<number>()
  const visit = (e: Expression): void => {
    switch (e.op) {
      case 'now':
        now.add(e.field)
        break
      case 'cited':
        cited.add(e.field)
        break
      case 'age':
        known.add(e.field)
        break
      case 'unchanged':
      case 'drift':
        now.add(e.field)
        cited.add(e.field)
        break
      default:
        if ('args' in e) for (const arg of e.args) visit(arg)
    }
  }
  for (const e of expressions) visit(e)
  return { now, known, cited }
}
