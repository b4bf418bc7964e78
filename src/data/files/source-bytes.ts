/** The bytes of a downloaded file on disk: its kind, stream and checksum. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { Instant } from '../../domain/time/clock.js'
import { DataFileError, getErrorMessage } from '../../errors.js'

export type Chunks = AsyncIterable<Buffer>

export type SourceKind = 'plain' | 'gzip' | 'zip'

export interface FileInspection {
  readonly kind: SourceKind
  readonly size: number
  readonly modifiedAt: Instant
}

/** Detects the kind by content. Throws {@link DataFileError} if the file name implies another kind. */
export async function inspectFile(path: string): Promise<FileInspection> {
  try {
    const { size, mtimeMs } = await stat(path)
    const kind = detectSourceKind(await firstBytes(path))
    const promised = /\.(zip|gz)$/i.exec(path)?.[1]?.toLowerCase()
    if ((promised === 'zip' && kind !== 'zip') || (promised === 'gz' && kind !== 'gzip')) {
      throw new DataFileError(
        path,
        `is not a ${promised} file, although its name ends in .${promised}`,
      )
    }
    return { kind, size, modifiedAt: Math.trunc(mtimeMs) }
  } catch (cause) {
    throw unreadableFileError(path, cause)
  }
}

async function firstBytes(path: string): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

/** Detects the kind of a file from its first bytes. */
export function detectSourceKind(start: Buffer): SourceKind {
  if (start[0] === 0x1f && start[1] === 0x8b) return 'gzip'
  const signature = start.toString('latin1', 0, 4)
  return signature === 'PK\x03\x04' || signature === 'PK\x05\x06' ? 'zip' : 'plain'
}

const readBytes = (path: string) => createReadStream(path, { highWaterMark: 1 << 18 }) as Chunks

/** Hashes a file while reading it, so that the parsed and the hashed bytes are the same. */
export class HashingFileReader {
  readonly #hash = createHash('sha256')
  /** Bytes of the file on disk that have been read so far. */
  bytes = 0

  async *read(path: string): Chunks {
    for await (const chunk of readBytes(path)) {
      this.bytes += chunk.length
      this.#hash.update(chunk)
      yield chunk
    }
  }

  /** SHA-256 in hex; `undefined` unless exactly `size` bytes have been read. */
  digest(size: number): string | undefined {
    return this.bytes === size ? this.#hash.copy().digest('hex') : undefined
  }
}

/** SHA-256 of the file on disk in hex, as printed by `sha256sum`. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of addPathToErrors(path, readBytes(path))) hash.update(chunk)
  return hash.digest('hex')
}

/** A stream whose errors name the file. */
export function toReadable(path: string, chunks: Chunks): Readable {
  return Readable.from(addPathToErrors(path, chunks), { objectMode: false })
}

async function* addPathToErrors(path: string, chunks: Chunks): Chunks {
  try {
    yield* chunks
  } catch (cause) {
    throw unreadableFileError(path, cause)
  }
}

export function unreadableFileError(path: string, cause: unknown): DataFileError {
  if (cause instanceof DataFileError) return cause
  const reason = getErrorMessage(cause)
  return new DataFileError(path, `cannot be read: ${reason}`, cause)
}
