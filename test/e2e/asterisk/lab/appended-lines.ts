/** Reads the lines of a growing file, each once. */
import { closeSync, existsSync, openSync, readSync } from 'node:fs'

export class AppendedLines {
  readonly #path: string
  readonly #bytes = Buffer.alloc(262_144)
  #offset = 0
  #rest = ''

  constructor(path: string) {
    this.#path = path
  }

  /** The whole lines that have come since the last call; none while there is no file. */
  read(): readonly string[] {
    if (!existsSync(this.#path)) return []
    const file = openSync(this.#path, 'r')
    try {
      for (;;) {
        const count = readSync(file, this.#bytes, 0, this.#bytes.length, this.#offset)
        if (count === 0) break
        this.#offset += count
        this.#rest += this.#bytes.toString('latin1', 0, count)
      }
    } finally {
      closeSync(file)
    }
    const lines = this.#rest.split('\n')
    this.#rest = lines.pop() ?? ''
    return lines
  }
}
