/** A fresh folder for each test of a file, removed afterwards. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'

export interface TempFolder {
  readonly path: string
  file(name: string): string
  write(name: string, content: string | Buffer): string
  /** What `build` writes into the folder is there before each test: built for the first, then copied. */
  startWith(build: () => Promise<unknown>): void
}

export function useTempFolder(): TempFolder {
  let path = ''
  beforeEach(() => {
    path = mkdtempSync(join(tmpdir(), 'callgate-'))
  })
  afterEach(() => rmSync(path, { recursive: true, force: true }))
  const file = (name: string) => join(path, name)
  return {
    get path() {
      return path
    },
    file,
    write(name, content) {
      writeFileSync(file(name), content)
      return file(name)
    },
    startWith(build) {
      let built: ReadonlyMap<string, Buffer> | undefined
      beforeEach(async () => {
        if (built) {
          for (const [name, bytes] of built) writeFileSync(file(name), bytes)
          return
        }
        await build()
        built = new Map(readdirSync(path).map((name) => [name, readFileSync(file(name))]))
      })
    },
  }
}
