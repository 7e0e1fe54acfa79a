// Texts of agents, for a terminal, a log and a ground station. A control sequence moves a cursor, a mark of direction turns a line
// round, a space without width hides in a word: all of them are shown as what they are.

/**
 * Controls but line feed and tab, DEL and C1; spaces without width and marks of direction; line and paragraph separators; the
 * byte order mark; tags.
 */
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g

/** The same text with each of them as `\uXXXX`, so that JSON stays the same JSON. */
export const escaped = (text: string): string =>
  text.replace(UNSEEN, (found) =>
    Array.from({ length: found.length }, (_, i) => `\\u${found.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
  )
