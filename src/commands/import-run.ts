/** One run of an import: its progress bar, its file of rejected lines, its time. */
import { join } from 'node:path'
import type { Settings } from '../config.js'
import type { BadLine } from '../data/feeds/bad-lines.js'
import { openRejectFile, type RejectFile } from '../data/feeds/reject-file.js'
import { formatInstant, monotonicSeconds, systemClock } from '../domain/clock.js'
import type { Terminal } from './command.js'
import { count, type ImportOptions, some } from './import-options.js'
import { showProgress } from './progress.js'

export interface ImportRun {
  /** What is imported, for the bar and the name of the reject file. */
  readonly name: string
  readonly settings: Pick<Settings, 'dataDir'>
  readonly options: Pick<ImportOptions, 'rejects'>
  readonly terminal: Terminal
}

/** What an import tells while it runs. */
export interface ImportHooks {
  readonly rejects: (bad: BadLine) => void
  readonly onProgress: (progress: {
    readonly bytesDone: number
    readonly bytesTotal: number
    readonly rows?: number
  }) => void
}

export interface ImportResult<Summary> {
  readonly summary: Summary
  readonly seconds: number
  /** The file the bad lines are in; absent when there was none. */
  readonly rejected?: Rejected | undefined
}

interface Rejected {
  readonly path: string
  readonly lines: number
}

/** Runs `work`. When it throws, the terminal is told where the bad lines are. */
export async function runImport<Summary>(
  { name, settings, options, terminal }: ImportRun,
  work: (hooks: ImportHooks) => Promise<Summary>,
): Promise<ImportResult<Summary>> {
  const path = options.rejects ?? defaultRejectFile(settings, name)
  const rejects = openRejectFile(path)
  const progress = showProgress(name, terminal)
  const startedAt = monotonicSeconds()
  try {
    const summary = await work({
      rejects: (bad) => rejects.add(bad),
      onProgress: ({ bytesDone, bytesTotal, rows }) => progress.update(bytesDone, bytesTotal, rows),
    })
    const seconds = monotonicSeconds() - startedAt
    return { summary, seconds, rejected: await closed(rejects, path, terminal) }
  } catch (cause) {
    progress.stop()
    const rejected = await closed(rejects, path, terminal)
    if (rejected) terminal.note(`${describeRejected(rejected)}\n`)
    throw cause
  } finally {
    progress.stop()
  }
}

/** What the import came to stands, whether or not the last bad lines could be written. */
async function closed(
  rejects: RejectFile,
  path: string,
  terminal: Pick<Terminal, 'note'>,
): Promise<Rejected | undefined> {
  try {
    const lines = await rejects.close()
    return lines > 0 ? { path, lines } : undefined
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    terminal.note(`not all bad lines could be written to ${path}: ${reason}\n`)
    return undefined
  }
}

/** A name of its own for each run: `rejects/us-dnc-20261122T064114250Z.csv`. */
function defaultRejectFile({ dataDir }: Pick<Settings, 'dataDir'>, name: string): string {
  const time = formatInstant(systemClock.now()).replaceAll(/[-:.]/g, '')
  return join(dataDir, 'rejects', `${name}-${time}.csv`)
}

/** The lines of a summary about the run itself; `rows` is how many were read. */
export function describeRun({ seconds, rejected }: ImportResult<unknown>, rows: number): string[] {
  const rate = Math.round(rows / Math.max(seconds, 0.001))
  return [
    ...(rejected ? [`  ${describeRejected(rejected)}`] : []),
    `  took ${seconds.toFixed(1)} s, ${some(rate, 'row')} a second`,
  ]
}

function describeRejected({ path, lines }: Rejected): string {
  return `bad lines are in ${path} (${count(lines)})`
}
