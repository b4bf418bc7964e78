/** A piece of the file of a published version that another server asks for. */
import { type FileHandle, open } from 'node:fs/promises'
import { getErrorCode } from '../../../errors.js'
import { type ListFile, pieceBytes } from './list-files.js'

/** Fewer bytes than a whole piece at the end of the file. */
export async function readPieceOf(path: string, from: number): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    return await readAt(file, from, pieceBytes)
  } finally {
    await file.close()
  }
}

/** As {@link readPieceOf}; `undefined` if the file is missing or another version. */
export async function readPieceOfVersion(
  path: string,
  version: ListFile,
  from: number,
): Promise<Buffer | undefined> {
  return await withVersion(path, version, (file) => readAt(file, from, pieceBytes))
}

/** By the length of the file and the checksum at its end, without reading what is between. */
export async function hasVersion(path: string, version: ListFile): Promise<boolean> {
  return (await withVersion(path, version, async () => true)) === true
}

async function withVersion<Result>(
  path: string,
  { sha256, bytes }: ListFile,
  work: (file: FileHandle) => Promise<Result>,
): Promise<Result | undefined> {
  let file: FileHandle
  try {
    file = await open(path, 'r')
  } catch (cause) {
    if (getErrorCode(cause) === 'ENOENT') return undefined
    throw cause
  }
  try {
    const { size } = await file.stat()
    const checksumBytes = sha256.length / 2
    if (size !== bytes) return undefined
    const checksum = await readAt(file, size - checksumBytes, checksumBytes)
    return checksum.toString('hex') === sha256 ? await work(file) : undefined
  } finally {
    await file.close()
  }
}

async function readAt(file: FileHandle, from: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from)
  return buffer.subarray(0, bytesRead)
}
