// The words of the rule language. Five are reserved; what the others mean is decided where they stand, so a tool may be
// called `stop` or `finish`.

import { createToken, type ITokenConfig, Lexer, type TokenType } from 'chevrotain'

/** What a token is called in a message. */
const token = (name: string, label: string, config: Partial<ITokenConfig>): TokenType =>
  createToken({ name, label, ...config })
const sign = (name: string, text: string): TokenType => token(name, `\`${text}\``, { pattern: text })

/** Dots belong to the name: `Gmail.Send`. */
export const Name = token('Name', 'a name', { pattern: /[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*/ })
const word = (name: string, text: string): TokenType => token(name, `\`${text}\``, { pattern: text, longer_alt: Name })

export const RuleWord = word('RuleWord', 'rule')
export const TriggerWord = word('TriggerWord', 'trigger')
export const CheckWord = word('CheckWord', 'check')
export const EnforceWord = word('EnforceWord', 'enforce')
export const EndWord = word('EndWord', 'end')

export const Num = token('Num', 'a number', { pattern: /-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/ })
export const Text = token('Text', 'a string', { pattern: /"(?:[^"\\\r\n]|\\.)*"/ })
/** A quotation mark without its partner on the line: no production takes it, so it is reported where it stands. */
export const Unclosed = token('Unclosed', 'a string that is not closed', { pattern: /"[^\r\n]*/ })

export const At = sign('At', '@')
export const Not = sign('Not', '!')
export const And = sign('And', '&')
export const Or = sign('Or', '|')
export const Comma = sign('Comma', ',')
export const Colon = sign('Colon', ':')
export const Equal = sign('Equal', '=')
export const LeftParen = sign('LeftParen', '(')
export const RightParen = sign('RightParen', ')')
export const LeftBrace = sign('LeftBrace', '{')
export const RightBrace = sign('RightBrace', '}')
export const LeftBracket = sign('LeftBracket', '[')
export const RightBracket = sign('RightBracket', ']')

const Space = createToken({ name: 'Space', pattern: /[ \t\r\n\uFEFF]+/, group: Lexer.SKIPPED, line_breaks: true })
const Comment = createToken({ name: 'Comment', pattern: /(?:\/\/|#)[^\r\n]*/, group: Lexer.SKIPPED })

/** In the order in which they are tried. */
export const TOKENS: TokenType[] = [
  Space,
  Comment,
  RuleWord,
  TriggerWord,
  CheckWord,
  EnforceWord,
  EndWord,
  Name,
  Num,
  Text,
  Unclosed,
  At,
  Not,
  And,
  Or,
  Comma,
  Colon,
  Equal,
  LeftParen,
  RightParen,
  LeftBrace,
  RightBrace,
  LeftBracket,
  RightBracket,
]
