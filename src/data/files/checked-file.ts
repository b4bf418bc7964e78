/**
 * The container of our prepared data files: a kind, a format version, a JSON header, a body and a
 * SHA-256 of all of it. Files are written under a temporary name and renamed into place, so that a
 * crash at any point leaves the old file intact.
 *
 * Layout: 8 bytes magic, 4 bytes header length (little endian), header JSON padded with blanks so
 * that the body starts at a multiple of 8, body, 32 bytes SHA-256 of everything before.
 */
import { createHash } from 'node:crypto'
import {
  closeSync,
  createReadStream,
  fstatSync,
  openSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { DataFileError } from '../../errors.js'
import { ensureFolder, moveIntoPlace } from '../../runtime/folders.js'

const fileMagic = Buffer.from('CALLGATE', 'latin1')
const digestBytes = 32
const prefixBytes = fileMagic.length + 4

export interface FileKind {
  /** Such as `number-list`. */
  readonly kind: string
  readonly formatVersion: number
}

type Header = Readonly<Record<string, unknown>>
type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** Replaces the file completely or leaves it unchanged. Resolves to the SHA-256 in hex. */
export async function writeCheckedFile(
  path: string,
  fileKind: FileKind,
  header: Header,
  body: Chunks,
): Promise<string> {
  ensureFolder(dirname(path))
  const aside = join(dirname(path), `.${basename(path)}.${process.pid}.part`)
  const hash = createHash('sha256')
  const file = await open(aside, 'w')
  try {
    const put = async (bytes: Uint8Array) => {
      hash.update(bytes)
      await file.writeFile(bytes)
    }
    await put(encodeHeader({ ...fileKind, ...header }))
    for await (const chunk of body) await put(chunk)
    const digest = hash.digest()
    await file.writeFile(digest)
    await file.sync()
    await file.close()
    moveIntoPlace(aside, path)
    return digest.toString('hex')
  } catch (cause) {
    await file.close().catch(() => undefined)
    rmSync(aside, { force: true })
    throw cause
  }
}

function encodeHeader(header: Header): Buffer {
  const json = Buffer.from(JSON.stringify(header), 'utf8')
  const padding = (8 - ((prefixBytes + json.length) % 8)) % 8
  const length = Buffer.alloc(4)
  length.writeUInt32LE(json.length + padding)
  return Buffer.concat([fileMagic, length, json, Buffer.alloc(padding, ' ')])
}

export interface CheckedFile {
  readonly header: Header
  /** In shared memory, so that other threads can use it without a copy. */
  readonly body: Buffer
  /** SHA-256 of the content, in hex. */
  readonly digest: string
}

/** Reads and verifies a file. Throws {@link DataFileError} describing what is wrong with it. */
export function readCheckedFile(path: string, expected: FileKind): CheckedFile {
  const bytes = readSharedBytes(path)
  const hash = createHash('sha256').update(bytes.subarray(0, findContentEnd(bytes.length)))
  return toCheckedFile(path, { bytes, digest: hash.digest(), expected })
}

function readSharedBytes(path: string): Buffer {
  const file = openSync(path, 'r')
  try {
    const bytes = allocateShared(fstatSync(file).size)
    if (fillFrom(file, bytes, 0) === bytes.length) return bytes
    throw new DataFileError(path, 'became shorter while it was read')
  } finally {
    closeSync(file)
  }
}

const allocateShared = (size: number): Buffer => Buffer.from(new SharedArrayBuffer(size))

/** Hashing this much blocks other work for a millisecond or two. */
const readPieceBytes = 1 << 20

/** Like {@link readCheckedFile}, but yields to other work after each piece. */
export async function readCheckedFileInPieces(
  path: string,
  expected: FileKind,
): Promise<CheckedFile> {
  const file = await open(path, 'r')
  try {
    const bytes = allocateShared((await file.stat()).size)
    const contentEnd = findContentEnd(bytes.length)
    const hash = createHash('sha256')
    for (let at = 0; at < bytes.length; ) {
      const length = Math.min(readPieceBytes, bytes.length - at)
      const { bytesRead } = await file.read(bytes, at, length, at)
      if (bytesRead === 0) throw new DataFileError(path, 'became shorter while it was read')
      hash.update(bytes.subarray(at, Math.max(at, Math.min(at + bytesRead, contentEnd))))
      at += bytesRead
    }
    return toCheckedFile(path, { bytes, digest: hash.digest(), expected })
  } finally {
    await file.close()
  }
}

const findContentEnd = (size: number): number => Math.max(0, size - digestBytes)

interface RawFile {
  readonly bytes: Buffer
  /** SHA-256 of the content before the stored checksum. */
  readonly digest: Buffer
  readonly expected: FileKind
}

function toCheckedFile(path: string, { bytes, digest, expected }: RawFile): CheckedFile {
  const contentEnd = findContentEnd(bytes.length)
  requireMagic(path, bytes, contentEnd)
  if (!digest.equals(bytes.subarray(contentEnd))) {
    throw new DataFileError(path, 'is damaged or truncated: its SHA-256 does not match its content')
  }
  const bodyStart = findBodyStart(path, bytes, contentEnd)
  const header = parseHeader(path, bytes.subarray(prefixBytes, bodyStart), expected)
  return { header, body: bytes.subarray(bodyStart, contentEnd), digest: digest.toString('hex') }
}

export interface CheckedHeader {
  readonly header: Header
  /** Length of the body on disk. */
  readonly bodyBytes: number
  /** The SHA-256 at the end of the file, in hex; not yet compared with the content. */
  readonly digest: string
}

/** Reads only the start and end of a file. Throws {@link DataFileError} describing what is wrong. */
export function readCheckedHeader(path: string, expected: FileKind): CheckedHeader {
  const file = openSync(path, 'r')
  try {
    const contentEnd = fstatSync(file).size - digestBytes
    const start = readAt(file, 0, prefixBytes)
    requireMagic(path, start, contentEnd)
    const bodyStart = findBodyStart(path, start, contentEnd)
    const header = parseHeader(path, readAt(file, prefixBytes, bodyStart - prefixBytes), expected)
    const digest = readAt(file, contentEnd, digestBytes).toString('hex')
    return { header, bodyBytes: contentEnd - bodyStart, digest }
  } finally {
    closeSync(file)
  }
}

/** Reads up to `length` bytes; fewer at the end of the file. */
function readAt(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  return bytes.subarray(0, fillFrom(file, bytes, position))
}

/** Returns how many bytes were read; fewer than fit at the end of the file. */
function fillFrom(file: number, bytes: Buffer, position: number): number {
  let at = 0
  while (at < bytes.length) {
    const length = Math.min(maxReadBytes, bytes.length - at)
    const bytesRead = readSync(file, bytes, at, length, position + at)
    if (bytesRead === 0) break
    at += bytesRead
  }
  return at
}

/** One system call reads less than 2 GiB. */
const maxReadBytes = 1 << 30

function requireMagic(path: string, start: Buffer, contentEnd: number): void {
  if (contentEnd >= prefixBytes && start.subarray(0, fileMagic.length).equals(fileMagic)) return
  throw new DataFileError(path, 'is not a callgate data file, or is truncated; import it again')
}

/** The body must be aligned to 8 bytes, since tables with items of up to 8 bytes are read in place. */
function findBodyStart(path: string, start: Buffer, contentEnd: number): number {
  const bodyStart = prefixBytes + start.readUInt32LE(fileMagic.length)
  if (bodyStart % 8 === 0 && bodyStart <= contentEnd) return bodyStart
  throw new DataFileError(path, 'has a header of an invalid length')
}

function parseHeader(path: string, json: Buffer, expected: FileKind): Header {
  const header = parseJson(path, json.toString('utf8'))
  if (typeof header !== 'object' || header === null) {
    throw new DataFileError(path, 'has a header that is not a JSON object')
  }
  const { kind, formatVersion } = header as Header
  if (kind !== expected.kind) {
    throw new DataFileError(path, `contains '${String(kind)}', not '${expected.kind}'`)
  }
  if (formatVersion !== expected.formatVersion) {
    throw new DataFileError(
      path,
      `has format version ${String(formatVersion)}; this program reads ` +
        `${expected.formatVersion}. Import it again`,
    )
  }
  return header as Header
}

function parseJson(path: string, json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (cause) {
    throw new DataFileError(path, 'has a header that is not JSON', cause)
  }
}

/**
 * Reads a written file back in pieces. Throws {@link DataFileError} unless the content and checksum on
 * disk match `digest`, as returned by {@link writeCheckedFile}.
 */
export async function verifyCheckedFile(path: string, digest: string): Promise<void> {
  const contentEnd = statSync(path).size - digestBytes
  const hash = createHash('sha256')
  const stored: Buffer[] = []
  let at = 0
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    const content = Math.max(0, Math.min(chunk.length, contentEnd - at))
    hash.update(chunk.subarray(0, content))
    stored.push(Buffer.from(chunk.subarray(content)))
    at += chunk.length
  }
  if (hash.digest('hex') !== digest || Buffer.concat(stored).toString('hex') !== digest) {
    throw new DataFileError(path, 'is not what was written; import it again')
  }
}
