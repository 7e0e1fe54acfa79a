// A shell command or a piece of Python in one form, so that a pattern need not know how it was written: without quotes,
// comments and line joins, the home folder as `~`, what a name was set to in place of the name, and cut into single commands
// without what stands before them (sudo, env, xargs, `sh -c`, a folder).

/** What a text does. `whole` has everything but what is only said (echo, grep, print); `commands` are its parts. */
export interface Commands {
  readonly raw: string
  readonly whole: string
  readonly commands: readonly string[]
}

/** Names may stand for texts, and those for longer ones: where that ends. */
const WHOLE_MAX = 80_000

const HOME =
  /\b(?:pathlib\.)?Path\.home\(\)|\bos\.path\.expanduser\(\s{0,3}["']~["']\s{0,3}\)|\bos\.(?:environ\[|environ\.get\(|getenv\()["']HOME["'][\])]|\$\{?HOME\}?(?!\w)|%USERPROFILE%|\$env:USERPROFILE|\bos\.homedir\(\)|\bprocess\.env\.HOME\b|\bDir\.home\b/gi
const HOME_OF =
  /(?:[A-Za-z]:)?\/(?:home|Users)\/[\w.$%-]{1,40}(?=[/\s)"';|&,]|$)|\/root(?=[/\s)"';|&,]|$)|~\w{1,30}(?=\/)/g
const ASSIGNMENT =
  /(?:^|[\n;&({]|\b(?:export|local|readonly|declare)\s)[ \t]{0,20}([A-Za-z_]\w{0,30})(\s{0,3})=\s{0,3}(?:[\w.]{1,30}\(\s{0,3}){0,2}(["']?)([^\s"'();|&,]{1,200})["']?/g

/** Reads a text. Throws where what its names stand for is too long. */
export function readCommands(raw: string): Commands {
  const whole = unquoted(assigned(joined(raw)))
  const lines = whole.split('\n').map(withoutSpeech).join('\n')
  return {
    raw,
    whole: lines,
    commands: lines
      .split(/[\n;|&(){}[\]`]/)
      .map(bare)
      .filter(Boolean),
  }
}

/** Pieces of strings and paths put together, before quotes go. */
function joined(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[\\^]\n/g, ' ')
    .replace(/^[ \t]{0,40}#[^\n>|;&]{0,2000}$/gm, '')
    .replace(/(?<![\w$"'/.-])[fbru]{1,2}(?=["'](?!["']))/gi, '')
    .replace(/\$(?=["'])/g, '')
    .replace(/["']\s{0,3}\+\s{0,3}["']/g, '')
    .replace(HOME, '~')
    .replace(/(?<=[\w~])["']?\)?\s{0,3}\/\s{0,3}["'](?=[\w*.])/g, '/')
    .replace(/~\s{0,3}[+,]\s{0,3}["']\/?/g, '~/')
    .replace(/\bos\.path\.join\(([^()\n]{0,200})\)/g, (_, parts: string) =>
      parts.replace(/["']?\s{0,3},\s{0,3}["']?/g, '/'),
    )
}

/** What a name was set to, in place of the name: `$name` anywhere, and `name` where it was set as in Python. */
function assigned(text: string): string {
  let whole = text
  for (const [, name, space, quote, value] of [...text.matchAll(ASSIGNMENT)].slice(0, 20)) {
    whole = whole.replace(new RegExp(`\\$\\{?${name}(?!\\w)\\}?`, 'g'), () => value!)
    if (space && quote)
      whole = whole.replace(new RegExp(`(?<![\\w.$"'/-])${name}(?![\\w("']|\\s{0,3}=)`, 'g'), () => `'${value}'`)
    if (whole.length > WHOLE_MAX)
      throw new Error(`the text has ${whole.length} characters with its names, at most ${WHOLE_MAX}`)
  }
  return whole
}

function unquoted(text: string): string {
  return text
    .replace(/["']\s{0,3},\s{0,20}["']/g, ' ')
    .replace(/\b(?:print|pprint|len|re\.\w{1,9}|log(?:ger|ging)?\.\w{1,9}|console\.log)\(\s{0,3}(?=["'])/g, 'print ')
    .replace(/(?:\b\d)?[<>]{1,2}&\d{1,4}|(?:\b\d|&)?>{1,2}\s{0,3}\/dev\/null\b|\$IFS\$?\d?|\$\{IFS\}/g, ' ')
    .replace(/&>|>[&|]/g, '>')
    .replace(/\$\{(\w{1,30})\}/g, '$$$1')
    .replace(/(?<=\w)\$[@*](?=\w)/g, '')
    .replace(/(?:\b[A-Za-z]:|\bHK\w{2,20}:?|%\w{1,20}%|\$env:\w{1,20}|~)(?:\\{1,2}[\w .$%-]{1,40}){1,12}/g, (path) =>
      path.replace(/\\{1,2}/g, '/'),
    )
    .replace(/\\{1,2}[nt](?![a-z])/g, ' ')
    .replace(/["'\\^]/g, '')
    .replace(/[ \t]{1,9999}/g, ' ')
    .replace(HOME_OF, '~')
    .replace(/\/private\/(?=etc|var)/g, '/')
    .replace(/\/\.?(?=\/(?!\/))(?<!:\/)/g, '')
    .replace(/\b(ssh|scp|sftp)\b([^\n;|]{0,100}?)\s-i\s?\S{1,200}/g, '$1$2')
}

const SPEECH =
  /(^|[;&|(]\s{0,3})((?:sudo )?(?:echo|printf|print|grep -\w{1,9}|grep|egrep|rg|ag|ack|man|which|whatis|apropos|tldr|git (?:commit|log|grep|tag))(?= |$))([^\n;|&>]{0,2000})/g
const READ_BY_SHELL = /\|[^\n]{0,200}\b(?:(?:ba|da|z|k)?sh|python3?|perl|node|ruby|at|batch|crontab)\b/

/** What is only said or looked for does nothing, unless a shell gets to read it. A path that grep reads stays. */
function withoutSpeech(line: string): string {
  if (READ_BY_SHELL.test(line)) return line.replace(/\b(?:echo|printf)\s(?:-\w{1,3}\s)?/g, ' ; ')
  return line.replace(SPEECH, (_, before: string, verb: string, said: string) => {
    const paths =
      /grep|rg/.test(verb) && !verb.includes('git')
        ? (/ [~./][^ ]{0,200}(?: [~./][^ ]{0,200}){0,9}\s{0,3}$/.exec(said)?.[0] ?? '')
        : ''
    // What is put into the command is run before it is said.
    const run = said.includes(verb === 'print' ? '(' : '$(') || said.includes('`') ? said : ''
    return `${before}${verb}${paths}${run}`
  })
}

const BEFORE = [
  /^(?:do|then|else|if|while|until|time|not|!|\$|<|@|-) /,
  /^[A-Za-z_]\w{0,40}=\S{0,200} /,
  /^(?:sudo|doas|env|nohup|nice|ionice|setsid|stdbuf|timeout|xargs|parallel|command|builtin|exec|busybox|toybox|watch|strace|torsocks|proxychains4?|start)(?: (?:-[ugnIPdLsk] \S{1,40}|-{1,2}[\w-]{1,30}(?:=\S{0,60})?|-I\S{0,9}|\/\w|[A-Za-z_]\w{0,40}=\S{0,200}|\d{1,6}[smhd]?|--)(?= )){0,9} /,
  /^(?:(?:ba|da|z|k|a)?sh|su|runuser|cmd(?:\.exe)?|powershell(?:\.exe)?|pwsh|wsl)(?: (?:-[A-Za-z-]{1,20}|Bypass|Hidden|root|-)){0,5} (?:-\w{0,5}c|-Command|\/[cCkK]) /i,
  /^(?:[A-Za-z]:|~|\.{1,2})?(?:\/[\w.-]{1,40}){0,8}\/(?=[\w.-]{1,40}(?: |$))/,
]

/** A command without what stands before it. */
function bare(command: string): string {
  let left = command.trim().replace(/^\/\/\S{0,99}/, '')
  for (let i = 0; i < 8; i++) {
    const next = BEFORE.reduce((text, before) => text.replace(before, ''), left).trim()
    if (next === left) break
    left = next
  }
  return left.replace(/^([\w-]{1,30})\.exe\b/i, '$1')
}
