/**
 * Opens a file as it was downloaded: plain text, `.gz`, or the data files inside a `.zip`, and
 * gives their decoded bytes as streams. The only door to yauzl. What the bytes mean is left to the
 * feed that reads them.
 */
import { basename, dirname, join } from 'node:path'
import { pipeline, type Readable } from 'node:stream'
import { crc32, createGunzip } from 'node:zlib'
import { type Entry, openPromise } from 'yauzl'
import type { Instant } from '../../domain/clock.js'
import { DataFileError } from '../../errors.js'
import { type Chunks, HashedFile, inspect, kindOf, readable, unreadable } from './source-bytes.js'

export { sha256OfFile } from './source-bytes.js'

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
  /**
   * SHA-256 in hex of the file on disk, once the stream has been read to its end; `undefined` where
   * reading did not pass over every byte of it, as in an archive.
   */
  readDigest(): string | undefined
}

/** What one downloaded file may unpack to; more is an archive made to fill disk and memory. */
export interface UnpackLimits {
  /** Files inside a `.zip`, those that are not read included. */
  readonly maxEntries: number
  /** Bytes that a `.zip` or `.gz` may unpack to. */
  readonly maxBytes: number
  /** Unpacked bytes for each byte on disk; ignored below {@link ratioFromBytes}. */
  readonly maxRatio: number
}

/**
 * The US registry, the largest list there is, has about 360 files and 3.1 GB of text. Numbers shrink
 * to between a fifth and a twentieth.
 */
export const unpackLimits: UnpackLimits = {
  maxEntries: 4_096,
  maxBytes: 17_179_869_184,
  maxRatio: 200,
}

/** Small files of equal lines may be packed tighter; they do no harm. */
const ratioFromBytes = 16_777_216

export interface SourceFileOptions {
  /** Which files of an archive to read; needed only when it holds others as well. */
  readonly entry?: RegExp
  /** {@link unpackLimits} unless given. */
  readonly limits?: UnpackLimits
  /** Told, after each chunk, how many bytes of the file on disk are behind us. */
  readonly onBytes?: (done: number) => void
}

/** Where a message says a source is: its path, inside an archive too. */
export function placeOf({ path, name }: Pick<SourceFile, 'path' | 'name'>): string {
  return join(dirname(path), name)
}

/**
 * Decodes by content, not by name. Throws {@link DataFileError} for a file that cannot be read and
 * for an archive of several data files: reading only one would lose the others.
 */
export async function openSourceFile(
  path: string,
  options: SourceFileOptions = {},
): Promise<SourceFile> {
  const [first, ...others] = await openSourceFiles(path, options)
  if (!first) throw new DataFileError(path, 'holds no file that could be read')
  if (others.length === 0) return first
  const names = [first, ...others].map(({ name }) => name.slice(basename(path).length + 1))
  throw new DataFileError(
    path,
    `holds several files (${names.join(', ')}); unpack it and name the one`,
  )
}

/**
 * The same for every data file of an archive, in its order, as a national download holds one for
 * each area code. They are to be read one after the other.
 */
export async function openSourceFiles(
  path: string,
  options: SourceFileOptions = {},
): Promise<readonly SourceFile[]> {
  const { kind, size, modifiedAt } = await inspect(path)
  const tell = options.onBytes ?? (() => undefined)
  const shared = { path, bytesTotal: size, modifiedAt }
  const { limits = unpackLimits } = options
  const requireUnpackable = (unpacked: number) => refuseBomb(path, { size, unpacked, limits })
  if (kind === 'zip') {
    const entries = await chooseEntries(path, options.entry, limits)
    // yauzl fails an entry that unpacks to another size than is stated here.
    requireUnpackable(sizeOf(entries))
    return unzippedFiles(path, { entries, size, tell }).map((file) => ({ ...shared, ...file }))
  }
  const file = new HashedFile(path)
  const chunks =
    kind === 'gzip' ? gunzipped(path, { file, tell, requireUnpackable }) : plain(file, tell)
  const stream = readable(path, chunks)
  return [{ ...shared, name: basename(path), stream, readDigest: () => file.digest(size) }]
}

