/** Bytes that are read in parts, so that a bundle may be larger than the memory. Runs in the verifier, with Node alone. */
import { createHash } from 'node:crypto'
import { closeSync, openSync, readSync, statSync } from 'node:fs'

export interface ByteSource {
  readonly size: number
  /** Fewer than `length` at the end. */
  read(offset: number, length: number): Buffer
}

/** SHA-256 in hexadecimal. */
export const digest = (bytes: Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex')

export function bufferSource(bytes: Buffer): ByteSource {
  return {
    size: bytes.length,
    read: (offset, length) => bytes.subarray(offset, offset + length),
  }
}

/** Opens the file for each read, since a folder may have more files than a process may have open. */
export function fileSource(path: string): ByteSource {
  const read = (offset: number, length: number): Buffer => {
    const bytes = Buffer.alloc(Math.max(0, length))
    const file = openSync(path, 'r')
    try {
      let done = 0
      while (done < bytes.length) {
        const count = readSync(file, bytes, done, bytes.length - done, offset + done)
        if (count === 0) break
        done += count
      }
      return bytes.subarray(0, done)
    } finally {
      closeSync(file)
    }
  }
  return { size: statSync(path).size, read }
}

export function partOf(source: ByteSource, start: number, size: number): ByteSource {
  return {
    size,
    read: (offset, length) =>
      source.read(start + offset, Math.min(length, Math.max(0, size - offset))),
  }
}

const chunkBytes = 1_048_576

export function* chunksOf(source: ByteSource): Generator<Buffer> {
  for (let offset = 0; offset < source.size; offset += chunkBytes) {
    yield source.read(offset, Math.min(chunkBytes, source.size - offset))
  }
}

/** For many small reads whose places mostly rise. */
export function windowOf(source: ByteSource): ByteSource {
  let start = 0
  let bytes: Buffer = Buffer.alloc(0)
  const read = (offset: number, length: number): Buffer => {
    if (offset < start || offset + length > start + bytes.length) {
      start = offset
      bytes = source.read(offset, Math.max(length, chunkBytes))
    }
    return bytes.subarray(offset - start, offset - start + length)
  }
  return { size: source.size, read }
}

/** Twice that of the longest record. */
const maxLineBytes = 4 * chunkBytes

/** The lines, without their line feeds. Throws `RangeError` if one is too long, or the last one has no line feed. */
export function* linesOf(source: ByteSource): Generator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for (const chunk of chunksOf(source)) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let start = 0
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      yield bytes.subarray(start, end)
      start = end + 1
    }
    rest = bytes.subarray(start)
    if (rest.length > maxLineBytes) throw new RangeError('a line is too long')
  }
  if (rest.length > 0) throw new RangeError('the last line is cut off')
}

/** Of a text that may be damaged: passes over lines of more than `maxBytes`, and over an end without a line feed. */
export function* shortLinesOf(source: ByteSource, maxBytes: number): Generator<string> {
  let rest: Buffer = Buffer.alloc(0)
  let isTooLong = false
  for (const chunk of chunksOf(source)) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let start = 0
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      if (!isTooLong && end - start <= maxBytes) yield bytes.toString('utf8', start, end)
      isTooLong = false
      start = end + 1
    }
    rest = bytes.subarray(start)
    if (rest.length <= maxBytes) continue
    isTooLong = true
    rest = Buffer.alloc(0)
  }
}
