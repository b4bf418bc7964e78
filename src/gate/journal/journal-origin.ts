/** The name of a journal. */
import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Instant } from '../../domain/time/clock.js'
import { formatDay, toUtcDay } from '../../domain/time/dates.js'
import { countLossFirst, DataFileError } from '../../errors.js'
import { ensureFolder, isPresent, readWholeFile, syncFolder } from '../../runtime/folders.js'
import { readFormerOrigins } from './journal-beginning.js'
import { listSegments } from './journal-reader.js'

/**
 * SHA-256 of the name of a journal, which is in a file beside its records, from the day it was begun. A
 * journal without records gets one. Throws {@link DataFileError} if there are records and no name, or the journal was
 * about to get a new one.
 */
export function readOrigin(folder: string, now: Instant): Buffer {
  if (!isPresent(originPath(folder))) beginJournal(folder, now)
  const name = readOriginName(folder)
  if (readFormerOrigins(folder).at(-1)?.origin === name) {
    const advice = 'Finish it: callgate evidence new-origin --because <what happened>'
    throw new DataFileError(originPath(folder), `the journal was being given a new name. ${advice}`)
  }
  return hashOriginName(name)
}

/** As it is in the headers of segments. */
export const hashOriginName = (name: string): Buffer =>
  createHash('sha256').update(`${name}\n`).digest()

export const originPath = (folder: string): string => join(folder, 'origin')

/** The name of a journal that has one. */
export function readOriginName(folder: string): string {
  return readWholeFile(originPath(folder)).toString().trimEnd()
}

export function chooseOriginName(now: Instant): string {
  return `callgate/journal/${formatDay(toUtcDay(now))}-${randomBytes(4).toString('hex')}`
}

function beginJournal(folder: string, now: Instant): void {
  const path = originPath(folder)
  ensureFolder(folder)
  const [segment] = listSegments(folder)
  if (segment) {
    const rule = `the file is missing, but there is ${segment.path}. Restore it from a backup${countLossFirst}`
    throw new DataFileError(path, rule)
  }
  writeFileSync(path, `${chooseOriginName(now)}\n`, { flag: 'wx', mode: 0o600, flush: true })
  syncFolder(folder)
}
