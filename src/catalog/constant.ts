// A clause as agents and people read it: a constant is its value, since nobody but the catalog's author knows its name.

/** Texts, in which nothing is a name, and `constants.NAME` that is no part of a longer name. */
const NAMED = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?<![\w.]|\.\s+)constants\s*\.\s*([A-Za-z_][A-Za-z0-9_]*)/g

/** The text of a clause that compiles, with each constant's value in its place. */
export function inlined(text: string, constants: ReadonlyMap<string, number | boolean>): string {
  return text.replace(NAMED, (whole, name: string | undefined) => {
    const value = name === undefined ? undefined : constants.get(name)
    if (value === undefined) return whole
    return typeof value === 'number' && value < 0 ? `(${value})` : String(value)
  })
}
