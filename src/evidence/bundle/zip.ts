/**
 * Zip files whose bytes follow from names and contents alone: stored entries, a fixed time, and always the fields of Zip64, so
 * that sizes need not be known before and have no bound. The reader takes only such files, so that no byte of one can be another
 * without being noticed.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { type ByteSource, chunksOf, partOf } from '../byte-source.js'

export interface ZipEntry {
  readonly name: string
  readonly crc: number
  readonly size: number
  /** Of its header. */
  readonly offset: number
}

const localBytes = 30
/** Of the field with both sizes. */
const localExtraBytes = 20
const centralBytes = 46
/** Of the field with both sizes and the offset. */
const centralExtraBytes = 28
const endBytes = 56 + 20 + 22
/** 1980-01-01, the first day that a zip file can have. */
const date = 0x21
const zip64Version = 45
/** In the place of a value that is in the fields of Zip64. */
const elsewhere16 = 0xffff
const elsewhere32 = 0xffffffff

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value
})

/** Node 18 has no `crc32`, and the verifier runs there. */
function addToCrc(crc: number, bytes: Uint8Array): number {
  let value = ~crc
  for (const byte of bytes) value = (table[(value ^ byte) & 0xff] ?? 0) ^ (value >>> 8)
  return ~value >>> 0
}

const writeUint64 = (bytes: Buffer, value: number, offset: number): number =>
  bytes.writeBigUInt64LE(BigInt(value), offset)

/** What the header and the directory say of a file in the same way. */
function writeCommon(bytes: Buffer, { name, crc }: ZipEntry, extraBytes: number): void {
  bytes.writeUInt16LE(zip64Version, 0)
  bytes.writeUInt16LE(date, 8)
  bytes.writeUInt32LE(crc, 10)
  bytes.writeUInt32LE(elsewhere32, 14)
  bytes.writeUInt32LE(elsewhere32, 18)
  bytes.writeUInt16LE(Buffer.byteLength(name), 22)
  bytes.writeUInt16LE(extraBytes, 24)
}

function encodeExtra(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 + 8 * values.length)
  bytes.writeUInt16LE(1, 0)
  bytes.writeUInt16LE(8 * values.length, 2)
  values.forEach((value, index) => {
    writeUint64(bytes, value, 4 + 8 * index)
  })
  return bytes
}

function encodeLocal(entry: ZipEntry): Buffer {
  const bytes = Buffer.alloc(localBytes)
  bytes.writeUInt32LE(0x04034b50, 0)
  writeCommon(bytes.subarray(4), entry, localExtraBytes)
  return Buffer.concat([bytes, Buffer.from(entry.name), encodeExtra(entry.size, entry.size)])
}

function encodeCentral(entry: ZipEntry): Buffer {
  const bytes = Buffer.alloc(centralBytes)
  bytes.writeUInt32LE(0x02014b50, 0)
  bytes.writeUInt16LE(zip64Version, 4)
  writeCommon(bytes.subarray(6), entry, centralExtraBytes)
  bytes.writeUInt32LE(elsewhere32, 42)
  const { name, size, offset } = entry
  return Buffer.concat([bytes, Buffer.from(name), encodeExtra(size, size, offset)])
}

function encodeEnd(count: number, start: number, end: number): Buffer {
  const bytes = Buffer.alloc(endBytes)
  bytes.writeUInt32LE(0x06064b50, 0)
  writeUint64(bytes, 44, 4)
  bytes.writeUInt16LE(zip64Version, 12)
  bytes.writeUInt16LE(zip64Version, 14)
  writeUint64(bytes, count, 24)
  writeUint64(bytes, count, 32)
  writeUint64(bytes, end - start, 40)
  writeUint64(bytes, start, 48)
  bytes.writeUInt32LE(0x07064b50, 56)
  writeUint64(bytes, end, 64)
  bytes.writeUInt32LE(1, 72)
  bytes.writeUInt32LE(0x06054b50, 76)
  bytes.writeUInt16LE(elsewhere16, 84)
  bytes.writeUInt16LE(elsewhere16, 86)
  bytes.writeUInt32LE(elsewhere32, 88)
  bytes.writeUInt32LE(elsewhere32, 92)
  return bytes
}

function encodeDirectory(entries: readonly ZipEntry[], start: number): Buffer {
  const central = Buffer.concat(entries.map(encodeCentral))
  return Buffer.concat([central, encodeEnd(entries.length, start, start + central.length)])
}

export class ZipWriter {
  readonly #file: number
  readonly #entries: ZipEntry[] = []
  #offset = 0

  constructor(path: string) {
    this.#file = openSync(path, 'wx', 0o600)
  }

  async add(name: string, chunks: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<void> {
    const offset = this.#offset
    this.#write(encodeLocal({ name, crc: 0, size: 0, offset }))
    let crc = 0
    let size = 0
    for await (const chunk of chunks) {
      this.#write(chunk)
      crc = addToCrc(crc, chunk)
      size += chunk.length
    }
    const entry = { name, crc, size, offset }
    const header = encodeLocal(entry)
    writeSync(this.#file, header, 0, header.length, offset)
    this.#entries.push(entry)
  }

  finish(): void {
    this.#write(encodeDirectory(this.#entries, this.#offset))
  }

  close(): void {
    closeSync(this.#file)
  }

  #write(bytes: Buffer): void {
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(this.#file, bytes, done, bytes.length - done, this.#offset + done)
    }
    this.#offset += bytes.length
  }
}

/** The files by name. Throws `RangeError` unless it is exactly what {@link ZipWriter} writes for them. */
export function openZip(zip: ByteSource): Map<string, ByteSource> {
  const files = new Map<string, ByteSource>()
  const entries: ZipEntry[] = []
  let offset = 0
  for (;;) {
    const fixed = zip.read(offset, localBytes)
    if (fixed.length < localBytes || fixed.readUInt32LE(0) !== 0x04034b50) break
    const nameBytes = fixed.readUInt16LE(26)
    const header = zip.read(offset, localBytes + nameBytes + localExtraBytes)
    const start = offset + header.length
    if (header.length < localBytes + nameBytes + localExtraBytes) throw new RangeError(cutOff)
    const name = header.subarray(localBytes, localBytes + nameBytes).toString()
    const size = Number(header.readBigUInt64LE(localBytes + nameBytes + 4))
    if (size > zip.size - start) throw new RangeError(cutOff)
    if (files.has(name)) throw new RangeError(`the zip file has ${name} twice`)
    const content = partOf(zip, start, size)
    let crc = 0
    for (const chunk of chunksOf(content)) crc = addToCrc(crc, chunk)
    const entry = { name, size, crc, offset }
    if (!encodeLocal(entry).equals(header)) {
      throw new RangeError(`${name} in the zip file is damaged`)
    }
    entries.push(entry)
    files.set(name, content)
    offset = start + size
  }
  const directory = encodeDirectory(entries, offset)
  // One byte more, so that nothing may follow it.
  if (directory.equals(zip.read(offset, directory.length + 1))) return files
  throw new RangeError('the directory of the zip file does not fit its files')
}

const cutOff = 'the zip file is cut off'
