/** Files of published lists in a folder that all servers have mounted. */
import { rmSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DataFileError, getErrorMessage } from '../../../errors.js'
import { ensureFolder, moveIntoPlace, syncFile } from '../../../runtime/folders.js'
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
    const aside = `${target}.${process.pid}.part`
    try {
      ensureFolder(this.#folder)
      await copyFile(path, aside)
      syncFile(aside)
      moveIntoPlace(aside, target)
    } catch (cause) {
      rmSync(aside, { force: true })
      throw new DataFileError(target, `cannot be written: ${getErrorMessage(cause)}`, cause)
    }
  }

  async readPiece(file: ListFile, from: number): Promise<Uint8Array> {
    return await readPieceOf(this.#resolve(file), from)
  }

  async remove(file: ListFile): Promise<void> {
    rmSync(this.#resolve(file), { force: true })
  }

  #resolve(file: ListFile): string {
    return join(this.#folder, toFileName(file))
  }
}
