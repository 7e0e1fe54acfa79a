// The text of a catalog and where everything stands in it: YAML 1.2, and the line and column of every mistake.

import { isAlias, isCollection, isMap, isScalar, LineCounter, type Node, parseDocument, type Scalar, visit } from 'yaml'
import type { Problem } from './catalog.ts'

export type Path = readonly PropertyKey[]

/** What a problem is about: the value at a path, or its key. */
export type Part = 'value' | 'key'

export class Source {
  /** The document as plain values; undefined where the YAML itself is wrong. */
  readonly value: unknown
  readonly problems: Problem[] = []
  /** What may stand there, and is hardly meant. */
  readonly warnings: Problem[] = []
  readonly #text: string
  readonly #file: string
  readonly #lines = new LineCounter()
  readonly #document

  constructor(text: string, file: string) {
    this.#text = text
    this.#file = file
    this.#document = parseDocument(text, { lineCounter: this.#lines, version: '1.2', prettyErrors: false })
    // A warning is an error here: an unquoted clause that begins with `!` would become a tag and lose its first word.
    const problems = [...this.#document.errors, ...this.#document.warnings]
    const tabs = problems.filter(({ code }) => code === 'TAB_AS_INDENT')
    if (tabs.length > 0) {
      // Whatever else is wrong is so because of them.
      const more = tabs.length - 1
      const lines = more === 0 ? '' : more === 1 ? '; so does 1 line more' : `; so do ${more} lines more`
      this.#report(tabs[0]!.pos[0], '(yaml)', `begins with a tab, which indents nothing in YAML: use spaces${lines}`)
      return
    }
    const deep = problems.find(({ message }) => message.startsWith('Maximum call stack'))
    if (deep !== undefined) {
      this.#report(deep.pos[0], '(yaml)', 'is nested too deep to be read: nothing needs more than a few levels')
      return
    }
    for (const { code, message, pos } of problems) {
      const twice = code === 'DUPLICATE_KEY' ? this.#twice(pos[0]) : undefined
      if (twice !== undefined) {
        this.#report(pos[0], '(yaml)', `the key \`${twice.key}\` stands here again: it was given in line ${twice.line}`)
        continue
      }
      this.#report(pos[0], '(yaml)', words(code, message))
    }
    if (this.#document.contents === null) this.#report(0, '(yaml)', 'is empty: it must be a map of keys')
    this.#refuseKeys()
    if (this.problems.length > 0) return
    try {
      this.value = this.#document.toJS()
    } catch (error) {
      this.#report(0, '(yaml)', lower((error as Error).message))
    }
  }

  /** The key at an offset, and the line in which its map had it first. */
  #twice(offset: number): { readonly key: string; readonly line: number } | undefined {
    let found: { key: string; line: number } | undefined
    visit(this.#document, {
      Map: (_, { items }) => {
        const again = items.find(({ key }) => isScalar(key) && key.range?.[0] === offset)
        if (again === undefined) return
        const key = String((again.key as Scalar).value)
        const first = items.find((item) => isScalar(item.key) && String(item.key.value) === key)
        found = { key, line: this.#lines.linePos((first!.key as Scalar).range![0]).line }
        return visit.BREAK
      },
    })
    return found
  }

  /** A name that JavaScript takes for something else would vanish, with all that stands under it. */
  #refuseKeys(): void {
    visit(this.#document, {
      Pair: (_, { key }) => {
        if (!isScalar(key) || key.value !== '__proto__') return
        this.#report(key.range?.[0] ?? 0, '__proto__', 'is no name that can be used: choose another')
      },
    })
  }

  /** Records a problem with what stands at `path`, or with the nearest thing around it that does stand in the file. */
  problem(path: Path, message: string, part: Part = 'value'): void {
    this.#report(this.#offset(path, part), path.map(String).join('.'), message)
  }

  /** Records a warning in the same way. */
  warning(path: Path, message: string, part: Part = 'value'): void {
    this.#report(this.#offset(path, part), path.map(String).join('.'), message, this.warnings)
  }

  /** Records a problem inside the text of a scalar, `position` characters from its beginning. */
  problemWithin(path: Path, position: number, message: string): void {
    const node = this.#node(path)
    const offset = isScalar(node) ? within(this.#text, node, position) : this.#offset(path, 'value')
    this.#report(offset, path.map(String).join('.'), message)
  }

  #report(offset: number, key: string, message: string, list = this.problems): void {
    const { line, col } = this.#lines.linePos(offset)
    // The whole file has no key of its own.
    list.push({
      file: this.#file,
      line: Math.max(line, 1),
      column: Math.max(col, 1),
      key: key || '(yaml)',
      message,
    })
  }

  #node(path: Path): Node | undefined {
    let node = this.#document.contents as Node | undefined
    for (const step of path) {
      if (isAlias(node)) node = node.resolve(this.#document)
      node = isCollection(node) ? (node.get(step, true) as Node | undefined) : undefined
    }
    return node
  }

  #offset(path: Path, part: Part): number {
    for (let depth = path.length; depth > 0; depth--) {
      const parent = this.#node(path.slice(0, depth - 1))
      const node = this.#node(path.slice(0, depth))
      const pair =
        isMap(parent) && parent.items.find(({ key }) => isScalar(key) && String(key.value) === String(path[depth - 1]))
      const key = pair ? (pair.key as Scalar) : undefined
      // A block of keys is named by its own key: its value begins lines below.
      const at =
        key !== undefined && (part === 'key' || depth < path.length || (isCollection(node) && !node.flow))
          ? key
          : (node ?? key)
      if (at?.range) return at.range[0]
    }
    return this.#document.contents?.range?.[0] ?? 0
  }
}

const QUOTE: Readonly<Record<string, string>> = {
  TAG_RESOLVE_FAILED: 'a clause that begins with `!` is a tag in YAML: quote it',
  BLOCK_AS_IMPLICIT_KEY: 'a clause that contains `: ` is a map in YAML: quote it',
  BLOCK_IN_FLOW: 'a clause that contains `: ` is a map in YAML: quote it',
  UNEXPECTED_TOKEN: 'text after a closing quote: quote the whole clause',
}

/** What the parser says to programmers, for whoever writes the file. */
function words(code: string, message: string): string {
  if (code === 'MULTIPLE_DOCS') return 'begins a second document, and one is read: leave `---` out'
  const quote = QUOTE[code]
  return quote === undefined ? lower(message) : `${lower(message)}; ${quote}`
}

function lower(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1)
}

/**
 * Offset in the file of a position in a scalar's value. YAML folds and trims white space but leaves everything else as it
 * is, so we count what is not white space; with escapes in the text that fails, and the scalar's beginning has to do.
 */
function within(text: string, node: Scalar, position: number): number {
  const [start, end] = node.range!
  const block = node.type === 'BLOCK_FOLDED' || node.type === 'BLOCK_LITERAL'
  const quoted = node.type === 'QUOTE_SINGLE' || node.type === 'QUOTE_DOUBLE'
  const first = block ? text.indexOf('\n', start) + 1 : quoted ? start + 1 : start
  const raw = text.slice(first, quoted ? end - 1 : end)
  const value = String(node.value)
  if (raw.replace(/\s+/g, '') !== value.replace(/\s+/g, '')) return start
  let before = value.slice(0, position).replace(/\s+/g, '').length
  for (let i = 0; i < raw.length; i++) {
    if (/\s/.test(raw[i]!)) continue
    if (before-- === 0) return first + i
  }
  return start
}
