/** The bytes of a downloaded file on disk: what kind of file it is, its stream, its checksum. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { Instant } from '../../domain/clock.js'
import { DataFileError } from '../../errors.js'

export type Chunks = AsyncIterable<Buffer>

export type SourceKind = 'plain' | 'gzip' | 'zip'

export interface Inspected {
  readonly kind: SourceKind
  readonly size: number
  readonly modifiedAt: Instant
}

/** Judges by content. Throws {@link DataFileError} for one that is not what its name says. */
export async function inspect(path: string): Promise<Inspected> {
  try {
    const { size, mtimeMs } = await stat(path)
    const kind = kindOf(await firstBytes(path))
    const promised = /\.(zip|gz)$/i.exec(path)?.[1]?.toLowerCase()
    if ((promised === 'zip' && kind !== 'zip') || (promised === 'gz' && kind !== 'gzip')) {
      throw new DataFileError(path, `is no ${promised} file, whatever its name says`)
    }
    return { kind, size, modifiedAt: Math.trunc(mtimeMs) }
  } catch (cause) {
    throw unreadable(path, cause)
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

/** What the first bytes of a file say it is. */
export function kindOf(start: Buffer): SourceKind {
  if (start[0] === 0x1f && start[1] === 0x8b) return 'gzip'
  const signature = start.toString('latin1', 0, 4)
  return signature === 'PK\x03\x04' || signature === 'PK\x05\x06' ? 'zip' : 'plain'
}

/** Reads a file and hashes it on the way, so that what is parsed is what is hashed. */
export class HashedFile {
  readonly #path: string
  readonly #hash = createHash('sha256')
  #bytes = 0

  constructor(path: string) {
    this.#path = path
  }

  /** What is read of it has to be given to {@link take}. */
  open(): Readable {
    return createReadStream(this.#path, { highWaterMark: 1 << 18 })
  }

  /** How many bytes of the file on disk are behind us. */
  get bytes(): number {
    return this.#bytes
  }

  take(chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#hash.update(chunk)
  }

  /** SHA-256 in hex; `undefined` unless just as many bytes went by as the file has. */
  digest(size: number): string | undefined {
    return this.#bytes === size ? this.#hash.copy().digest('hex') : undefined
  }
}

/** SHA-256, in hex, of the file on disk, to be compared with what `sha256sum` says. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  const chunks = createReadStream(path, { highWaterMark: 1 << 18 })
  for await (const chunk of readable(path, chunks)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

/** A stream whose errors name the file. */
export function readable(path: string, chunks: Chunks | Readable): Readable {
  return Readable.from(withPath(path, chunks as Chunks), { objectMode: false })
}

async function* withPath(path: string, chunks: Chunks): Chunks {
  try {
    yield* chunks
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

export function unreadable(path: string, cause: unknown): DataFileError {
  if (cause instanceof DataFileError) return cause
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new DataFileError(path, `cannot be read: ${reason}`, cause)
}
