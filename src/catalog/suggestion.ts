// "did you mean ...?": the nearest of the names that would have been right.

/** ` (did you mean \`x\`?)`, or nothing where no name is near, or the name is right and stands in the wrong place. */
export function suggestion(wrong: string, names: Iterable<string>): string {
  let nearest: string | undefined
  let least = Math.max(2, Math.floor(wrong.length / 3)) + 1
  for (const name of names) {
    const distance = edits(wrong, name)
    if (distance < least) [nearest, least] = [name, distance]
  }
  return nearest === undefined || nearest === wrong ? '' : ` (did you mean \`${nearest}\`?)`
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
