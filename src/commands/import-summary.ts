/** What the imports of number lists say when they are done. */
import type { ListSettings } from '../config.js'
import type { TakenHeader } from '../data/feeds/number-lines.js'
import { listAges } from '../data/number-list/list-ages.js'
import type { ChangesSummary } from '../data/number-list/list-changes.js'
import type { ListImportSummary } from '../data/number-list/list-import.js'
import { isReadByChecks } from '../data/number-list/list-names.js'
import { formatInstant, systemClock } from '../domain/clock.js'
import type { ListVersion } from '../domain/number-set.js'
import { shorten } from '../errors.js'
import type { Terminal } from './command.js'
import {
  count,
  describeBadLines,
  describeDifference,
  describeDryRun,
  some,
} from './import-options.js'

/** The lines of the summary of a whole list. */
export function describeList(summary: ListImportSummary, settings: ListSettings): string[] {
  const { coverage, badLines, uncovered, silent, unreadDays, rows, size } = summary
  const covered = coverage === 'all' ? 'every area code' : some(coverage.length, 'area code')
  return [
    `${summary.name}: ${some(size, 'number')}, speaks for ${covered}, ${whichVersion(summary)}`,
    `  read ${some(rows, 'row')}, ${count(rows - size)} of them repeated`,
    ...describeDifference(summary),
    ...(uncovered.length > 0
      ? [`  it holds numbers of area codes it does not speak for: ${uncovered.join(', ')}`]
      : []),
    ...describeSilent('number', silent),
    ...describeOlder(summary),
    ...(unreadDays > 0
      ? [`  ${count(unreadDays)} days could not be read: those numbers have none`]
      : []),
    ...(isReadByChecks(summary.name) ? [] : ['  no check reads a list called custom-...']),
    ...describeHeaders(summary.headers),
    ...describeBadLines(badLines),
    ...describeKept(summary, settings),
  ]
}

/** The lines of the summary of changes to a list. */
export function describeChanges(summary: ChangesSummary, settings: ListSettings): string[] {
  const { rows, unchanged, outdated, silent, badLines } = summary
  return [
    `${summary.name}: ${some(summary.size, 'number')}, ${whichVersion(summary)}`,
    `  read ${some(rows, 'row')}: ${count(unchanged)} changed nothing, ` +
      `${some(outdated, 'deletion')} older than the list`,
    ...describeDifference(summary),
    ...describeSilent('change', silent),
    ...describeHeaders(summary.headers),
    ...describeBadLines(badLines),
    ...describeKept(summary, settings),
  ]
}

/** A file that was left out looks like an area code without a number, or without a change. */
function describeSilent(what: string, silent: readonly string[]): string[] {
  if (silent.length === 0) return []
  const more = silent.length > shownAreaCodes ? ` and ${silent.length - shownAreaCodes} more` : ''
  const shown = silent.slice(0, shownAreaCodes).join(', ')
  return [`  no ${what} of area codes it speaks for, is a file missing? ${shown}${more}`]
}

const shownAreaCodes = 20

/** An archive may hold a file with a header for each area code. */
const shownHeaders = 3

/** What was taken for column names is in no list, so the operator should see it. */
function describeHeaders(headers: readonly TakenHeader[]): string[] {
  const shown = headers
    .slice(0, shownHeaders)
    .map(
      ({ file, line, value }) =>
        `  ${file} line ${line} was taken for a header: '${shorten(value)}'`,
    )
  const more = headers.length - shown.length
  return more > 0 ? [...shown, `  and the first line of ${some(more, 'other file')}`] : shown
}

/** What was listed since is on it no more. */
function describeOlder({ asOf, previousAsOf = asOf }: ListImportSummary): string[] {
  if (asOf >= previousAsOf) return []
  return [`  older than the list it replaces, which is as of ${formatInstant(previousAsOf)}`]
}

/** What an import made, or would have made. */
interface Made extends ListVersion {
  readonly previous: string | null
  readonly dryRun: boolean
}

function whichVersion({ asOf, version, dryRun }: Made): string {
  const shown = dryRun ? describeDryRun(dryRun) : `, version ${version}`
  return `as of ${formatInstant(asOf)}${shown}`
}

/** The version that was replaced, and how it comes back. */
function describeKept({ name, previous, dryRun }: Made, { keepVersions }: ListSettings): string[] {
  if (previous === null || dryRun || keepVersions === 0) return []
  return [`  version ${previous} is kept; to bring it back: callgate lists rollback ${name}`]
}

/** A list that is too old answers nothing, and one that soon will be should be renewed in time. */
export function noteAge(
  list: ListVersion,
  settings: ListSettings,
  terminal: Pick<Terminal, 'note'>,
): void {
  const ages = listAges(settings)
  const state = ages.stateOf(list, systemClock.now())
  if (state === 'fresh') return
  const until = formatInstant(ages.staleAt(list) - 1)
  const limit = `its ${ages.maxAgeDays(list.name)} days`
  terminal.note(
    state === 'stale'
      ? `${list.name} is older than ${limit}: it answered until ${until}, and now answers nothing\n`
      : `${list.name} answers until ${until}, when ${limit} are over; import a newer one before\n`,
  )
}
