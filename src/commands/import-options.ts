/** What the commands of `callgate import` have in common: options, and the words of a summary. */
import type { Command } from 'commander'
import { type BadLines, describeBadLine } from '../data/feeds/bad-lines.js'
import { formatDay, type Instant, parseDay, systemClock } from '../domain/clock.js'
import { CommandFailure } from './command.js'

export interface ImportOptions {
  readonly asOf?: string
  readonly badLines?: string
  readonly rejects?: string
  readonly allowShrink?: true
  readonly allowOlder?: true
  readonly dryRun?: true
}

export function addAsOf(command: Command, otherwise: string): Command {
  return command.option('--as-of <date>', `day the content was true (default: ${otherwise})`)
}

/** `--bad-lines` and `--rejects`. */
export function addBadLines(command: Command, what: string): Command {
  return addRejects(
    command.option('--bad-lines <n>', `accept up to n lines that are no ${what} (default: none)`),
  )
}

export function addRejects(command: Command): Command {
  return command.option(
    '--rejects <file>',
    'CSV for the bad lines, if there are any (default: <dataDir>/rejects/<name>-<time>.csv)',
  )
}

export function addAllowShrink(command: Command, what: string): Command {
  return command.option('--allow-shrink', `accept fewer than half the ${what} in use`)
}

export function addDryRun(command: Command): Command {
  return command.option('--dry-run', 'judge the files and say what would change; change nothing')
}

/** What ends the first line of the summary of a dry run. */
export function describeDryRun(dryRun: boolean | undefined): string {
  return dryRun === true ? ' (dry run: nothing was changed)' : ''
}

/** Midnight UTC of the day, which may not lie ahead. */
export function asOfInstant(text: string | undefined): Instant | undefined {
  if (text === undefined) return undefined
  const day = parseDay(text)
  if (day === undefined) {
    throw new CommandFailure(`--as-of '${text}': must be a date such as ${formatDay(20_777)}`, 2)
  }
  const asOf = day * 86_400_000
  if (asOf <= systemClock.now()) return asOf
  throw new CommandFailure(`--as-of '${text}': must not lie in the future`, 2)
}

/** The number of an option such as `--bad-lines`. */
export function wholeNumber(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new CommandFailure(`${option} '${text}': must be a whole number`, 2)
}

/** The line of a summary about what a new content changes; none when there was nothing before. */
export function describeDifference(difference: {
  readonly added: number | undefined
  readonly changed?: number
  readonly removed: number | undefined
}): string[] {
  const { added, changed, removed } = difference
  if (added === undefined || removed === undefined) return []
  const middle = changed === undefined ? '' : `${count(changed)} changed, `
  return [`  ${count(added)} new, ${middle}${count(removed)} removed`]
}

/** The lines of a summary about rows that could not be understood. */
export function describeBadLines(
  badLines: Pick<BadLines, 'allowed' | 'count' | 'first'>,
): string[] {
  return [
    ...(badLines.allowed > 0
      ? [`  ${count(badLines.count)} bad lines were left out, ${count(badLines.allowed)} allowed`]
      : []),
    ...badLines.first.map((bad) => `  ${describeBadLine(bad)}`),
  ]
}

export function lines(parts: readonly string[]): string {
  return `${parts.join('\n')}\n`
}

export function some(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

export function count(value: number): string {
  return value.toLocaleString('en-US')
}
