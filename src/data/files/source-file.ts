/**
 * Opens downloaded files (plain text, `.gz`, or the data files inside a `.zip`) as streams of decoded
 * bytes. The only file that uses yauzl.
 */
import { stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline, type Readable } from 'node:stream'
import { crc32, createGunzip } from 'node:zlib'
import { type Entry, openPromise } from 'yauzl'
import type { Instant } from '../../domain/time/clock.js'
import { DataFileError } from '../../errors.js'
import {
  type Chunks,
  detectSourceKind,
  HashingFileReader,
  inspectFile,
  sha256OfFile,
  toReadable,
  unreadableFileError,
} from './source-bytes.js'

export interface SourceFile {
  readonly path: string
  /** Name in messages: `list.txt`, or `download.zip/list.txt` for a file inside an archive. */
  readonly name: string
  /** Size on disk, which `onBytes` reaches at the end. */
  readonly bytesTotal: number
  /** Modification time of the file on disk. */
  readonly modifiedAt: Instant
  /** The decoded bytes, which can be read only once. Fails with a {@link DataFileError} naming the file. */
  readonly stream: Readable
  /**
   * SHA-256 in hex of the file on disk, once the stream has been read to its end; `undefined` if not
   * every byte was read, as in an archive.
   */
  readDigest(): string | undefined
}

/** Limits that protect against decompression bombs. */
interface UnpackLimits {
  /** Maximum files inside a `.zip`, including those that are not read. */
  readonly maxEntries: number
  /** Maximum unpacked bytes of a `.zip` or `.gz`. */
  readonly maxBytes: number
  /** Maximum unpacked bytes per byte on disk; ignored below {@link ratioFromBytes}. */
  readonly maxRatio: number
}

/**
 * The US registry, the largest list, has about 360 files and 3.1 GB of text. Numbers compress to
 * between a fifth and a twentieth of their size.
 */
const defaultUnpackLimits: UnpackLimits = {
  maxEntries: 4_096,
  maxBytes: 17_179_869_184,
  maxRatio: 200,
}

/** Smaller files with repeated lines may have a higher ratio, but are harmless. */
const ratioFromBytes = 16_777_216

/** The names of tables in an archive that also contains other files. */
export const tablePattern = /\.(?:txt|csv|tsv)$/i

export interface SourceFileOptions {
  /** Selects the files of an archive to read; needed only if it also contains others. */
  readonly entryPattern?: RegExp
  /** {@link defaultUnpackLimits} unless given. */
  readonly limits?: UnpackLimits
  /** Called after each chunk with the bytes of the file on disk read so far. */
  readonly onBytes?: (done: number) => void
}

/** The path of a source in messages, including its name inside an archive. */
export function formatSourcePath({ path, name }: Pick<SourceFile, 'path' | 'name'>): string {
  return join(dirname(path), name)
}

/**
 * Opens one file; its format is detected by content, not by name. Throws {@link DataFileError} for a
 * file that cannot be read and for an archive with several data files, since reading only one would
 * lose the others.
 */
export async function openSourceFile(
  path: string,
  options: SourceFileOptions = {},
): Promise<SourceFile> {
  const [first, ...others] = await openSourceFiles(path, options)
  if (!first) throw new DataFileError(path, 'has no readable file')
  if (others.length === 0) return first
  const names = [first, ...others].map(({ name }) => name.slice(basename(path).length + 1))
  throw new DataFileError(
    path,
    `contains several files (${names.join(', ')}); unpack it and name one of them`,
  )
}

/**
 * Opens every data file of an archive, in its order; a national download has one per area code. They
 * must be read one after the other.
 */
export async function openSourceFiles(
  path: string,
  options: SourceFileOptions = {},
): Promise<readonly SourceFile[]> {
  const { kind, size, modifiedAt } = await inspectFile(path)
  const reportBytes = options.onBytes ?? (() => undefined)
  const shared = { path, bytesTotal: size, modifiedAt }
  const { limits = defaultUnpackLimits } = options
  const requireUnpackable = (unpacked: number) => refuseZipBomb(path, { size, unpacked, limits })
  if (kind === 'zip') {
    const entries = await chooseEntries(path, options.entryPattern, limits)
    // The stated sizes can be trusted, since yauzl fails for an entry that unpacks to another size.
    requireUnpackable(sizeOf(entries))
    return listZipFiles(path, { entries, size, reportBytes }).map((file) => ({
      ...shared,
      ...file,
    }))
  }
  const file = new HashingFileReader()
  const chunks =
    kind === 'gzip'
      ? readGzip(path, { file, reportBytes, requireUnpackable })
      : readPlain(path, file, reportBytes)
  const stream = toReadable(path, chunks)
  return [{ ...shared, name: basename(path), stream, readDigest: () => file.digest(size) }]
}

