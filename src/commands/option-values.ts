/** Parses the values of command-line options. */
import { userInfo } from 'node:os'
import { Option } from 'commander'
import type { Settings } from '../config/settings.js'
import type { Instant } from '../domain/time/clock.js'
import { msPerDay, msPerHour, parseInstant } from '../domain/time/dates.js'
import { parseUrl } from '../runtime/parse-url.js'
import { CommandFailure } from './command.js'

const msPerUnit: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: msPerHour,
  d: msPerDay,
}

/** Parses a duration such as `30m` to milliseconds; `undefined` unless its unit is one of `units`. */
export function parseDuration(text: string, units: readonly string[]): number | undefined {
  const [, amount = '', unit = ''] = /^(\d{1,5})([smhd])$/.exec(text) ?? []
  return units.includes(unit) ? Number(amount) * (msPerUnit[unit] ?? Number.NaN) : undefined
}

/** Parses the instant of an option such as `--at`. */
export function parseInstantOption(option: string, text: string | undefined): Instant | undefined {
  const at = text === undefined ? undefined : parseInstant(text)
  if (text === undefined || at !== undefined) return at
  const rule = 'must be an instant such as 2026-11-23T17:00:00Z'
  throw new CommandFailure(`${option} '${text}': ${rule}`, 2)
}

/**
 * Parses `--since` and `--until`: an instant, a date (its first moment in UTC), or how long ago, such as
 * `7d`.
 */
export function parseTimeRange(
  { since, until }: { readonly since: string; readonly until?: string | undefined },
  now: Instant,
): { readonly since: Instant; readonly until: Instant } {
  const range = {
    since: parseTimeOption('--since', since, now),
    until: until === undefined ? now : parseTimeOption('--until', until, now),
  }
  if (range.since < range.until) return range
  const rule = `must be before ${until === undefined ? 'now' : `--until '${until}'`}`
  throw new CommandFailure(`--since '${since}': ${rule}`, 2)
}

/** An instant, a date (its first moment in UTC), or how long before `now`, such as `7d`. */
export function parseTimeOption(option: string, text: string, now: Instant): Instant {
  const ago = parseDuration(text, ['m', 'h', 'd'])
  const at = ago === undefined ? parseInstant(text) : now - ago
  if (at !== undefined) return at
  const rule =
    'must be an instant such as 2026-11-23T17:00:00Z, a date, or how long ago, such as 7d'
  throw new CommandFailure(`${option} '${text}': ${rule}`, 2)
}

/** Parses the comma-separated words of an option; returns each once, in the order of `known`. */
export function parseWords<Word extends string>(
  option: string,
  text: string,
  known: readonly Word[],
): readonly Word[] {
  const words = text.split(',').map((word) => word.trim().toLowerCase())
  const wrong = words.find((word) => !known.some((name) => name === word))
  if (wrong === undefined) return known.filter((name) => words.includes(name))
  const rule = `must be one or more of ${known.join(', ')}, separated by commas`
  throw new CommandFailure(`${option} '${wrong}': ${rule}`, 2)
}

/** An option whose value is true for `yes` and false for `no`. */
export function createYesNoOption(flags: string, description: string): Option {
  const option = new Option(flags, description).choices(['yes', 'no'])
  const requireChoice = option.parseArg
  return option.argParser((text) => {
    requireChoice?.(text, undefined)
    return text === 'yes'
  })
}

/** The server's URL; if it listens on all addresses, the loopback address. */
export function resolveServerUrl(
  { url }: { readonly url?: string | undefined },
  { http }: Pick<Settings, 'http'>,
): string {
  if (url !== undefined) {
    if (/^https?:\/\/[^\s?#@]+$/.test(url) && parseUrl(url)) return url.replace(/\/+$/, '')
    throw new CommandFailure(`--url '${url}': must be http://host:port or https://host:port`, 2)
  }
  if (http.port === 0) {
    const why = 'http.port is 0, so the server has another port after each start'
    throw new CommandFailure(`--url is missing: ${why}; give the address that it printed`, 2)
  }
  const host = http.host === '0.0.0.0' || http.host === '::' ? '127.0.0.1' : http.host
  return `http://${host.includes(':') ? `[${host}]` : host}:${http.port}`
}

/** Parses where to listen, such as `127.0.0.1:8485`. */
export function parseListen(
  option: string,
  text: string,
): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, port = ''] =
    /^(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(text) ?? []
  const host = bracketed ?? plain
  if (host !== undefined && Number(port) <= 65_535) return { host, port: Number(port) }
  throw new CommandFailure(`${option} '${text}': must be an address and a port: 127.0.0.1:8485`, 2)
}

/** Who runs the command; some containers run as a user that has no name. */
export function findUser(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.()}`
  }
}
