/**
 * With which record a journal begins: the first one, or, once the oldest segments were removed on purpose, the one that the
 * last notice of that names. The file `begins.json` has a copy of it (`recovery/signed-beginning.ts` compares them), so that a segment
 * that is missing for another reason is noticed. And the names that it had before, in the file `former-origins.json`.
 */
import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant, parseInstant } from '../../domain/time/dates.js'
import { countLossFirst, DataFileError, getErrorCode } from '../../errors.js'
import { isPresent, moveIntoPlace, readWholeFile } from '../../runtime/folders.js'

export interface JournalBeginning {
  /** Sequence number of the first record. */
  readonly firstSeq: number
  /** Decisions before this instant were removed; 0 if none were. */
  readonly removedBefore: Instant
  /** Number of the notice that says so; `undefined` while the journal begins with its first record. */
  readonly notice: number | undefined
}

export function beginningPath(folder: string): string {
  return join(folder, 'begins.json')
}

/** As the file says. Throws {@link DataFileError} if it is damaged. */
export function readBeginning(folder: string): JournalBeginning {
  const path = beginningPath(folder)
  return isPresent(path) ? parseBeginning(path, readWholeFile(path).toString()) : firstBeginning
}

/** As {@link readBeginning}, without holding the thread. */
export async function readBeginningInBackground(folder: string): Promise<JournalBeginning> {
  const path = beginningPath(folder)
  try {
    return parseBeginning(path, await readFile(path, 'utf8'))
  } catch (cause) {
    if (getErrorCode(cause) === 'ENOENT') return firstBeginning
    throw cause
  }
}

const firstBeginning: JournalBeginning = { firstSeq: 1, removedBefore: 0, notice: undefined }

function parseBeginning(path: string, text: string): JournalBeginning {
  const { firstSeq, removedBefore, notice } = parseContent(text)
  const before = typeof removedBefore === 'string' ? parseInstant(removedBefore) : undefined
  if (isSeq(firstSeq) && isSeq(notice) && before !== undefined) {
    return { firstSeq, removedBefore: before, notice }
  }
  const rule =
    'the file must have the number firstSeq of the first record in the journal, the time removedBefore, and the number notice ' +
    'of the record that says so, such as {"firstSeq":1201,"removedBefore":"2021-11-01T00:00:00Z","notice":98011}'
  throw new DataFileError(path, `${rule}. Restore it from a backup${countLossFirst}`)
}

const isSeq = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0

/** Empty if it is no JSON object. */
function parseContent(
  text: string,
): Partial<Record<keyof JournalBeginning | 'formerOrigins', unknown>> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

/** It is on disk when this returns. The notice must be signed. */
export function writeBeginning(folder: string, begins: JournalBeginning): void {
  const path = beginningPath(folder)
  const content = { ...begins, removedBefore: formatInstant(begins.removedBefore) }
  const aside = `${path}.tmp`
  writeFileSync(aside, `${JSON.stringify(content)}\n`, { mode: 0o600, flush: true })
  moveIntoPlace(aside, path)
}

/** A name that a journal had before it was rolled back or restored. Its records up to then are those of this journal. */
export interface FormerOrigin {
  readonly origin: string
  /** That checks its signatures: `name+id+key`. */
  readonly key: string
  /** Number of the last record that it had signed or sealed. The one after it is that of the first start under the next name. */
  readonly size: number
  readonly because: string
  /** An ISO 8601 instant. */
  readonly at: string
  /** The name that came after it. */
  readonly next: string
}

export function formerOriginsPath(folder: string): string {
  return join(folder, 'former-origins.json')
}

/** In their order. Throws {@link DataFileError} if the file is damaged. */
export function readFormerOrigins(folder: string): readonly FormerOrigin[] {
  const path = formerOriginsPath(folder)
  if (!isPresent(path)) return []
  const { formerOrigins } = parseContent(readWholeFile(path).toString())
  if (Array.isArray(formerOrigins) && formerOrigins.every(isFormerOrigin)) return formerOrigins
  throw new DataFileError(
    path,
    `the file must list formerOrigins. Restore it from a backup${countLossFirst}`,
  )
}

export function isFormerOrigin(value: Partial<Record<keyof FormerOrigin, unknown>>): boolean {
  const { origin, key, next, size } = Object(value)
  const isText = [origin, key, next].every((text) => typeof text === 'string')
  return isText && Number.isSafeInteger(size) && size >= 0
}

/** It is on disk when this returns. */
export function writeFormerOrigins(folder: string, formerOrigins: readonly FormerOrigin[]): void {
  const path = formerOriginsPath(folder)
  const content = `${JSON.stringify({ formerOrigins }, null, 2)}\n`
  writeFileSync(`${path}.tmp`, content, { mode: 0o600, flush: true })
  moveIntoPlace(`${path}.tmp`, path)
}
