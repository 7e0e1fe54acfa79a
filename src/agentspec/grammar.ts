// The grammar of one rule, docs/agentspec.md as code (PROTOCOL 13). It builds the rule while it reads it; after a mistake it
// goes on at the next section, so that one reading finds the mistakes of all sections.

import {
  EmbeddedActionsParser,
  type IParserErrorMessageProvider,
  type IToken,
  type ParserMethod,
  type TokenType,
  tokenLabel,
} from 'chevrotain'
import { suggestion } from '../catalog/suggestion.ts'
import type {
  Enforcement,
  Invocation,
  ListValue,
  Literal,
  MapValue,
  Position,
  Question,
  Rule,
  Trigger,
  Value,
} from './rule.ts'
import * as T from './token.ts'

const DECISIONS = ['stop', 'skip', 'none'] as const
const ENFORCEMENTS = [...DECISIONS, 'user_inspection', 'llm_self_examine', 'invoke_action']
/** Words that the paper's files use for the same thing. */
const SYNONYMS = new Map([
  ['finish', 'agent_finish'],
  ['llm_self_reflect', 'llm_self_examine'],
])
const CONSTANTS = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
])

/** What a production wants, where its first word is missing. */
const WANTED: Readonly<Record<string, string>> = {
  header: 'the id of the rule',
  trigger: 'an event',
  event: 'an event',
  check: 'a predicate',
  alternative: 'a predicate',
  literal: 'a predicate',
  enforce: 'an enforcement',
  enforcement: 'an enforcement',
  value: 'a value',
  list: 'a value',
}

/** What else could have stood where only this is left. */
const CONTINUATIONS = new Map([
  [T.CheckWord, '`|` or `check`'],
  [T.EnforceWord, 'a predicate, `&`, `|` or `enforce`'],
  [T.EndWord, 'an enforcement or `end`'],
])

