// Directed graphs of a few components, every one of a size: `rows[i]` is the set of what i rests on, as bits.

export type Rows = readonly number[]

export const has = (set: number, i: number): boolean => ((set >>> i) & 1) === 1
/** The first member, or -1. */
export const lowest = (set: number): number => (set === 0 ? -1 : 31 - Math.clz32(set & -set))

export function bits(set: number): number[] {
  const found: number[] = []
  for (let rest = set; rest !== 0; rest &= rest - 1) found.push(lowest(rest))
  return found
}

/** Everything that i rests on, through others too; i itself where it is on a cycle. */
export function closure(rows: Rows): number[] {
  const below = [...rows]
  for (let k = 0; k < rows.length; k++)
    for (let i = 0; i < rows.length; i++) if (has(below[i]!, k)) below[i]! |= below[k]!
  return below
}

/** How many labelled directed acyclic graphs there are of 0, 1, 2, ... components (OEIS A003024). */
export const DAGS: readonly number[] = [1, 1, 3, 25, 543, 29_281, 3_781_503]

/**
 * Every labelled directed acyclic graph, each once: the last component joins each graph of the others, resting on any of
 * them, while any rest on it that it does not rest on.
 */
export function* dags(components: number): Generator<Rows> {
  if (components === 0) return yield []
  const last = components - 1
  for (const rows of dags(last)) {
    const below = closure(rows)
    for (let requires = 0; requires < 1 << last; requires++) {
      const restsOn = bits(requires).reduce((set, i) => set | below[i]!, requires)
      const free = ((1 << last) - 1) & ~restsOn
      for (let dependents = free; ; dependents = (dependents - 1) & free) {
        yield [...rows.map((row, i) => row | (Number(has(dependents, i)) << last)), requires]
        if (dependents === 0) break
      }
    }
  }
}

/** Every directed graph, self-loops included: 2^(n^2) of them. The rows are the digits of a number: a stride should be odd. */
export function* digraphs(components: number): Generator<Rows> {
  for (let code = 0; code < 2 ** (components ** 2); code++)
    yield Array.from({ length: components }, (_, i) => Math.floor(code / 2 ** (components * i)) % 2 ** components)
}

/** Every `stride`-th of them, from the `first`-th. */
export function* every(stride: number, graphs: Iterable<Rows>, first = 0): Generator<Rows> {
  let i = 0
  for (const rows of graphs) if (i++ % stride === first) yield rows
}
