/** A piece of a file that another server asks for. */
import { open } from 'node:fs/promises'
import { pieceBytes } from './list-files.js'

/** Fewer bytes than a whole piece at the end of the file. */
export async function readPieceOf(path: string, from: number): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(pieceBytes), 0, pieceBytes, from)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
