/**
 * The container of our prepared data files: a kind, a format version, a JSON header, a body and a
 * SHA-256 over all of it. Written beside the old file and renamed into place, so that a crash at
 * any point leaves the old file whole. The layout is told in checked-header.
 */
import { createHash } from 'node:crypto'
import { createReadStream, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { DataFileError } from '../errors.js'
import { makeFolder, syncFolder } from '../folders.js'
import {
  bodyStartOf,
  checkKind,
  digestBytes,
  type FileKind,
  headerOf,
  magic,
  notOurs,
  prefixBytes,
  prefixWithHeader,
} from './checked-header.js'

export type { FileKind } from './checked-header.js'

type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** Writes the whole file or leaves what was there. Gives the SHA-256 in hex. */
export async function writeCheckedFile(
  path: string,
  fileKind: FileKind,
  header: Readonly<Record<string, unknown>>,
  body: Chunks,
): Promise<string> {
  makeFolder(dirname(path))
  const aside = join(dirname(path), `.${basename(path)}.${process.pid}.part`)
  const hash = createHash('sha256')
  const file = await open(aside, 'w')
  try {
    const put = async (bytes: Uint8Array) => {
      hash.update(bytes)
      await file.writeFile(bytes)
    }
    await put(prefixWithHeader({ ...fileKind, ...header }))
    for await (const chunk of body) await put(chunk)
    const digest = hash.digest()
    await file.writeFile(digest)
    await file.sync()
    await file.close()
    renameSync(aside, path)
    syncFolder(dirname(path))
    return digest.toString('hex')
  } catch (cause) {
    await file.close().catch(() => undefined)
    rmSync(aside, { force: true })
    throw cause
  }
}

export interface CheckedFile {
  readonly header: Readonly<Record<string, unknown>>
  readonly body: Buffer
  /** SHA-256 of the content, in hex. */
  readonly digest: string
}

/** Reads and verifies a file. Throws {@link DataFileError} that says what is wrong with it. */
export function readCheckedFile(path: string, expected: FileKind): CheckedFile {
  const bytes = readFileSync(path)
  const hash = createHash('sha256').update(bytes.subarray(0, contentEndOf(bytes)))
  return asCheckedFile(path, { bytes, digest: hash.digest(), expected })
}

/** Hashing this much takes a millisecond or two, which other work can wait. */
const readPieceBytes = 1 << 20

/** The same, but other work gets its turn after each piece, however large the file is. */
export async function readCheckedFileInPieces(
  path: string,
  expected: FileKind,
): Promise<CheckedFile> {
  const file = await open(path, 'r')
  try {
    const bytes = Buffer.allocUnsafeSlow((await file.stat()).size)
    const contentEnd = contentEndOf(bytes)
    const hash = createHash('sha256')
    for (let at = 0; at < bytes.length; ) {
      const length = Math.min(readPieceBytes, bytes.length - at)
      const { bytesRead } = await file.read(bytes, at, length, at)
      if (bytesRead === 0) throw new DataFileError(path, 'became shorter while it was read')
      hash.update(bytes.subarray(at, Math.max(at, Math.min(at + bytesRead, contentEnd))))
      at += bytesRead
    }
    return asCheckedFile(path, { bytes, digest: hash.digest(), expected })
  } finally {
    await file.close()
  }
}

function contentEndOf(bytes: Buffer): number {
  return Math.max(0, bytes.length - digestBytes)
}

interface ReadBytes {
  readonly bytes: Buffer
  /** SHA-256 of what was read before the place of the checksum. */
  readonly digest: Buffer
  readonly expected: FileKind
}

function asCheckedFile(path: string, { bytes, digest, expected }: ReadBytes): CheckedFile {
  if (bytes.length < prefixBytes + digestBytes || !bytes.subarray(0, magic.length).equals(magic)) {
    throw notOurs(path)
  }
  const contentEnd = contentEndOf(bytes)
  if (!digest.equals(bytes.subarray(contentEnd))) {
    throw new DataFileError(path, 'is damaged or cut off: its SHA-256 does not match its content')
  }
  const bodyStart = bodyStartOf(path, bytes, contentEnd)
  const header = headerOf(path, bytes.toString('utf8', prefixBytes, bodyStart))
  checkKind(path, header, expected)
  return { header, body: bytes.subarray(bodyStart, contentEnd), digest: digest.toString('hex') }
}

/**
 * Reads a file back in pieces, however large it is. Throws {@link DataFileError} unless content and
 * checksum on disk are those of `digest`, as {@link writeCheckedFile} gave it.
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
    throw new DataFileError(path, 'reads back other than it was written')
  }
}
