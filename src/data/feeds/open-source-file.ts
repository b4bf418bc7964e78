/**
 * Opens a file as it was downloaded: plain text, `.gz`, or the one data file inside a `.zip`, and
 * gives its decoded bytes as a stream. The only door to yauzl. What the bytes mean is left to the
 * feed that reads them.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { crc32, createGunzip } from 'node:zlib'
import { type Entry, openPromise } from 'yauzl'
import type { Instant } from '../../domain/clock.js'
import { DataFileError } from '../../errors.js'

export interface SourceFile {
  readonly path: string
  /** For messages: `list.txt`, or `download.zip/list.txt` for a file inside an archive. */
  readonly name: string
  /** Size on disk: what `onBytes` reaches at the end. */
  readonly bytesTotal: number
  /** When the file on disk was last written. */
  readonly modifiedAt: Instant
  /** The decoded bytes. Fails with a {@link DataFileError} that names the file. Read it once. */
  readonly stream: Readable
}

export interface SourceFileOptions {
  /** Which file of an archive to read; needed only when it holds several data files. */
  readonly entry?: RegExp
  /** Told, after each chunk, how many bytes of the file on disk are behind us. */
  readonly onBytes?: (done: number) => void
}

type Chunks = AsyncIterable<Buffer>

/** Decodes by content, not by name. Throws {@link DataFileError} for a file that cannot be read. */
export async function openSourceFile(
  path: string,
  options: SourceFileOptions = {},
): Promise<SourceFile> {
  const { kind, size, modifiedAt } = await inspect(path)
  const tell = options.onBytes ?? (() => undefined)
  const shared = { path, bytesTotal: size, modifiedAt }
  if (kind === 'zip') {
    const entry = await chooseEntry(path, options.entry)
    const name = `${basename(path)}/${entry.fileName}`
    return { ...shared, name, stream: readable(path, unzipped({ path, entry, size, tell })) }
  }
  const chunks = kind === 'gzip' ? gunzipped(path, tell) : plain(path, tell)
  return { ...shared, name: basename(path), stream: readable(path, chunks) }
}

/** SHA-256, in hex, of the file on disk, to be compared with what `sha256sum` says. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of readable(path, rawStream(path))) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

type Kind = 'plain' | 'gzip' | 'zip'

async function inspect(path: string): Promise<{ kind: Kind; size: number; modifiedAt: Instant }> {
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

function kindOf(start: Buffer): Kind {
  if (start[0] === 0x1f && start[1] === 0x8b) return 'gzip'
  const signature = start.toString('latin1')
  return signature === 'PK\x03\x04' || signature === 'PK\x05\x06' ? 'zip' : 'plain'
}

/** An archive that holds several data files is refused: reading only one would lose the others. */
async function chooseEntry(path: string, wanted: RegExp | undefined): Promise<Entry> {
  const entries = await dataEntries(path)
  const fitting = wanted ? entries.filter(({ fileName }) => wanted.test(fileName)) : entries
  const [first, ...others] = fitting
  if (!first) throw new DataFileError(path, 'holds no file that could be read')
  if (others.length > 0) {
    const names = fitting.map(({ fileName }) => fileName).join(', ')
    throw new DataFileError(path, `holds several files (${names}); unpack it and name the one`)
  }
  if (!first.canDecodeFileData()) {
    throw new DataFileError(path, `${first.fileName} in it is encrypted or packed in a rare way`)
  }
  return first
}

async function dataEntries(path: string): Promise<Entry[]> {
  try {
    const archive = await openPromise(path, { autoClose: false })
    try {
      const entries: Entry[] = []
      for await (const entry of archive.eachEntry()) {
        if (!isClutter(entry.fileName)) entries.push(entry)
      }
      return entries
    } finally {
      archive.close()
    }
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

/** Folders, the resource forks of macOS and the notes some publishers put beside their data. */
function isClutter(entryName: string): boolean {
  const name = basename(entryName)
  return entryName.endsWith('/') || name.startsWith('.') || /^read.?me|\.(?:pdf|md)$/i.test(name)
}

function rawStream(path: string): Readable {
  return createReadStream(path, { highWaterMark: 1 << 18 })
}

async function* plain(path: string, tell: (done: number) => void): Chunks {
  let done = 0
  for await (const chunk of rawStream(path) as Chunks) {
    done += chunk.length
    tell(done)
    yield chunk
  }
}

async function* gunzipped(path: string, tell: (done: number) => void): Chunks {
  const raw = createReadStream(path, { highWaterMark: 1 << 18 })
  const decoder = createGunzip({ chunkSize: 1 << 18 })
  pipeline(raw, decoder, () => undefined) // an error reaches us through the decoder
  for await (const chunk of decoder as Chunks) {
    tell(raw.bytesRead)
    yield chunk
  }
}

interface ZippedFile {
  readonly path: string
  readonly entry: Entry
  /** Of the whole archive; progress is told as the same share of it. */
  readonly size: number
  readonly tell: (done: number) => void
}

async function* unzipped({ path, entry, size, tell }: ZippedFile): Chunks {
  const archive = await openPromise(path, { autoClose: false })
  try {
    let done = 0
    let checksum = 0
    for await (const chunk of (await archive.openReadStreamPromise(entry)) as Chunks) {
      done += chunk.length
      checksum = crc32(chunk, checksum)
      tell(Math.round((size * done) / entry.uncompressedSize))
      yield chunk
    }
    // yauzl checks the length alone.
    if (checksum !== entry.crc32) throw new Error(`${entry.fileName} in it has a wrong checksum`)
  } finally {
    archive.close()
  }
}

function readable(path: string, chunks: Chunks | Readable): Readable {
  return Readable.from(withPath(path, chunks as Chunks), { objectMode: false })
}

async function* withPath(path: string, chunks: Chunks): Chunks {
  try {
    yield* chunks
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

function unreadable(path: string, cause: unknown): DataFileError {
  if (cause instanceof DataFileError) return cause
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new DataFileError(path, `cannot be read: ${reason}`, cause)
}
