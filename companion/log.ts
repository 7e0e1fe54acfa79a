// The log: JSON lines on stderr, for an investigation after a flight. Where systemd takes them, each begins with its level as
// sd-daemon(3) has it, so that `journalctl -p warning` shows the warnings. What is secret in a configuration stands in none of them.

import { fstatSync } from 'node:fs'
import { type Logger, pino } from 'pino'
import type { Config } from './config.ts'
import { escaped } from './escape.ts'

const STDERR = 2

/** Syslog's priorities by pino's levels: trace and debug, info, warn, error, fatal. */
const PRIORITIES: Readonly<Record<string, number>> = { 10: 7, 20: 7, 30: 6, 40: 4, 50: 3, 60: 2 }

/** Lines of one vehicle to `destination`, which is stderr; `env` says whether the journal is behind it. */
export function openLog(
  { vehicle, log }: Pick<Config, 'vehicle' | 'log'>,
  destination: { write(line: string): void },
  env: NodeJS.ProcessEnv,
): Logger {
  const streamWrite = isJournal(env) ? (line: string) => prefixed(escaped(line)) : escaped
  return pino({ level: log.level, base: { vehicle }, hooks: { streamWrite } }, destination)
}

/** systemd says which stream is the journal's: a program that was given another one inherits the variable all the same. */
function isJournal({ JOURNAL_STREAM }: NodeJS.ProcessEnv): boolean {
  if (JOURNAL_STREAM === undefined) return false
  const { dev, ino } = fstatSync(STDERR)
  return JOURNAL_STREAM === `${dev}:${ino}`
}

/** A line of pino's begins with its level. */
export function prefixed(line: string): string {
  const level = /^\{"level":(\d+)/.exec(line)?.[1]
  return `<${PRIORITIES[level ?? ''] ?? 6}>${line}`
}

/** The configuration as a log may show it: of a broker's URL no user, no password and no query. */
export function withoutSecrets({ mqtt, ...rest }: Config): object {
  if ('embedded' in mqtt) return { ...rest, mqtt }
  const { agents } = mqtt
  return {
    ...rest,
    mqtt: { ...mqtt, url: bare(mqtt.url), ...(agents && { agents: { ...agents, url: bare(agents.url) } }) },
  }
}

function bare(url: string): string {
  try {
    const { protocol, host, pathname, username } = new URL(url)
    return `${protocol}//${username === '' ? '' : '***@'}${host}${pathname === '/' ? '' : pathname}`
  } catch {
    return '***'
  }
}
