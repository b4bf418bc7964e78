/**
 * The state of a prepared file that may be replaced while the program runs. If it is damaged, the
 * older content stays in use; if it is removed, none is in use.
 */
import { DataFileError, getErrorMessage } from '../../errors.js'
import { missingFileStamp } from '../../runtime/folders.js'

interface FileProblem {
  readonly name: string
  readonly path: string
  readonly detail: string
  /** True while older content is still in use. */
  readonly olderInUse: boolean
}

export interface WatchedFile<Content> {
  /** The stamp of the file that was read; `undefined` after a failure, so that reading is retried. */
  readonly stamp: string | undefined
  readonly content: Content | undefined
  readonly problem: FileProblem | undefined
}

export interface FileObservation<Content> {
  readonly name: string
  readonly path: string
  /** `undefined` if the file could not be read. */
  readonly stamp: string | undefined
  readonly previous: WatchedFile<Content> | undefined
}

/**
 * The state after a failed read. A damaged file is not read again until it changes; other failures may
 * be temporary, so reading is retried. Returns `previous` itself if nothing has changed.
 */
export function toFailedFile<Content>(
  { name, path, stamp, previous }: FileObservation<Content>,
  cause: unknown,
): WatchedFile<Content> {
  const judged = cause instanceof DataFileError ? stamp : undefined
  const detail = getErrorMessage(cause)
  if (previous && previous.stamp === judged && previous.problem?.detail === detail) return previous
  const content = previous?.content
  const problem = { name, path, detail, olderInUse: content !== undefined }
  return { stamp: judged, content, problem }
}

/** The state of a removed file. The removal may be a mistake, so its data is unavailable until reimported. */
export function toRemovedFile(name: string, path: string, what: string): WatchedFile<never> {
  const detail =
    `${path}: was removed while the server was running; import ${what} again, ` +
    'or restart the server to run without it'
  const problem = { name, path, detail, olderInUse: false }
  return { stamp: missingFileStamp, content: undefined, problem }
}
