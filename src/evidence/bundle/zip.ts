/**
 * Zip files whose bytes follow from names and contents alone: stored entries, a fixed time, no extra fields. The reader
 * takes only such files, so that no byte of one can be another without being noticed.
 */
import { closeSync, openSync, writeSync } from 'node:fs'

export interface ZipEntry {
  readonly name: string
  readonly crc: number
  readonly size: number
  /** Of its header. */
  readonly offset: number
}

const localBytes = 30
const centralBytes = 46
const endBytes = 22
/** 1980-01-01, the first day that a zip file can have. */
const date = 0x21
const maxZipBytes = 2 ** 31 - 1
const maxZipEntries = 65_534

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

function encodeLocal({ name, crc, size }: ZipEntry): Buffer {
  const bytes = Buffer.alloc(localBytes)
  bytes.writeUInt32LE(0x04034b50, 0)
  bytes.writeUInt16LE(20, 4)
  bytes.writeUInt16LE(date, 12)
  bytes.writeUInt32LE(crc, 14)
  bytes.writeUInt32LE(size, 18)
  bytes.writeUInt32LE(size, 22)
  bytes.writeUInt16LE(Buffer.byteLength(name), 26)
  return Buffer.concat([bytes, Buffer.from(name)])
}

function encodeDirectory(entries: readonly ZipEntry[], offset: number): Buffer {
  const central = entries.map((entry) => {
    const bytes = Buffer.alloc(centralBytes)
    bytes.writeUInt32LE(0x02014b50, 0)
    bytes.writeUInt16LE(20, 4)
    encodeLocal(entry).copy(bytes, 6, 4, localBytes)
    bytes.writeUInt32LE(entry.offset, 42)
    return Buffer.concat([bytes, Buffer.from(entry.name)])
  })
  const end = Buffer.alloc(endBytes)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(
    central.reduce((sum, one) => sum + one.length, 0),
    12,
  )
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...central, end])
}

export class ZipWriter {
  readonly #file: number
  readonly #entries: ZipEntry[] = []
  #offset = 0

  constructor(path: string) {
    this.#file = openSync(path, 'wx', 0o600)
  }

  /** Throws `RangeError` if the zip file becomes too large. */
  add(name: string, chunks: Iterable<Buffer>): void {
    const offset = this.#offset
    this.#write(encodeLocal({ name, crc: 0, size: 0, offset }))
    let crc = 0
    let size = 0
    for (const chunk of chunks) {
      this.#write(chunk)
      crc = addToCrc(crc, chunk)
      size += chunk.length
    }
    const entry = { name, crc, size, offset }
    const header = encodeLocal(entry)
    writeSync(this.#file, header, 0, header.length, offset)
    this.#entries.push(entry)
    if (this.#entries.length > maxZipEntries) throw new RangeError('the bundle has too many files')
  }

  finish(): void {
    this.#write(encodeDirectory(this.#entries, this.#offset))
  }

  close(): void {
    closeSync(this.#file)
  }

  #write(bytes: Buffer): void {
    if (this.#offset + bytes.length > maxZipBytes) {
      throw new RangeError('the bundle would have more than 2 GiB: ask for a shorter time')
    }
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(this.#file, bytes, done, bytes.length - done, this.#offset + done)
    }
    this.#offset += bytes.length
  }
}

/** The contents by name. Throws `RangeError` unless it is exactly what {@link ZipWriter} writes for them. */
export function readZip(zip: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  const entries: ZipEntry[] = []
  let offset = 0
  while (offset + localBytes <= zip.length && zip.readUInt32LE(offset) === 0x04034b50) {
    const size = zip.readUInt32LE(offset + 18)
    const start = offset + localBytes + zip.readUInt16LE(offset + 26)
    const name = zip.subarray(offset + localBytes, start).toString()
    const content = zip.subarray(start, start + size)
    if (content.length !== size) throw new RangeError('the zip file is cut off')
    if (files.has(name)) throw new RangeError(`the zip file has ${name} twice`)
    const entry = { name, size, crc: addToCrc(0, content), offset }
    if (!encodeLocal(entry).equals(zip.subarray(offset, start))) {
      throw new RangeError(`${name} in the zip file is damaged`)
    }
    entries.push(entry)
    files.set(name, content)
    offset = start + size
  }
  if (encodeDirectory(entries, offset).equals(zip.subarray(offset))) return files
  throw new RangeError('the directory of the zip file does not fit its files')
}
