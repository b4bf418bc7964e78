/** Reads the downloaded files of a list one after the other, with their progress and checksums. */
import type { Instant } from '../../domain/clock.js'
import { DataFileError } from '../../errors.js'
import type { TakenHeader } from '../feeds/number-lines.js'
import { openSourceFiles, placeOf, type SourceFile } from '../feeds/open-source-file.js'
import { digestOfRead } from '../feeds/source-digest.js'
import type { ListSource } from './number-list-format.js'

export interface ImportProgress {
  /** Of the files on disk, all together. */
  readonly bytesDone: number
  readonly bytesTotal: number
  readonly rows: number
}

export interface SourcesWanted {
  /** Paths of plain text, `.gz` or `.zip` files; every data file of an archive is read. */
  readonly files: readonly string[]
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined
}

export interface SourceRead {
  readonly rows: number
  readonly header: TakenHeader | undefined
}

/** Reads one of them and calls `onRow` for each row. */
export type ReadSource = (source: SourceFile, onRow: () => void) => Promise<SourceRead>

export interface SourcesRead {
  readonly sources: readonly ListSource[]
  /** Rows of all of them. */
  readonly rows: number
  /** First lines that were taken for column names. */
  readonly headers: readonly TakenHeader[]
  /** When the oldest file was last written: of no number is anything known that is newer. */
  readonly oldest: Instant
}

/** Throws {@link DataFileError} for files that cannot be read and what `read` throws. */
export async function readSources(
  { files, onProgress }: SourcesWanted,
  read: ReadSource,
): Promise<SourcesRead> {
  const progress = { bytesDone: 0, bytesTotal: 0, rows: 0 }
  const onRow = () => {
    progress.rows += 1
  }
  const opened: (readonly SourceFile[])[] = []
  for (const path of files) {
    let before = 0
    const onBytes = (done: number) => {
      progress.bytesDone += done - before
      before = done
      onProgress?.({ ...progress })
    }
    const parts = await openSourceFiles(path, { onBytes })
    progress.bytesTotal += parts[0]?.bytesTotal ?? 0
    opened.push(parts)
  }
  const sources: ListSource[] = []
  const headers: TakenHeader[] = []
  const readOne = async (source: SourceFile) => {
    const { rows, header } = await read(source, onRow)
    if (header) headers.push(header)
    return rows
  }
  for (const parts of opened) sources.push(...(await readParts(parts, readOne)))
  onProgress?.({ ...progress })
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
  const sha256 = await digestOfRead(first)
  return parts.map(({ name }, nth) => ({ file: name, sha256, rows: rows[nth] ?? 0 }))
}

/** What a failed download leaves, an error text or nothing at all, must not pass for "none". */
export function refuseWithoutRows(
  source: SourceFile,
  { blank, what, advice }: { readonly blank: boolean; what: string; advice: string | undefined },
): void {
  const place = placeOf(source)
  if (!blank) {
    const rule = 'an empty list is a file with nothing but blank lines and # comments'
    throw new DataFileError(place, `has lines but no ${what} in it; ${rule}`)
  }
  if (advice !== undefined) throw new DataFileError(place, `has no ${what} in it; ${advice}`)
}
