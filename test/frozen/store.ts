/** The frozen calls in their file: a line of JSON for each world with what came of it, compressed. */
import { hash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import type { Result, World } from './script.js'

export interface Frozen {
  readonly world: World
  readonly result: Result
}

const frozenFile = join(import.meta.dirname, 'calls.jsonl.br')
const changedFile = join(import.meta.dirname, 'changed.jsonl')

/** A difference that is wanted. The calls stay as they were frozen. */
export interface Changed {
  /** `<world>/<place of the call>`, or `<world>/acts`. */
  readonly case: string
  readonly before: unknown
  readonly after: unknown
  readonly reason: string
}

export function readFrozen(): { readonly frozen: readonly Frozen[]; readonly sha256: string } {
  const bytes = readFileSync(frozenFile)
  const lines = brotliDecompressSync(bytes).toString().trim().split('\n')
  return { frozen: lines.map((line) => JSON.parse(line)), sha256: hash('sha256', bytes) }
}

export function readChanged(): readonly Changed[] {
  const lines = readFileSync(changedFile, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line))
}

/** Throws if there are frozen calls: what differs is a line of `changed.jsonl`. */
export function writeFrozen(frozen: readonly Frozen[]): string {
  if (existsSync(frozenFile)) throw new Error(`${frozenFile} is written once`)
  const text = frozen.map((one) => `${JSON.stringify(one)}\n`).join('')
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 9,
    [constants.BROTLI_PARAM_LGWIN]: 24,
    [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
  }
  const bytes = brotliCompressSync(text, { params })
  writeFileSync(frozenFile, bytes)
  return hash('sha256', bytes)
}
