/**
 * When a file is refused for what it lacks: a cut-off download looks like a good file with fewer rows,
 * and another table like one with many bad ones.
 */
import { DataFileError } from '../../../errors.js'
import type { BadRow } from '../../feeds/numbering/prefix-feed.js'

/** What the last import had; `undefined` when there was none. */
export function readLastImport<File>(read: () => File | undefined): File | undefined {
  try {
    return read()
  } catch (error) {
    // A damaged file, or one of an older format, must not stand in the way of its replacement.
    if (error instanceof DataFileError) return undefined
    throw error
  }
}

/** Bad rows of a report that are put up with unless it is said. */
export const defaultMaxBadRows = 100

/** Throws {@link DataFileError} that shows the first ones. */
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
    `holds ${accepted} usable rows, fewer than half the ${before} of the last import; ` +
      `remove ${preparedFile} to import it all the same`,
  )
}
