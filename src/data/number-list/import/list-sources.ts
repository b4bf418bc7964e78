/** Reads the downloaded files of a list one after the other, with their progress and checksums. */
import type { Instant } from '../../../domain/time/clock.js'
import { DataFileError } from '../../../errors.js'
import type { AssumedHeader } from '../../feeds/lists/number-lines.js'
import { computeReadDigest, formatSourcePath, type SourceFile } from '../../files/source-file.js'
import { type OnProgress, SourceProgress } from '../../files/source-progress.js'
import type { ListSource } from '../format/number-list-format.js'

export interface ReadSourcesOptions {
  /** Paths of plain text, `.gz` or `.zip` files; every data file of an archive is read. */
  readonly files: readonly string[]
  readonly onProgress?: OnProgress | undefined
}

interface SourceSummary {
  readonly rows: number
  readonly header: AssumedHeader | undefined
}

/** Reads one of them and calls `onRow` for each row. */
export type SourceReader = (source: SourceFile, onRow: () => void) => Promise<SourceSummary>

export interface SourcesSummary {
  readonly sources: readonly ListSource[]
  /** Rows of all of them. */
  readonly rows: number
  /** First lines that were taken for column names. */
  readonly headers: readonly AssumedHeader[]
  /** When the oldest file was last written: of no number is anything known that is newer. */
  readonly oldest: Instant
}

/** Throws {@link DataFileError} for files that cannot be read and what `read` throws. */
export async function readSources(
  { files, onProgress }: ReadSourcesOptions,
  read: SourceReader,
): Promise<SourcesSummary> {
  const progress = new SourceProgress(onProgress)
  const opened: (readonly SourceFile[])[] = []
  for (const path of files) opened.push(await progress.openFiles(path))
  const sources: ListSource[] = []
  const headers: AssumedHeader[] = []
  const readOne = async (source: SourceFile) => {
    const { rows, header } = await read(source, progress.countRow)
    if (header) headers.push(header)
    return rows
  }
  for (const parts of opened) sources.push(...(await readParts(parts, readOne)))
  progress.report()
  const oldest = Math.min(...opened.flat().map(({ modifiedAt }) => modifiedAt))
  return { sources, headers, oldest, rows: progress.rows }
}

/** The parts of one file on disk, which has one checksum. */
async function readParts(
  parts: readonly SourceFile[],
  read: (source: SourceFile) => Promise<number>,
): Promise<ListSource[]> {
  const rows: number[] = []
  for (const part of parts) rows.push(await read(part))
  const [first] = parts
  if (!first) return []
  const sha256 = await computeReadDigest(first)
  return parts.map(({ name }, nth) => ({ file: name, sha256, rows: rows[nth] ?? 0 }))
}

/** What a failed download leaves, an error text or nothing at all, must not pass for "none". */
export function requireRows(
  source: SourceFile,
  { blank, what, advice }: { readonly blank: boolean; what: string; advice: string | undefined },
): void {
  const place = formatSourcePath(source)
  if (!blank) {
    const rule = 'an empty list is a file with nothing but blank lines and # comments'
    throw new DataFileError(place, `has lines but no ${what} in it; ${rule}`)
  }
  if (advice !== undefined) throw new DataFileError(place, `has no ${what} in it; ${advice}`)
}
