/**
 * Segments as files. The bytes of a segment are read by their offset in it, which is the same before and
 * after it is compressed.
 *
 * The compressed form is BGZF: members of gzip, each with 65,280 bytes of the segment (the last one with
 * the rest) and its own size in an extra field `BC`, and an empty member at the end. `gzip -d` gives the
 * bytes as they were written. The first member is empty too: its extra field `CG` says where in the file
 * each block begins, and where the last one ends (4 bytes each, little-endian). Without it, whoever reads
 * one record would read the heads of up to a thousand members before it, each in another place of the disk.
 */
import { closeSync, fstatSync, fsyncSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs'
import { crc32, deflateRawSync, gunzipSync } from 'node:zlib'
import { DataFileError, getErrorCode, getErrorMessage } from '../../errors.js'
import { isPresent, moveIntoPlace } from '../../runtime/folders.js'

/** What BGZF allows: compressed, it is below 64 KiB whatever it holds. */
const blockBytes = 65_280
/** Level 6 takes half as much time again, for files that are a tenth smaller. */
const compressionLevel = 3

export function isCompressed(path: string): boolean {
  return path.endsWith('.gz')
}

interface Block {
  readonly number: number
  readonly bytes: Buffer
}

/** Opens a segment for reading, also one that was compressed after it was listed. Throws as `openSync` does. */
export function openSegmentFile(path: string): { path: string; file: SegmentFile } {
  try {
    return { path, file: new SegmentFile(path) }
  } catch (cause) {
    const compressed = `${path}.gz`
    if (getErrorCode(cause) !== 'ENOENT' || isCompressed(path) || !isPresent(compressed))
      throw cause
    return { path: compressed, file: new SegmentFile(compressed) }
  }
}

/** An open segment. Everything that fails throws {@link DataFileError} with the place, or a system error. */
export class SegmentFile {
  readonly #path: string
  readonly #file: number
  /** Of a compressed segment: where each block begins, and where the last one ends. */
  readonly #blockOffsets: readonly number[] | undefined
  /** The last two that were read: records next to each other may be in both. */
  #recentBlocks: readonly Block[] = []

  constructor(path: string, compressed = isCompressed(path)) {
    this.#path = path
    this.#file = openSync(path, 'r')
    try {
      this.#blockOffsets = compressed ? readBlockOffsets(path, this.#file) : undefined
    } catch (cause) {
      this.close()
      throw cause
    }
  }

  /** The bytes from an offset on; fewer than asked for at the end of the segment. */
  read(offset: number, atMost: number): Buffer {
    if (this.#blockOffsets === undefined) return readAt(this.#file, offset, atMost)
    const parts: Buffer[] = []
    const end = offset + atMost
    for (let start = offset; start < end; ) {
      const number = Math.floor(start / blockBytes)
      const block = this.#readBlock(number, this.#blockOffsets)
      const part = block.subarray(start - number * blockBytes, end - number * blockBytes)
      if (part.length === 0) break
      parts.push(part)
      start += part.length
    }
    const [only] = parts
    return only !== undefined && parts.length === 1 ? only : Buffer.concat(parts)
  }

  /** Empty after the last one. */
  #readBlock(number: number, offsets: readonly number[]): Buffer {
    const known = this.#recentBlocks.find((block) => block.number === number)
    if (known) return known.bytes
    const [start, end] = [offsets[number], offsets[number + 1]]
    if (start === undefined || end === undefined) return Buffer.alloc(0)
    const bytes = inflate(this.#path, readAt(this.#file, start, end - start), start)
    this.#recentBlocks = [{ number, bytes }, ...this.#recentBlocks.slice(0, 1)]
    return bytes
  }

  close(): void {
    closeSync(this.#file)
  }
}

function inflate(path: string, member: Buffer, offset: number): Buffer {
  try {
    return gunzipSync(member, { chunkSize: blockBytes + 1 })
  } catch (cause) {
    const why = getErrorMessage(cause)
    throw new DataFileError(
      path,
      `the block at byte ${offset} cannot be decompressed: ${why}`,
      cause,
    )
  }
}

const memberMagic = '\x1f\x8b\x08\x04'
/** Where the extra field begins, and `BC` with its length and its value. */
const memberHeadBytes = 12
const sizeFieldBytes = 6
const offsetsHeadBytes = 4

function readBlockOffsets(path: string, file: number): readonly number[] {
  const fixed = memberHeadBytes + sizeFieldBytes + offsetsHeadBytes
  const head = readAt(file, 0, fixed)
  const hasOffsets =
    head.length === fixed &&
    head.toString('latin1', 0, 4) === memberMagic &&
    head.toString('latin1', fixed - 4, fixed - 2) === 'CG'
  const length = hasOffsets ? head.readUInt16LE(fixed - 2) : 0
  const bytes = readAt(file, fixed, length)
  if (length === 0 || bytes.length < length) {
    const rule = 'it is not compressed in blocks, or its first bytes are damaged'
    throw new DataFileError(path, `${rule}. Decompress it with gunzip`)
  }
  return Array.from({ length: length / 4 }, (_, index) => bytes.readUInt32LE(index * 4))
}

/** A member of BGZF, with the offsets of others if there are any. */
function encodeMember(content: Buffer, offsets: readonly number[] = []): Buffer {
  const deflated = deflateRawSync(content, { level: compressionLevel })
  const offsetsBytes = offsets.length === 0 ? 0 : offsetsHeadBytes + offsets.length * 4
  const extraBytes = sizeFieldBytes + offsetsBytes
  const head = Buffer.alloc(memberHeadBytes + extraBytes)
  const tail = Buffer.alloc(8)
  head.write(`${memberMagic}\0\0\0\0\0\xff`, 'latin1')
  head.writeUInt16LE(extraBytes, 10)
  head.write('BC\x02\0', memberHeadBytes, 'latin1')
  head.writeUInt16LE(head.length + deflated.length + tail.length - 1, memberHeadBytes + 4)
  if (offsetsBytes > 0) {
    const start = memberHeadBytes + sizeFieldBytes
    head.write('CG', start, 'latin1')
    head.writeUInt16LE(offsets.length * 4, start + 2)
    for (const [index, offset] of offsets.entries()) {
      head.writeUInt32LE(offset, start + offsetsHeadBytes + index * 4)
    }
  }
  tail.writeUInt32LE(crc32(content), 0)
  tail.writeUInt32LE(content.length, 4)
  return Buffer.concat([head, deflated, tail])
}

/**
 * Replaces a segment to which nothing is written anymore by its compressed form, block by block. The
 * segment is removed once the copy is on disk and has been compared. A file at `compressedPath` is
 * replaced.
 */
export function compressSegment(path: string, compressedPath = `${path}.gz`): void {
  const source = openSync(path, 'r')
  const aside = `${compressedPath}.tmp`
  try {
    writeCompressed(source, aside)
    requireSameBytes(source, aside)
  } finally {
    closeSync(source)
  }
  moveIntoPlace(aside, compressedPath)
  unlinkSync(path)
}

function writeCompressed(source: number, path: string): void {
  const blocks = Math.ceil(fstatSync(source).size / blockBytes)
  const target = openSync(path, 'w', 0o600)
  try {
    const offsets: number[] = []
    // Their place is known before they are.
    let end = encodeMember(Buffer.alloc(0), new Array(blocks + 1).fill(0)).length
    for (let number = 0; number < blocks; number += 1) {
      offsets.push(end)
      end += writeAt(target, encodeMember(readAt(source, number * blockBytes, blockBytes)), end)
    }
    writeAt(target, encodeMember(Buffer.alloc(0)), end)
    writeAt(target, encodeMember(Buffer.alloc(0), [...offsets, end]), 0)
    fsyncSync(target)
  } finally {
    closeSync(target)
  }
}

function requireSameBytes(source: number, copyPath: string): void {
  const copy = new SegmentFile(copyPath, true)
  try {
    const { size } = fstatSync(source)
    for (let offset = 0; offset <= size; offset += blockBytes) {
      const block = readAt(source, offset, blockBytes)
      if (copy.read(offset, blockBytes).equals(block)) continue
      throw new DataFileError(
        copyPath,
        'the compressed segment does not have the bytes of the segment',
      )
    }
  } finally {
    copy.close()
  }
}

/** Fewer bytes than asked for at the end of the file. */
function readAt(file: number, offset: number, atMost: number): Buffer {
  const length = Math.max(0, Math.min(atMost, fstatSync(file).size - offset))
  const bytes = Buffer.allocUnsafe(length)
  let read = 0
  while (read < length) {
    const count = readSync(file, bytes, read, length - read, offset + read)
    if (count === 0) break
    read += count
  }
  return bytes.subarray(0, read)
}

/** Returns the number of bytes. */
export function writeAt(file: number, bytes: Buffer, offset: number): number {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(file, bytes, written, bytes.length - written, offset + written)
  }
  return bytes.length
}
