/** The options and parts of the summary that the commands of `callgate import` share. */
import { Option } from 'commander'
import { type BadLines, describeBadLine } from '../../data/feeds/bad-lines.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatDay, msPerDay, parseDay } from '../../domain/time/dates.js'
import { systemClock } from '../../runtime/runtime.js'
import { CommandFailure } from '../command.js'
import { formatNumber } from '../format.js'

export interface ImportOptions {
  readonly asOf?: string
  readonly badLines?: string
  readonly rejects?: string
  readonly allowShrink?: true
  readonly allowOlder?: true
  readonly dryRun?: true
}

export function asOfOption(otherwise: string): Option {
  return new Option('--as-of <date>', `as-of date of the content (default: ${otherwise})`)
}

/** `--bad-lines` and `--rejects`. */
export function badLinesOptions(
  what: string,
  description = `accept up to n lines that are not a valid ${what} (default: none)`,
): readonly Option[] {
  return [
    new Option('--bad-lines <n>', description),
    new Option(
      '--rejects <file>',
      'CSV for the bad lines, if there are any (default: <dataDir>/rejects/<name>-<time>.csv)',
    ),
  ]
}

export function allowShrinkOption(what: string): Option {
  return new Option('--allow-shrink', `accept fewer than half the ${what} in use`)
}

export const dryRunOption = new Option(
  '--dry-run',
  'check the files and report what would change, without changing anything',
)

/** The end of the first line in the summary of a dry run. */
export function describeDryRun(dryRun: boolean | undefined): string {
  return dryRun === true ? ' (dry run: nothing was changed)' : ''
}

/** Parses a day to its midnight in UTC. Throws for a day in the future. */
export function parseAsOf(text: string | undefined): Instant | undefined {
  if (text === undefined) return undefined
  const day = parseDay(text)
  if (day === undefined) {
    throw new CommandFailure(`--as-of '${text}': must be a date such as ${formatDay(20_777)}`, 2)
  }
  const asOf = day * msPerDay
  if (asOf <= systemClock.now()) return asOf
  throw new CommandFailure(`--as-of '${text}': must not be in the future`, 2)
}

/** Parses the number of an option such as `--bad-lines`. */
export function parseWholeNumber(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new CommandFailure(`${option} '${text}': must be a whole number`, 2)
}

/** The summary line about added and removed entries; empty if there was no earlier content. */
export function describeDifference(difference: {
  readonly added: number | undefined
  readonly changed?: number
  readonly removed: number | undefined
}): string[] {
  const { added, changed, removed } = difference
  if (added === undefined || removed === undefined) return []
  const middle = changed === undefined ? '' : `${formatNumber(changed)} changed, `
  return [`  ${formatNumber(added)} new, ${middle}${formatNumber(removed)} removed`]
}

/** The summary lines about bad lines. */
export function describeBadLines(
  badLines: Pick<BadLines, 'maxAllowed' | 'count' | 'first'>,
): string[] {
  return [
    ...(badLines.maxAllowed > 0
      ? [
          `  ${formatNumber(badLines.count)} bad lines were left out, ${formatNumber(badLines.maxAllowed)} allowed`,
        ]
      : []),
    ...badLines.first.map((bad) => `  ${describeBadLine(bad)}`),
  ]
}

/** The summary lines about rows and cells of a table that were not used. */
export function describeLeftOut({
  leftOut,
  notes,
}: {
  readonly leftOut: number
  readonly notes: readonly string[]
}): string[] {
  const left = leftOut > 0 ? [`  ${formatNumber(leftOut)} rows were left out by --where`] : []
  return [...left, ...notes.map((note) => `  ${note}`)]
}
