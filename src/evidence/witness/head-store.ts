/** The newest head of each log that a witness has seen: one file for each log, named for the SHA-256 of its origin. */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getErrorCode } from '../../errors.js'
import { moveIntoPlace, syncFolder } from '../../runtime/folders.js'

export const hashOrigin = (origin: string): string =>
  createHash('sha256').update(origin).digest('hex')

export class HeadStore {
  readonly #folder: string
  /** The logs whose last write failed: nobody knows what a crash would leave of them. */
  readonly #uncertain = new Set<string>()

  /** The folder must exist. */
  constructor(folder: string) {
    this.#folder = folder
    // What a process that was killed had renamed may not be on disk.
    syncFolder(folder)
  }

  /** The signed checkpoint; `undefined` if there is none. It is on disk when this returns. */
  read(originHash: string): string | undefined {
    try {
      const head = readFileSync(this.#path(originHash), 'utf8')
      if (this.#uncertain.has(originHash)) this.write(originHash, head)
      return head
    } catch (cause) {
      if (getErrorCode(cause) === 'ENOENT') return undefined
      throw cause
    }
  }

  /** It is on disk when this returns. */
  write(originHash: string, checkpoint: string): void {
    const path = this.#path(originHash)
    this.#uncertain.add(originHash)
    writeFileSync(`${path}.tmp`, checkpoint, { mode: 0o600, flush: true })
    moveIntoPlace(`${path}.tmp`, path)
    this.#uncertain.delete(originHash)
  }

  #path(originHash: string): string {
    return join(this.#folder, `${originHash}.checkpoint`)
  }
}