function refuseZipBomb(
  path: string,
  of: { readonly size: number; readonly unpacked: number; readonly limits: UnpackLimits },
): void {
  const { size, unpacked, limits } = of
  const advice = 'if the file is correct, unpack it and name the files it contained'
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
  if (
    entries.some(({ fileName }) => fileName === '[Content_Types].xml' || fileName === 'content.xml')
  ) {
    throw new DataFileError(path, 'is a spreadsheet, such as Excel (.xlsx); save it as CSV (UTF-8)')
  }
  const fitting = wanted ? entries.filter(({ fileName }) => wanted.test(fileName)) : entries
  if (fitting.length === 0) throw new DataFileError(path, 'has no readable file')
  for (const entry of fitting) {
    if (entry.canDecodeFileData()) continue
    throw new DataFileError(
      path,
      `${entry.fileName} in it is encrypted or uses an unsupported compression`,
    )
  }
  return fitting
}

async function dataEntries(path: string, { maxEntries }: UnpackLimits): Promise<Entry[]> {
  try {
    const archive = await openPromise(path, { autoClose: false })
    try {
      if (archive.entryCount > maxEntries) {
        const rule = `contains ${archive.entryCount} files, more than the limit of ${maxEntries}`
        throw new DataFileError(path, `${rule}; unpack it and name the files to read`)
      }
      const entries: Entry[] = []
      for await (const entry of archive.eachEntry()) {
        if (!isIgnoredEntry(entry.fileName)) entries.push(entry)
      }
      return entries
    } finally {
      archive.close()
    }
  } catch (cause) {
    throw unreadableFileError(path, cause)
  }
}

/** Ignores folders, macOS resource forks and notes that some publishers add. */
function isIgnoredEntry(entryName: string): boolean {
  const name = basename(entryName)
  return entryName.endsWith('/') || name.startsWith('.') || /^read.?me|\.(?:pdf|md)$/i.test(name)
}

type ReportBytes = (done: number) => void

async function* readPlain(path: string, file: HashingFileReader, reportBytes: ReportBytes): Chunks {
  for await (const chunk of file.read(path)) {
    reportBytes(file.bytes)
    yield chunk
  }
}

interface GzipSource {
  readonly file: HashingFileReader
  readonly reportBytes: ReportBytes
  /** Throws if the unpacked size exceeds the limits. */
  readonly requireUnpackable: (unpacked: number) => void
}

async function* readGzip(
  path: string,
  { file, reportBytes, requireUnpackable }: GzipSource,
): Chunks {
  const decoder = createGunzip({ chunkSize: 1 << 18 })
  pipeline(file.read(path), decoder, () => undefined) // errors are reported by the decoder
  let unpacked = 0
  for await (const chunk of createOneShotStream(path, decoder)) {
    unpacked += chunk.length
    requireUnpackable(unpacked)
    reportBytes(file.bytes)
    yield chunk
  }
}

interface ZipSource {
  readonly entries: readonly Entry[]
  /** Size of the whole archive, in proportion to which progress is reported. */
  readonly size: number
  readonly reportBytes: ReportBytes
}

function listZipFiles(
  path: string,
  { entries, size, reportBytes }: ZipSource,
): readonly Pick<SourceFile, 'name' | 'stream' | 'readDigest'>[] {
  const bytes = sizeOf(entries)
  let done = 0
  const passed = (chunk: Buffer) => {
    done += chunk.length
    reportBytes(Math.round((size * done) / bytes))
  }
  return entries.map((entry) => {
    const name = `${basename(path)}/${entry.fileName}`
    const chunks = createOneShotStream(join(dirname(path), name), readZipEntry(path, entry, passed))
    return { name, stream: toReadable(path, chunks), readDigest: () => undefined }
  })
}

async function* readZipEntry(path: string, entry: Entry, passed: (chunk: Buffer) => void): Chunks {
  const archive = await openPromise(path, { autoClose: false })
  try {
    let checksum = 0
    for await (const chunk of (await archive.openReadStreamPromise(entry)) as Chunks) {
      checksum = crc32(chunk, checksum)
      passed(chunk)
      yield chunk
    }
    // yauzl only checks the length.
    if (checksum !== entry.crc32) throw new Error(`${entry.fileName} in it has a wrong checksum`)
  } finally {
    archive.close()
  }
}

/** Throws for an archive inside an archive, which could unpack without end. */
async function* createOneShotStream(place: string, chunks: Chunks | Readable): Chunks {
  let isFirst = true
  for await (const chunk of chunks as Chunks) {
    if (isFirst && detectSourceKind(chunk) !== 'plain') {
      const advice = 'unpack the outer one and name the files it contained'
      throw new DataFileError(place, `is an archive inside an archive; ${advice}`)
    }
    isFirst = false
    yield chunk
  }
}

type DigestSource = Pick<SourceFile, 'path' | 'bytesTotal' | 'modifiedAt'> &
  Partial<Pick<SourceFile, 'readDigest'>>

/**
 * SHA-256 in hex of a file that was read. Throws {@link DataFileError} if it has changed since, since a
 * file that is still being downloaded must not be accepted as complete.
 */
export async function computeReadDigest(source: DigestSource): Promise<string> {
  const { path, bytesTotal, modifiedAt } = source
  const digest = source.readDigest?.() ?? (await sha256OfFile(path))
  const now = await stat(path)
  if (now.size === bytesTotal && Math.trunc(now.mtimeMs) === modifiedAt) return digest
  throw new DataFileError(path, 'changed while it was being read; nothing was imported')
}
