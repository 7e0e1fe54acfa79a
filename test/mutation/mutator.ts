// Mutants of the core: its source with one mistake in it that a person could make. Tests that guard the core fail on every
// one, but for those that mean the same. AssemblyScript is parsed as the TypeScript that it looks like.
//
// Never changed, since it would only renumber what the host reads from the module, or move memory: enumerations; at the top
// level addresses, offsets (`usize`) and tables; and where an access goes: the address and the offset of a load, store or
// copy, and functions that return an address.

import ts, { SyntaxKind } from 'typescript'

export type Operator = 'comparison' | 'boundary' | 'arithmetic' | 'constant' | 'check' | 'condition' | 'statement'

export interface Mutant {
  /** `file function: before → after`, numbered where that stands there more than once: it survives a moved line. */
  readonly id: string
  readonly file: string
  readonly operator: Operator
  /** From 1. */
  readonly line: number
  /** The whole file, with the mistake. */
  readonly source: string
}

const SWAPS: readonly (readonly [Operator, SyntaxKind, string])[] = [
  ['comparison', SyntaxKind.EqualsEqualsToken, '!='],
  ['comparison', SyntaxKind.ExclamationEqualsToken, '=='],
  ['boundary', SyntaxKind.LessThanToken, '<='],
  ['boundary', SyntaxKind.LessThanEqualsToken, '<'],
  ['boundary', SyntaxKind.GreaterThanToken, '>='],
  ['boundary', SyntaxKind.GreaterThanEqualsToken, '>'],
  ['arithmetic', SyntaxKind.PlusToken, '-'],
  ['arithmetic', SyntaxKind.MinusToken, '+'],
  ['arithmetic', SyntaxKind.AsteriskToken, '/'],
  ['arithmetic', SyntaxKind.SlashToken, '*'],
  ['arithmetic', SyntaxKind.PercentToken, '*'],
  ['arithmetic', SyntaxKind.AmpersandToken, '|'],
  ['arithmetic', SyntaxKind.BarToken, '&'],
  ['arithmetic', SyntaxKind.CaretToken, '|'],
  ['arithmetic', SyntaxKind.LessThanLessThanToken, '>>>'],
  ['arithmetic', SyntaxKind.GreaterThanGreaterThanGreaterThanToken, '<<'],
  ['arithmetic', SyntaxKind.PlusEqualsToken, '-='],
  ['arithmetic', SyntaxKind.MinusEqualsToken, '+='],
  ['arithmetic', SyntaxKind.BarEqualsToken, '&='],
]

const UNARY: ReadonlyMap<SyntaxKind, string> = new Map([
  [SyntaxKind.PlusPlusToken, '--'],
  [SyntaxKind.MinusMinusToken, '++'],
  [SyntaxKind.ExclamationToken, ''],
  [SyntaxKind.MinusToken, ''],
  [SyntaxKind.TildeToken, ''],
])

/** All mutants of a file, in the order of its source. */
export function mutantsOf(file: string, source: string): Mutant[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.ES2022, true)
  const found: Mutant[] = []
  const times = new Map<string, number>()

  /** Writes `after` for `node`; the id shows the change within `shown`. */
  const mutate = (operator: Operator, node: ts.Node, after: string, shown: ts.Node = node): void => {
    const [start, end] = [node.getStart(tree), node.end]
    const [from, to] = [shown.getStart(tree), shown.end]
    const changed = brief(source.slice(from, start) + after + source.slice(end, to))
    const name = `${file} ${scopeOf(node)}: ${brief(shown.getText(tree))} → ${changed}`
    const time = (times.get(name) ?? 0) + 1
    times.set(name, time)
    found.push({
      id: time === 1 ? name : `${name} (${time})`,
      file,
      operator,
      line: tree.getLineAndCharacterOfPosition(start).line + 1,
      source: source.slice(0, start) + after + source.slice(end),
    })
  }

  const visit = (node: ts.Node): void => {
    if (isLayout(node)) return
    if (ts.isBinaryExpression(node)) {
      const { left, right, operatorToken } = node
      for (const [operator, kind, after] of SWAPS) {
        if (operatorToken.kind === kind) mutate(operator, operatorToken, after, node)
      }
      if (operatorToken.kind === SyntaxKind.AmpersandAmpersandToken || operatorToken.kind === SyntaxKind.BarBarToken) {
        for (const operand of [left, right]) mutate('check', node, operand.getText(tree))
      }
    }
    if (ts.isPrefixUnaryExpression(node) && !ts.isNumericLiteral(node.operand)) {
      mutate('arithmetic', node, `${UNARY.get(node.operator)}${node.operand.getText(tree)}`)
    }
    if (ts.isPostfixUnaryExpression(node)) {
      mutate('arithmetic', node, `${node.operand.getText(tree)}${UNARY.get(node.operator)}`)
    }
    if (ts.isNumericLiteral(node)) mutate('constant', node, successor(node.getText(tree)), node.parent)
    if (node.kind === SyntaxKind.TrueKeyword) mutate('constant', node, 'false', node.parent)
    if (node.kind === SyntaxKind.FalseKeyword) mutate('constant', node, 'true', node.parent)
    if (ts.isIfStatement(node)) for (const truth of ['true', 'false']) mutate('condition', node.expression, truth)
    if (ts.isConditionalExpression(node))
      for (const truth of ['true', 'false']) mutate('condition', node.condition, truth)
    // A loop without an end is no mistake worth waiting for: only one that never runs.
    if (ts.isForStatement(node) && node.condition) mutate('condition', node.condition, 'false')
    if (ts.isWhileStatement(node)) mutate('condition', node.expression, 'false')
    if (ts.isExpressionStatement(node)) mutate(isAssertion(node) ? 'check' : 'statement', node, ';')
    node.forEachChild(visit)
  }
  visit(tree)
  return found
}

function isLayout(node: ts.Node): boolean {
  if (ts.isEnumDeclaration(node)) return true
  if (ts.isFunctionDeclaration(node)) return node.type?.getText() === 'usize'
  if (ts.isCallExpression(node.parent ?? node)) return isPlace(node, node.parent as ts.CallExpression)
  if (!ts.isVariableStatement(node) || !ts.isSourceFile(node.parent)) return false
  return node.declarationList.declarations.every(
    ({ type, initializer }) => type?.getText() === 'usize' || (initializer && ts.isCallExpression(initializer)),
  )
}

/** Which arguments say where, by the name of the call. */
const PLACES: ReadonlyMap<string, readonly number[]> = new Map([
  ['load', [0, 1]],
  ['store', [0, 2]],
  ['memory.copy', [0, 1]],
  ['memory.fill', [0]],
  ['memory.compare', [0, 1]],
])

function isPlace(node: ts.Node, { expression, arguments: all }: ts.CallExpression): boolean {
  return PLACES.get(expression.getText())?.includes(all.indexOf(node as ts.Expression)) ?? false
}

function isAssertion({ expression }: ts.ExpressionStatement): boolean {
  return ts.isCallExpression(expression) && expression.expression.getText() === 'assert'
}

/** The function around it, or `top`. */
function scopeOf(node: ts.Node): string {
  const around = ts.findAncestor(node, ts.isFunctionDeclaration)
  return around?.name?.text ?? 'top'
}

/** The number after a literal; after 1 it is 0. */
function successor(literal: string): string {
  if (literal === '1') return '0'
  if (/^(0x.*|\d+)$/.test(literal)) return String(BigInt(literal) + 1n)
  const next = String(Number(literal) + 1)
  return next.includes('.') ? next : `${next}.0`
}

function brief(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > 100 ? `${line.slice(0, 99)}…` : line
}
