/**
 * Rejects files with too few or too many bad rows: a truncated download looks like a valid smaller
 * file, and a different table like one with many bad rows.
 */
import { DataFileError } from '../../../errors.js'
import type { BadRow } from '../../feeds/numbering/prefix-feed.js'

/** Reads the file of the last import; `undefined` if there is none or it is damaged. */
export function readLastImport<File>(read: () => File | undefined): File | undefined {
  try {
    return read()
  } catch (error) {
    // A damaged file, or one in another format, must not prevent its replacement.
    if (error instanceof DataFileError) return undefined
    throw error
  }
}

/** Default of the maximum bad rows of a report. */
export const defaultMaxBadRows = 100

/** Throws {@link DataFileError} showing the first bad rows if there are too many. */
export function requireFewBadRows(
  path: string,
  bad: readonly BadRow[],
  allowed: number = defaultMaxBadRows,
): void {
  if (bad.length <= allowed) return
  const first = bad.slice(0, 5).map(({ line, reason }) => `line ${line}: ${reason}`)
  const rule = `${bad.length} rows are bad, ${allowed} allowed (--bad-lines); nothing was imported`
  throw new DataFileError(path, [`${rule}. The first:`, ...first].join('\n  '))
}

/** Throws {@link DataFileError} for a file without a usable row or with fewer than half as many. */
export function refuseShrunkReport(
  path: string,
  { accepted, before, preparedFile }: { accepted: number; before: number; preparedFile: string },
): void {
  if (accepted === 0) throw new DataFileError(path, 'has no usable row')
  if (accepted * 2 >= before) return
  throw new DataFileError(
    path,
    `has ${accepted} usable rows, fewer than half the ${before} of the last import; ` +
      `remove ${preparedFile} to import it anyway`,
  )
}
