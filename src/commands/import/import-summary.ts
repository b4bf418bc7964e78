/** The summaries of the imports of number lists. */
import type { ListSettings } from '../../config/settings.js'
import type { AssumedHeader } from '../../data/feeds/lists/number-lines.js'
import type { ChangesImportSummary } from '../../data/number-list/import/changes-import.js'
import type { ListImportSummary } from '../../data/number-list/import/list-import.js'
import { createListAges } from '../../data/number-list/list-ages.js'
import { isUsedByChecks } from '../../data/number-list/list-names.js'
import type { ListVersion } from '../../domain/number-set.js'
import { formatInstant } from '../../domain/time/dates.js'
import { truncate } from '../../errors.js'
import { systemClock } from '../../runtime/runtime.js'
import { formatCount, formatNumber } from '../format.js'
import {
  describeBadLines,
  describeDifference,
  describeDryRun,
  describeLeftOut,
} from './import-options.js'

/** The lines of the summary of a whole list. */
export function describeList(summary: ListImportSummary, settings: ListSettings): string[] {
  const { coverage, badLines, uncoveredAreaCodes, emptyAreaCodes, unreadDays, rows, size } = summary
  const covered = coverage === 'all' ? 'every area code' : formatCount(coverage.length, 'area code')
  return [
    `${summary.name}: ${formatCount(size, 'number')}, covers ${covered}, ${describeVersion(summary)}`,
    `  read ${formatCount(rows, 'row')}, ${formatNumber(rows - size)} of them repeated`,
    ...describeDifference(summary),
    ...(uncoveredAreaCodes.length > 0
      ? [`  it has numbers of area codes it does not cover: ${uncoveredAreaCodes.join(', ')}`]
      : []),
    ...describeEmptyAreaCodes('number', emptyAreaCodes),
    ...describeOlder(summary),
    ...(unreadDays > 0
      ? [`  ${formatNumber(unreadDays)} days could not be read; those numbers have no day`]
      : []),
    ...(isUsedByChecks(summary.name) ? [] : ['  no check reads a list called custom-...']),
    ...describeLeftOut(summary),
    ...describeHeaders(summary.headers),
    ...describeBadLines(badLines),
    ...describeKept(summary, settings),
  ]
}

/** The lines of the summary of changes to a list. */
export function describeChanges(summary: ChangesImportSummary, settings: ListSettings): string[] {
  const { rows, unchanged, outdated, areaCodesWithoutRows, badLines } = summary
  return [
    `${summary.name}: ${formatCount(summary.size, 'number')}, ${describeVersion(summary)}`,
    `  read ${formatCount(rows, 'row')}: ${formatNumber(unchanged)} changed nothing, ` +
      `${formatCount(outdated, 'deletion')} older than the list`,
    ...describeDifference(summary),
    ...describeEmptyAreaCodes('change', areaCodesWithoutRows),
    ...describeHeaders(summary.headers),
    ...describeBadLines(badLines),
    ...describeKept(summary, settings),
  ]
}

/** Warns about area codes without any number or change, which may be due to a forgotten file. */
function describeEmptyAreaCodes(what: string, empty: readonly string[]): string[] {
  if (empty.length === 0) return []
  const more =
    empty.length > maxShownAreaCodes ? ` and ${empty.length - maxShownAreaCodes} more` : ''
  const shown = empty.slice(0, maxShownAreaCodes).join(', ')
  return [`  no ${what} of area codes it covers, is a file missing? ${shown}${more}`]
}

const maxShownAreaCodes = 20

/** An archive may have a file with a header for each area code. */
const maxShownHeaders = 3

/** Shows lines that were read as a header, since a number in such a line is not in the list. */
function describeHeaders(headers: readonly AssumedHeader[]): string[] {
  const shown = headers
    .slice(0, maxShownHeaders)
    .map(
      ({ file, line, value }) =>
        `  ${file} line ${line} was read as a header: '${truncate(value)}'`,
    )
  const more = headers.length - shown.length
  return more > 0 ? [...shown, `  and the first line of ${formatCount(more, 'other file')}`] : shown
}

/** Warns about a list that is older than the one it replaces, since it lacks numbers listed since. */
function describeOlder({ asOf, previousAsOf = asOf }: ListImportSummary): string[] {
  if (asOf >= previousAsOf) return []
  return [`  older than the list it replaces, which is as of ${formatInstant(previousAsOf)}`]
}

/** The result of an import, or of a dry run. */
interface ImportOutcome extends ListVersion {
  readonly previous: string | null
  readonly dryRun: boolean
}

function describeVersion({ asOf, version, dryRun }: ImportOutcome): string {
  const shown = dryRun ? describeDryRun(dryRun) : `, version ${version}`
  return `as of ${formatInstant(asOf)}${shown}`
}

/** Says that the replaced version is kept, and how to restore it. */
function describeKept(
  { name, previous, dryRun }: ImportOutcome,
  { keepVersions }: ListSettings,
): string[] {
  if (previous === null || dryRun || keepVersions === 0) return []
  return [`  version ${previous} is kept; to restore it: callgate lists rollback ${name}`]
}

/** Warns about a list that is or soon will be too old to be used. */
export function describeAge(list: ListVersion, settings: ListSettings): string[] {
  const ages = createListAges(settings)
  const state = ages.findState(list, systemClock.now())
  if (state === 'fresh') return []
  const until = formatInstant(ages.computeStaleAt(list) - 1)
  const limit = `its ${ages.findMaxAgeDays(list.name)} days`
  return state === 'stale'
    ? [`${list.name} is older than ${limit}: it was used until ${until} and is no longer used`]
    : [
        `${list.name} can be used until ${until}, when ${limit} are over; import a newer one before then`,
      ]
}
