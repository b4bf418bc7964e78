/** When a file is refused for what it lacks: a cut-off download looks like a good file with fewer rows. */
import { DataFileError } from '../../errors.js'

/** What the last import had; `undefined` when there was none. */
export function lastImport<File>(read: () => File | undefined): File | undefined {
  try {
    return read()
  } catch (error) {
    // A damaged file, or one of an older format, must not stand in the way of its replacement.
    if (error instanceof DataFileError) return undefined
    throw error
  }
}

/** Throws {@link DataFileError} for a file without a usable row or with fewer than half as many. */
export function refuseIfShrunk(
  path: string,
  { kept, before, preparedFile }: { kept: number; before: number; preparedFile: string },
): void {
  if (kept === 0) throw new DataFileError(path, 'holds no row that could be kept')
  if (kept * 2 >= before) return
  throw new DataFileError(
    path,
    `holds ${kept} usable rows, fewer than half the ${before} of the last import; ` +
      `remove ${preparedFile} to import it all the same`,
  )
}
