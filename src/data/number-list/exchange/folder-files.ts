/** Files of published lists in a folder that all servers have mounted. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DataFileError, getErrorMessage } from '../../../errors.js'
import { copyIntoPlace, ensureFolder } from '../../../runtime/folders.js'
import { type ListFile, type ListFiles, toFileName } from './list-files.js'
import { readPieceOf } from './read-piece.js'

export class FolderFiles implements ListFiles {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  get place(): string {
    return `the folder ${this.#folder}`
  }

  async put(file: ListFile, path: string): Promise<void> {
    const target = this.#resolve(file)
    try {
      ensureFolder(this.#folder)
      await copyIntoPlace(path, target)
    } catch (cause) {
      throw new DataFileError(target, `cannot be written: ${getErrorMessage(cause)}`, cause)
    }
  }

  async readPiece(file: ListFile, from: number): Promise<Uint8Array> {
    return await readPieceOf(this.#resolve(file), from)
  }

  /** There is no other place. */
  avoidSource(): void {}

  async remove(file: ListFile): Promise<void> {
    await rm(this.#resolve(file), { force: true })
  }

  #resolve(file: ListFile): string {
    return join(this.#folder, toFileName(file))
  }
}