function sayAny(paths: readonly TokenType[][]): string {
  const words = [...new Set(paths.map(([first]) => tokenLabel(first!)))]
  return words.length === 1 ? words[0]! : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** A message of the parser is only what was expected; what stands there is added by whoever reports it. */
const expected: IParserErrorMessageProvider = {
  buildMismatchTokenMessage: ({ expected: type, ruleName }) =>
    (type === T.Name ? WANTED[ruleName] : CONTINUATIONS.get(type)) ?? tokenLabel(type),
  buildNotAllInputParsedMessage: () => '`rule`',
  buildNoViableAltMessage: ({ expectedPathsPerAlt, ruleName }) =>
    WANTED[ruleName] ?? sayAny(expectedPathsPerAlt.flat()),
  buildEarlyExitMessage: ({ expectedIterationPaths, ruleName }) => WANTED[ruleName] ?? sayAny(expectedIterationPaths),
}

/** Reads one rule at a time: set `file` and `input`, call `rule()`, then look at `errors` and `mistakes`. */
export class Grammar extends EmbeddedActionsParser {
  file = ''
  /** What the grammar allows and the language does not. */
  mistakes: { readonly token: IToken; readonly message: string }[] = []

  constructor() {
    super(T.TOKENS, { recoveryEnabled: true, maxLookahead: 2, errorMessageProvider: expected })
    this.performSelfAnalysis()
  }

  readonly rule = this.RULE('rule', (): Rule => {
    const header = this.SUBRULE(this.header)
    const triggers = this.SUBRULE(this.trigger)
    const check = this.SUBRULE(this.check)
    const enforcements = this.SUBRULE(this.enforce)
    this.CONSUME(T.EndWord)
    return { ...header, triggers, check, enforcements }
  })

  readonly header = this.RULE('header', () => {
    const start = this.CONSUME(T.RuleWord)
    this.CONSUME(T.At)
    return { id: this.CONSUME(T.Name).image, at: this.#at(start) }
  })

  readonly trigger = this.RULE('trigger', (): Trigger[] => {
    const events: Trigger[] = []
    this.CONSUME(T.TriggerWord)
    this.AT_LEAST_ONE_SEP({ SEP: T.Or, DEF: () => events.push(this.SUBRULE(this.event)) })
    return events
  })

  /** Household agents have actions of two words: `turn on`. */
  readonly event = this.#inner('event', (): Trigger => {
    const words = [this.CONSUME(T.Name)]
    this.MANY(() => words.push(this.CONSUME2(T.Name)))
    const event = words.map(({ image }) => image).join(' ')
    return { event: SYNONYMS.get(event) ?? event, at: this.#at(words[0]!) }
  })

  readonly check = this.RULE('check', (): Literal[][] => {
    const alternatives: Literal[][] = []
    this.CONSUME(T.CheckWord)
    this.AT_LEAST_ONE_SEP({ SEP: T.Or, DEF: () => alternatives.push(this.SUBRULE(this.alternative)) })
    return alternatives
  })

  readonly alternative = this.#inner('alternative', (): Literal[] => {
    const literals: Literal[] = [this.SUBRULE(this.literal)]
    this.MANY(() => {
      this.OPTION(() => this.CONSUME(T.And))
      literals.push(this.SUBRULE2(this.literal))
    })
    return literals
  })

  readonly literal = this.#inner('literal', (): Literal => {
    let first: IToken | undefined
    let negated = false
    this.MANY(() => {
      const not = this.CONSUME(T.Not)
      first ??= not
      negated = !negated
    })
    const name = this.CONSUME(T.Name)
    const list: (number | string)[] = []
    let open: IToken | undefined
    this.OPTION(() => {
      open = this.CONSUME(T.LeftParen)
      this.MANY_SEP({
        SEP: T.Comma,
        DEF: () =>
          this.OR([
            { ALT: () => list.push(this.#number(this.CONSUME(T.Num))) },
            { ALT: () => list.push(this.#text(this.CONSUME(T.Text))) },
          ]),
      })
      this.CONSUME(T.RightParen)
    })
    return this.ACTION(() => {
      const at = this.#at(first ?? name)
      const constant = CONSTANTS.get(name.image)
      if (constant === undefined) return { kind: 'predicate', negated, name: name.image, arguments: list, at }
      if (open !== undefined) this.#mistake(open, `\`${name.image}\` takes no arguments`)
      return { kind: 'constant', value: constant !== negated, at }
    })
  })

  readonly enforce = this.RULE('enforce', (): Enforcement[] => {
    const enforcements: Enforcement[] = []
    this.CONSUME(T.EnforceWord)
    this.AT_LEAST_ONE(() => enforcements.push(this.SUBRULE(this.enforcement)))
    return enforcements
  })

  readonly enforcement = this.#inner(
    'enforcement',
    (): Enforcement =>
      this.OR([
        { ALT: () => this.SUBRULE(this.assignment) },
        { ALT: () => this.SUBRULE(this.call) },
        { ALT: () => this.#word(this.CONSUME(T.Name)) },
      ]),
  )

  readonly assignment = this.#inner('assignment', (): Enforcement => {
    const first = this.CONSUME(T.Name)
    const names = [first.image]
    this.AT_LEAST_ONE(() => {
      this.CONSUME(T.Colon)
      names.push(this.CONSUME2(T.Name).image)
    })
    this.CONSUME(T.Equal)
    const value = this.#number(this.CONSUME(T.Num))
    return { kind: 'assign', setting: names.join(':'), value, at: this.#at(first) }
  })

  readonly call = this.#inner('call', (): Invocation | Question => {
    const word = this.CONSUME(T.Name)
    this.CONSUME(T.LeftParen)
    let message: IToken | undefined
    let action: IToken | undefined
    let map: MapValue | undefined
    this.OR([
      {
        ALT: () => {
          message = this.CONSUME(T.Text)
        },
      },
      {
        ALT: () => {
          action = this.CONSUME2(T.Name)
          this.OPTION(() => {
            this.CONSUME(T.Comma)
            map = this.SUBRULE(this.map)
          })
        },
      },
    ])
    this.CONSUME(T.RightParen)
    return this.ACTION(() => {
      const at = this.#at(word)
      const kind = SYNONYMS.get(word.image) ?? word.image
      if (kind === 'user_inspection' || kind === 'llm_self_examine') {
        if (message === undefined) this.#mistake(action!, `found \`${action!.image}\`, expected a string`)
        return { kind, message: message && this.#text(message), at }
      }
      if (kind !== 'invoke_action') {
        const known = ENFORCEMENTS.includes(kind)
        this.#mistake(word, known ? `\`${kind}\` takes nothing in parentheses` : unknownWord(word.image))
      } else if (action === undefined) {
        this.#mistake(message!, `found ${message!.image}, expected the name of an action`)
      }
      return { kind: 'invoke_action', action: action?.image ?? '', arguments: map ?? { kind: 'map', entries: [] }, at }
    })
  })

  readonly map = this.#inner('map', (): MapValue => {
    const entries: [string, Value][] = []
    const keys = new Set<string>()
    this.CONSUME(T.LeftBrace)
    this.MANY_SEP({
      SEP: T.Comma,
      DEF: () => {
        const token = this.CONSUME(T.Text)
        this.CONSUME(T.Colon)
        const value = this.SUBRULE(this.value)
        const key = this.#text(token)
        this.ACTION(() => {
          if (keys.has(key)) this.#mistake(token, `key ${token.image} stands here twice`)
          keys.add(key)
        })
        entries.push([key, value])
      },
    })
    this.CONSUME(T.RightBrace)
    return { kind: 'map', entries }
  })

  readonly value = this.#inner(
    'value',
    (): Value =>
      this.OR<Value>([
        { ALT: () => ({ kind: 'scalar', value: this.#text(this.CONSUME(T.Text)) }) },
        { ALT: () => ({ kind: 'scalar', value: this.#number(this.CONSUME(T.Num)) }) },
        { ALT: () => this.SUBRULE(this.map) },
        { ALT: () => this.SUBRULE(this.list) },
        { ALT: () => this.#invocation(this.SUBRULE(this.call)) },
        { ALT: () => this.SUBRULE(this.reference) },
      ]),
  )

  readonly list = this.#inner('list', (): ListValue => {
    const items: Value[] = []
    this.CONSUME(T.LeftBracket)
    this.MANY_SEP({ SEP: T.Comma, DEF: () => items.push(this.SUBRULE(this.value)) })
    this.CONSUME(T.RightBracket)
    return { kind: 'list', items }
  })

  readonly reference = this.#inner('reference', (): Value => {
    const name = this.CONSUME(T.Name)
    const path: string[] = []
    let bracket: IToken | undefined
    this.MANY(() => {
      bracket = this.CONSUME(T.LeftBracket)
      path.push(this.#text(this.CONSUME(T.Text)))
      this.CONSUME(T.RightBracket)
    })
    return this.ACTION(() => {
      if (bracket === undefined && name.image === 'null') return { kind: 'scalar', value: null }
      const constant = bracket === undefined ? CONSTANTS.get(name.image) : undefined
      if (constant !== undefined) return { kind: 'scalar', value: constant }
      return { kind: 'reference', root: name.image, path, at: this.#at(name) }
    })
  })

  /** Inside a section the first mistake ends the reading: whatever came after it would be a guess. */
  #inner<P>(name: string, production: () => P): ParserMethod<[], P> {
    return this.RULE(name, production, { resyncEnabled: false })
  }

  protected override canTokenTypeBeInsertedInRecovery(): boolean {
    return false
  }

  protected override canTokenTypeBeDeletedInRecovery(): boolean {
    return false
  }

  #word(token: IToken): Enforcement {
    return this.ACTION(() => {
      const at = this.#at(token)
      const word = SYNONYMS.get(token.image) ?? token.image
      if (word === 'user_inspection' || word === 'llm_self_examine') return { kind: word, message: undefined, at }
      const kind = DECISIONS.find((decision) => decision === word)
      if (kind !== undefined) return { kind, at }
      const bare = word === 'invoke_action' ? 'found `invoke_action` alone, expected `(`' : unknownWord(token.image)
      this.#mistake(token, bare)
      return { kind: 'stop', at }
    })
  }

  #invocation(call: Invocation | Question): Value {
    return this.ACTION(() => {
      if (call?.kind === 'invoke_action') return call
      if (call !== undefined) this.#mistakeAt(call.at, `found \`${call.kind}\`, expected a value`)
      return { kind: 'scalar', value: null }
    })
  }

  #number(token: IToken): number {
    return this.ACTION(() => {
      const value = Number(token.image)
      if (!Number.isFinite(value)) this.#mistake(token, `\`${token.image}\` is not finite`)
      return value === 0 ? 0 : value
    })
  }

  /** JSON's escapes. */
  #text(token: IToken): string {
    return this.ACTION(() => {
      try {
        return JSON.parse(token.image)
      } catch {
        this.#mistake(token, `${token.image} has an escape or a control character that JSON does not know`)
        return ''
      }
    })
  }

  #mistake(token: IToken, message: string): void {
    this.mistakes.push({ token, message })
  }

  #mistakeAt({ line, column }: Position, message: string): void {
    this.mistakes.push({ token: { startLine: line, startColumn: column } as IToken, message })
  }

  #at(token: IToken): Position {
    return { file: this.file, line: token.startLine ?? 1, column: token.startColumn ?? 1 }
  }
}

function unknownWord(word: string): string {
  return `found \`${word}\`, expected an enforcement: ${ENFORCEMENTS.join(', ')}${suggestion(word, ENFORCEMENTS)}`
}
