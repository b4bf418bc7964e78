/** The description of one `callgate import ...` command, and its registration. */

import { join } from 'node:path'
import type { Command, Option } from 'commander'
import type { Settings } from '../../config/settings.js'
import type { BadLine } from '../../data/feeds/bad-lines.js'
import { openRejectFile, type RejectFile } from '../../data/feeds/reject-file.js'
import type { OnProgress } from '../../data/files/source-progress.js'
import { formatInstant } from '../../domain/time/dates.js'
import { getErrorMessage } from '../../errors.js'
import { monotonicSeconds, systemClock } from '../../runtime/runtime.js'
import { loadCommandSettings, type Terminal } from '../command.js'
import { formatCount, formatNumber, joinLines } from '../format.js'
import { startProgress } from '../progress.js'
import type { ImportOptions } from './import-options.js'
import { addSampleOption } from './table-options.js'

export interface ImportFeed<Options extends ImportOptions, Summary> {
  readonly name: string
  readonly description: string
  /** The arguments in order, such as `<file...>`. */
  readonly arguments: readonly (readonly [syntax: string, description: string])[]
  readonly options: readonly Option[]
  readonly sample?: string | undefined
  /** Shown by `--help` after the options. */
  readonly help?: string
  /** Name for the progress bar and the reject file; defaults to the name of the feed. */
  readonly nameRun?: (request: ImportRequest<Options>) => string
  readonly run: (request: ImportRequest<Options>, observer: ImportObserver) => Promise<Summary>
  /** The import is a change of rows of the database, with which it stores who did it. */
  readonly isRecorded?: true
  /** How many rows were read. */
  readonly countRows: (summary: Summary) => number
  readonly describe: (summary: Summary, request: ImportRequest<Options>) => readonly string[]
  /** Hints and warnings, for standard error. */
  readonly listNotes?: (summary: Summary, request: ImportRequest<Options>) => readonly string[]
}

/** The parsed command line of an import. */
export interface ImportRequest<Options> {
  readonly command: Command
  readonly settings: Settings
  readonly args: readonly string[]
  readonly options: Options
}

/** Receives bad lines and progress while an import runs. */
export interface ImportObserver {
  readonly rejects: (bad: BadLine) => void
  readonly onProgress: OnProgress
}

export function registerImportFeed<Options extends ImportOptions, Summary>(
  group: Command,
  terminal: Terminal,
  feed: ImportFeed<Options, Summary>,
): void {
  const command = group.command(feed.name).description(feed.description)
  for (const [syntax, description] of feed.arguments) command.argument(syntax, description)
  for (const option of feed.options) command.addOption(option)
  if (feed.sample !== undefined) addSampleOption(command, feed.sample, terminal)
  if (feed.help !== undefined) command.addHelpText('after', `\n${feed.help}`)
  command.action(async () => {
    const settings = loadCommandSettings(command)
    const request = { command, settings, args: command.args, options: command.opts<Options>() }
    const { summary, lines } = await runImport(feed, request, terminal)
    terminal.out(joinLines([...feed.describe(summary, request), ...lines]))
    for (const note of feed.listNotes?.(summary, request) ?? []) terminal.note(`${note}\n`)
    if (request.options.dryRun || feed.isRecorded) return
    const { recordImport } = await import('./record-import.js')
    const name = feed.nameRun?.(request) ?? feed.name
    const after = describeImport(summary)
    await recordImport(command, settings, { action: 'data.imported', name, after })
  })
}

/** What summaries of all kinds of imports have, of each file that they made. */
const recordedFields = [
  ...['name', 'country', 'version', 'previous', 'size', 'numbers', 'added', 'removed', 'rows'],
  ...['read', 'accepted', 'path', 'sha256', 'sources', 'asOf'],
]

function describeImport(summary: unknown): object {
  const one = Object(summary)
  // Some have a summary of each file that they made.
  const isOne = recordedFields.some((name) => name in one)
  const summaries: readonly object[] = isOne ? [one] : Object.values(one).map(Object)
  return summaries.map((summary) =>
    Object.fromEntries(Object.entries(summary).filter(([name]) => recordedFields.includes(name))),
  )
}

/** Returns the summary and the lines about the run. On failure, the message names the reject file. */
async function runImport<Options extends ImportOptions, Summary>(
  feed: ImportFeed<Options, Summary>,
  request: ImportRequest<Options>,
  terminal: Terminal,
): Promise<{ readonly summary: Summary; readonly lines: readonly string[] }> {
  const name = feed.nameRun?.(request) ?? feed.name
  const path = request.options.rejects ?? resolveRejectFile(request.settings, name)
  const rejects = openRejectFile(path)
  const progress = startProgress(name, terminal)
  const startedAt = monotonicSeconds()
  try {
    const summary = await feed.run(request, {
      rejects: (bad) => rejects.add(bad),
      onProgress: ({ bytesDone, bytesTotal, rows }) => progress.update(bytesDone, bytesTotal, rows),
    })
    const seconds = monotonicSeconds() - startedAt
    const rate = Math.round(feed.countRows(summary) / Math.max(seconds, 0.001))
    const rejected = await closeRejectFile(rejects, path, terminal)
    const took = `  took ${seconds.toFixed(1)} s, ${formatCount(rate, 'row')} a second`
    return { summary, lines: [...(rejected === undefined ? [] : [`  ${rejected}`]), took] }
  } catch (cause) {
    progress.stop()
    const rejected = await closeRejectFile(rejects, path, terminal)
    if (rejected !== undefined) terminal.note(`${rejected}\n`)
    throw cause
  } finally {
    progress.stop()
  }
}

/** Returns a line that names the reject file, if any. A failure to write it does not fail the import. */
async function closeRejectFile(
  rejects: RejectFile,
  path: string,
  terminal: Pick<Terminal, 'note'>,
): Promise<string | undefined> {
  try {
    const lines = await rejects.close()
    return lines > 0 ? `bad lines are in ${path} (${formatNumber(lines)})` : undefined
  } catch (cause) {
    const reason = getErrorMessage(cause)
    terminal.note(`not all bad lines could be written to ${path}: ${reason}\n`)
    return undefined
  }
}

/** The reject file of this run, such as `rejects/us-dnc-20261122T064114250Z.csv`. */
function resolveRejectFile({ dataDir }: Pick<Settings, 'dataDir'>, name: string): string {
  const time = formatInstant(systemClock.now()).replaceAll(/[-:.]/g, '')
  return join(dataDir, 'rejects', `${name.replace('/', '-')}-${time}.csv`)
}
