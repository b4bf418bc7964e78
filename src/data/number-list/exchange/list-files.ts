/** Where servers get the files of published lists from. */
import { splitListName } from '../list-names.js'

/** Identifies the file of one version. */
export interface ListFile {
  readonly name: string
  readonly version: string
  /** The checksum at its end, in hex. */
  readonly sha256: string
  /** Its length. */
  readonly bytes: number
}

export interface ListFiles {
  /** For people: where the files are, such as `the folder /mnt/lists`. */
  readonly place: string
  /** Stores the file at `path`; does nothing if it is stored already. */
  put(file: ListFile, path: string): Promise<void>
  /**
   * Some bytes from the offset `from` on, at least one and at most {@link pieceBytes}. Rejects with a message for
   * people if the place does not have them, and when `signal` is aborted.
   */
  readPiece(file: ListFile, from: number, signal: AbortSignal): Promise<Uint8Array>
  /** What was read last was damaged: reads from another source from now on, if there are several. */
  avoidSource(): void
  /** Does nothing if it is not stored. */
  remove(file: ListFile): Promise<void>
}

/** Few enough to be in memory, many enough that a request for each takes no time. */
export const pieceBytes = 4_194_304

/** The same for the same content of several accounts, which is stored once. */
export function toFileName({ name, version }: ListFile): string {
  return `${splitListName(name).list}.${version}.cglist`
}

/** Nothing comes from a server that has taken a request and stopped. */
export const pieceTimeoutMs = 60_000

export function withPieceTimeout(signal: AbortSignal, timeoutMs = pieceTimeoutMs): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
}