function refuseBomb(
  path: string,
  of: { readonly size: number; readonly unpacked: number; readonly limits: UnpackLimits },
): void {
  const { size, unpacked, limits } = of
  const advice = 'if the file is right, unpack it and name the files that were in it'
  if (unpacked > limits.maxBytes) {
    const rule = `unpacks to more than ${limits.maxBytes} bytes, the limit`
    throw new DataFileError(path, `${rule}; ${advice}`)
  }
  if (unpacked <= ratioFromBytes || unpacked <= size * limits.maxRatio) return
  const rule = `unpacks to more than ${limits.maxRatio} times its ${size} bytes, the limit`
  throw new DataFileError(path, `${rule}; ${advice}`)
}

const sizeOf = (entries: readonly Entry[]) =>
  entries.reduce((sum, { uncompressedSize }) => sum + uncompressedSize, 0)

async function chooseEntries(
  path: string,
  wanted: RegExp | undefined,
  limits: UnpackLimits,
): Promise<readonly Entry[]> {
  const entries = await dataEntries(path, limits)
  const fitting = wanted ? entries.filter(({ fileName }) => wanted.test(fileName)) : entries
  if (fitting.length === 0) throw new DataFileError(path, 'holds no file that could be read')
  for (const entry of fitting) {
    if (entry.canDecodeFileData()) continue
    throw new DataFileError(path, `${entry.fileName} in it is encrypted or packed in a rare way`)
  }
  return fitting
}

async function dataEntries(path: string, { maxEntries }: UnpackLimits): Promise<Entry[]> {
  try {
    const archive = await openPromise(path, { autoClose: false })
    try {
      if (archive.entryCount > maxEntries) {
        const rule = `holds ${archive.entryCount} files, more than the limit of ${maxEntries}`
        throw new DataFileError(path, `${rule}; unpack it and name the files to read`)
      }
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

type Tell = (done: number) => void

async function* plain(file: HashedFile, tell: Tell): Chunks {
  for await (const chunk of file.open() as Chunks) {
    file.take(chunk)
    tell(file.bytes)
    yield chunk
  }
}

interface Gzipped {
  readonly file: HashedFile
  readonly tell: Tell
  /** Throws for more unpacked bytes than the file may have. */
  readonly requireUnpackable: (unpacked: number) => void
}

async function* gunzipped(path: string, { file, tell, requireUnpackable }: Gzipped): Chunks {
  const decoder = createGunzip({ chunkSize: 1 << 18 })
  const raw = file.open().on('data', (chunk: Buffer) => file.take(chunk))
  pipeline(raw, decoder, () => undefined) // an error reaches us through the decoder
  let unpacked = 0
  for await (const chunk of unpackedOnce(path, decoder)) {
    unpacked += chunk.length
    requireUnpackable(unpacked)
    tell(file.bytes)
    yield chunk
  }
}

interface Zipped {
  readonly entries: readonly Entry[]
  /** Of the whole archive; progress is told as the same share of it. */
  readonly size: number
  readonly tell: Tell
}

function unzippedFiles(
  path: string,
  { entries, size, tell }: Zipped,
): readonly Pick<SourceFile, 'name' | 'stream' | 'readDigest'>[] {
  const bytes = sizeOf(entries)
  let done = 0
  const passed = (chunk: Buffer) => {
    done += chunk.length
    tell(Math.round((size * done) / bytes))
  }
  return entries.map((entry) => {
    const name = `${basename(path)}/${entry.fileName}`
    const chunks = unpackedOnce(join(dirname(path), name), unzipped(path, entry, passed))
    return { name, stream: readable(path, chunks), readDigest: () => undefined }
  })
}

async function* unzipped(path: string, entry: Entry, passed: (chunk: Buffer) => void): Chunks {
  const archive = await openPromise(path, { autoClose: false })
  try {
    let checksum = 0
    for await (const chunk of (await archive.openReadStreamPromise(entry)) as Chunks) {
      checksum = crc32(chunk, checksum)
      passed(chunk)
      yield chunk
    }
    // yauzl checks the length alone.
    if (checksum !== entry.crc32) throw new Error(`${entry.fileName} in it has a wrong checksum`)
  } finally {
    archive.close()
  }
}

/** Passes on what is no archive itself. Unpacking without end is how an archive becomes a bomb. */
async function* unpackedOnce(place: string, chunks: Chunks | Readable): Chunks {
  let isFirst = true
  for await (const chunk of chunks as Chunks) {
    if (isFirst && kindOf(chunk) !== 'plain') {
      const advice = 'unpack the outer one and name the files that were in it'
      throw new DataFileError(place, `is an archive inside an archive; ${advice}`)
    }
    isFirst = false
    yield chunk
  }
}
