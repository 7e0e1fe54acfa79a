// Texts of agents, for a terminal, a log and a ground station. A control sequence moves a cursor, a mark of direction turns a line
// round, a space without width hides in a word: all of them are shown as what they are.

/** Whatever Unicode calls a control, a format or nothing at all, and separators of lines; line feed and tab are left. */
export const UNSEEN = /(?![\n\t])[\p{C}\p{Zl}\p{Zp}]/gu

/** The same text with each of them as `\uXXXX`, so that JSON stays the same JSON. */
export const escaped = (text: string): string =>
  text.replace(UNSEEN, (found) =>
    Array.from({ length: found.length }, (_, i) => `\\u${found.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
  )
