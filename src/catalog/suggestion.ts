// "did you mean ...?": the nearest of the names that would have been right.

/** Of the names that begin alike, so many are told where none is near. */
const ALIKE_MOST = 4

/**
 * ` (did you mean \`x\`?)`; where no name is near, those that begin alike up to a dot; or nothing, also where the name is right and
 * stands in the wrong place.
 */
export function suggestion(wrong: string, names: Iterable<string>): string {
  let nearest: string | undefined
  let least = Math.max(2, Math.floor(wrong.length / 3)) + 1
  for (const name of names) {
    const distance = edits(wrong, name)
    if (distance < least) [nearest, least] = [name, distance]
  }
  if (nearest === undefined) return alike(wrong, names)
  return nearest === wrong ? '' : ` (did you mean \`${nearest}\`?)`
}

/** `battery.percent` has no near name, and `battery.remaining` begins as it does. */
function alike(wrong: string, names: Iterable<string>): string {
  const [group, rest] = wrong.split('.')
  if (rest === undefined) return ''
  const found = [...names].filter((name) => name.startsWith(`${group}.`)).slice(0, ALIKE_MOST)
  return found.length === 0 ? '' : ` (there is ${found.map((name) => `\`${name}\``).join(', ')})`
}

/** Levenshtein's distance. */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    row = next
  }
  return row[b.length]!
}
