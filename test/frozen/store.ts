/** The frozen calls in their files: a line of JSON for each world with what came of it, compressed. */
import { hash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import type { Result, World } from './script.js'

export interface Frozen {
  readonly world: World
  readonly result: Result
}

/** Each is written once. */
export const frozenFiles = ['calls.jsonl.br', 'more-calls.jsonl.br'] as const
type FrozenFile = (typeof frozenFiles)[number]

const pathOf = (file: FrozenFile) => join(import.meta.dirname, file)
const changedFile = join(import.meta.dirname, 'changed.jsonl')

/** A difference that is wanted. The calls stay as they were frozen. */
export interface Changed {
  /** `<world>/<place of the call>`, or `<world>/acts`. */
  readonly case: string
  readonly before: unknown
  readonly after: unknown
  readonly reason: string
}

/** `sha256` of each file. */
export function readFrozen(): {
  readonly frozen: readonly Frozen[]
  readonly sha256: Readonly<Record<string, string>>
} {
  const files = frozenFiles.map((file) => ({ file, bytes: readFileSync(pathOf(file)) }))
  const lines = files.flatMap(({ bytes }) =>
    brotliDecompressSync(bytes).toString().trim().split('\n'),
  )
  return {
    frozen: lines.map((line) => JSON.parse(line)),
    sha256: Object.fromEntries(files.map(({ file, bytes }) => [file, hash('sha256', bytes)])),
  }
}

export const isWritten = (file: FrozenFile): boolean => existsSync(pathOf(file))

export function readChanged(): readonly Changed[] {
  const lines = readFileSync(changedFile, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line))
}

/** Throws if there is such a file: what differs is a line of `changed.jsonl`. */
export function writeFrozen(file: FrozenFile, frozen: readonly Frozen[]): void {
  if (isWritten(file)) throw new Error(`${file} is written once`)
  const text = frozen.map((one) => `${JSON.stringify(one)}\n`).join('')
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 9,
    [constants.BROTLI_PARAM_LGWIN]: 24,
    [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
  }
  writeFileSync(pathOf(file), brotliCompressSync(text, { params }))
}
