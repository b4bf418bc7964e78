/**
 * The start and the end of our prepared data files, which checked-file writes and reads.
 *
 * Layout: 8 bytes magic, 4 bytes header length (little endian), header JSON padded with blanks so
 * that the body starts at a multiple of 8, body, 32 bytes SHA-256 of everything before.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { DataFileError } from '../errors.js'

export const magic = Buffer.from('CALLGATE', 'latin1')
export const digestBytes = 32
export const prefixBytes = magic.length + 4

export interface FileKind {
  /** Such as `number-list`. */
  readonly kind: string
  readonly formatVersion: number
}

export function prefixWithHeader(header: Readonly<Record<string, unknown>>): Buffer {
  const json = Buffer.from(JSON.stringify(header), 'utf8')
  const padding = (8 - ((prefixBytes + json.length) % 8)) % 8
  const length = Buffer.alloc(4)
  length.writeUInt32LE(json.length + padding)
  return Buffer.concat([magic, length, json, Buffer.alloc(padding, ' ')])
}

export function notOurs(path: string): DataFileError {
  return new DataFileError(path, 'is not a callgate data file, or was cut off at the start')
}

/** Tables of up to 8 bytes an item are read in place, so the body has to start where they may. */
export function bodyStartOf(path: string, start: Buffer, contentEnd: number): number {
  const bodyStart = prefixBytes + start.readUInt32LE(magic.length)
  if (bodyStart % 8 !== 0 || bodyStart > contentEnd) {
    throw new DataFileError(path, 'has a header that does not end where a body may start')
  }
  return bodyStart
}

export function headerOf(path: string, json: string): Record<string, unknown> {
  const header = parsed(path, json)
  if (typeof header === 'object' && header !== null) return header as Record<string, unknown>
  throw new DataFileError(path, 'has a header that is no JSON object')
}

function parsed(path: string, json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (cause) {
    throw new DataFileError(path, 'has a header that is no JSON', cause)
  }
}

export function checkKind(path: string, header: Record<string, unknown>, expected: FileKind): void {
  if (header.kind !== expected.kind) {
    throw new DataFileError(path, `holds '${String(header.kind)}', not '${expected.kind}'`)
  }
  if (header.formatVersion !== expected.formatVersion) {
    throw new DataFileError(
      path,
      `has format version ${String(header.formatVersion)}; this program reads ` +
        `${expected.formatVersion}. Import it again`,
    )
  }
}

export interface CheckedHeader {
  readonly header: Readonly<Record<string, unknown>>
  /** Length of the body on disk. */
  readonly bodyBytes: number
  /** The SHA-256 the file ends with, in hex; nothing says yet that it is that of the content. */
  readonly digest: string
}

/** Reads only both ends of a file. Throws {@link DataFileError} that says what is wrong with them. */
export function readCheckedHeader(path: string, expected: FileKind): CheckedHeader {
  const file = openSync(path, 'r')
  try {
    const contentEnd = fstatSync(file).size - digestBytes
    const start = readAt(file, 0, prefixBytes)
    if (contentEnd < prefixBytes || !start.subarray(0, magic.length).equals(magic)) {
      throw notOurs(path)
    }
    const bodyStart = bodyStartOf(path, start, contentEnd)
    const json = readAt(file, prefixBytes, bodyStart - prefixBytes).toString('utf8')
    const header = headerOf(path, json)
    checkKind(path, header, expected)
    const digest = readAt(file, contentEnd, digestBytes).toString('hex')
    return { header, bodyBytes: contentEnd - bodyStart, digest }
  } finally {
    closeSync(file)
  }
}

/** As many bytes as there are, up to `length`. */
function readAt(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  let at = 0
  while (at < length) {
    const bytesRead = readSync(file, bytes, at, length - at, position + at)
    if (bytesRead === 0) break
    at += bytesRead
  }
  return bytes.subarray(0, at)
}
