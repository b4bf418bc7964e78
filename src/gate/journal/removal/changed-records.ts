/**
 * Which records an erasure has changed, in a file that is on disk before they are: whoever checks the journal must be able
 * to tell a record without its number from one that was forged. The file is removed once a notice in the journal says it.
 */
import { appendFileSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { syncFolder } from '../../../runtime/folders.js'

/** The first and last number of consecutive records. */
export type SeqRange = readonly [first: number, last: number]

/** The body of a notice about an erasure. */
export interface ErasureNotice {
  readonly erasure: string
  readonly changed: readonly SeqRange[]
}

const pathOf = (folder: string, erasure: string) => join(folder, `${erasure}.changed`)

export function addChangedRecords(folder: string, erasure: string, seqs: readonly number[]): void {
  const line = `${seqs.join(',')}\n`
  appendFileSync(pathOf(folder, erasure), line, { mode: 0o600, flush: true })
  syncFolder(folder)
}

/** `undefined` if it has changed none that are not noted. */
export function readChangedRecords(folder: string, erasure: string): ErasureNotice | undefined {
  const names = readdirSync(folder)
  if (!names.includes(`${erasure}.changed`)) return undefined
  const text = readFileSync(pathOf(folder, erasure), 'utf8')
  // A line that a crash left unfinished is about a segment that was not changed, and its number may be cut off.
  const lines = text.slice(0, text.lastIndexOf('\n') + 1)
  const seqs = new Set(
    lines
      .split(/[,\n]/)
      .filter((part) => part !== '')
      .map(Number),
  )
  return { erasure, changed: toRanges([...seqs].sort((a, b) => a - b)) }
}

/** Those of erasures that a crash kept from being noted. */
export function listChangedRecords(folder: string): readonly ErasureNotice[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.changed'))
    .flatMap((name) => readChangedRecords(folder, name.replace(/\.changed$/, '')) ?? [])
}

export function forgetChangedRecords(folder: string, erasure: string): void {
  rmSync(pathOf(folder, erasure), { force: true })
}

function toRanges(sorted: readonly number[]): readonly SeqRange[] {
  const ranges: [number, number][] = []
  for (const seq of sorted) {
    const last = ranges.at(-1)
    if (last?.[1] === seq - 1) last[1] = seq
    else ranges.push([seq, seq])
  }
  return ranges
}
