/** Reads the downloaded files of a list one after the other, with progress and checksums. */
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

/** Reads one source and calls `onRow` for each row. */
export type SourceReader = (source: SourceFile, onRow: () => void) => Promise<SourceSummary>

export interface SourcesSummary {
  readonly sources: readonly ListSource[]
  /** Total rows of all sources. */
  readonly rows: number
  /** First lines that were read as headers. */
  readonly headers: readonly AssumedHeader[]
  /** Modification time of the oldest file, since the list cannot be newer than any of its files. */
  readonly oldest: Instant
}

/** Reads all files. Throws {@link DataFileError} for files that cannot be read, and the errors of `read`. */
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

/** Reads the parts of one file on disk, which share one checksum. */
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

/** Throws for a file without rows, since an empty or failed download must not be read as an empty list. */
export function requireRows(
  source: SourceFile,
  { blank, what, advice }: { readonly blank: boolean; what: string; advice: string | undefined },
): void {
  const place = formatSourcePath(source)
  if (!blank) {
    const rule = 'a file of an empty list may contain only blank lines and # comments'
    throw new DataFileError(place, `has lines but no ${what} in it; ${rule}`)
  }
  if (advice !== undefined) throw new DataFileError(place, `has no ${what} in it; ${advice}`)
}
