/**
 * The prepared files of a numbering folder, joined: prefixes of each country with the classes of
 * companies, and thousands blocks. Which facts a number gets from them is told in `numbering-plan.ts`.
 */
import type { Country } from '../../domain/place.js'
import { DataFileError } from '../../errors.js'
import { readFileStamp } from '../../runtime/folders.js'
import { yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'
import {
  type PreparedFileReader,
  readPreparedFile,
  readPreparedFilesInBackground,
} from '../files/prepared-files.js'
import { ImportedPrefixes } from './imported-prefixes.js'
import { type OcnClasses, ocnFileKind, readOcnClasses, resolveOcnFilePath } from './line-class.js'
import { getTableFileKind, numberingTableNames, resolveTablePath } from './numbering-table.js'
import { PrefixBlocks } from './prefix-blocks.js'

/** A prepared file that cannot be used. */
export interface NumberingProblem {
  readonly path: string
  /** What is wrong, with the path. */
  readonly detail: string
  /** What was read before the damage is still in use; otherwise {@link blocked} holds. */
  readonly olderInUse: boolean
  /** Countries of which no number is known, since the file may say anything about them. */
  readonly blocked: readonly Country[]
}

export interface NumberingFiles {
  /** Without the countries that a problem blocks. */
  readonly imported: ReadonlyMap<Country, ImportedPrefixes>
  readonly blocks: PrefixBlocks | undefined
  readonly classes: OcnClasses
  readonly problems: readonly NumberingProblem[]
}

const countries: readonly Country[] = ['US', 'CA']

/** Files that are damaged or cannot be read are among the problems. */
export function loadNumbering(folder: string): NumberingFiles {
  const steps = loadSteps(folder, readPreparedFile)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** The same beside other work; a part whose file is damaged stays as it is in `older`. */
export async function loadNumberingInBackground(
  folder: string,
  older: NumberingFiles,
): Promise<NumberingFiles> {
  const read = await readPreparedFilesInBackground([
    ...numberingTableNames.map(
      (name) => [resolveTablePath(folder, name), getTableFileKind(name)] as const,
    ),
    [resolveOcnFilePath(folder), ocnFileKind],
  ])
  const steps = loadSteps(folder, read, older)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    await yieldToEventLoop()
  }
}

/**
 * Without its file of company classes a country is not blocked: its lines are then of unknown class,
 * which is judged as strictly as wireless. Without the thousands blocks the prefix alone could name
 * the wrong place or call a wireless line wireline, so the US is blocked.
 */
function* loadSteps(
  folder: string,
  read: PreparedFileReader,
  older?: NumberingFiles,
): Generator<void, NumberingFiles> {
  const problems: NumberingProblem[] = []
  const part = <Part>(source: FilePart<Part>) => loadPart(source, { older, problems })
  const ofClasses = part({
    path: resolveOcnFilePath(folder),
    of: [],
    older: older?.classes,
    load: () => readOcnClasses(folder, read),
  })
  const classes = ofClasses ?? new Map()
  yield
  const imported = new Map<Country, ImportedPrefixes>()
  for (const country of countries) {
    const prefixes = part({
      path: resolveTablePath(folder, country),
      of: [country],
      load: () => ImportedPrefixes.load(folder, country, { classes, read }),
      older: older?.imported.get(country),
    })
    if (prefixes) imported.set(country, prefixes)
    yield
  }
  const blocks = part({
    path: resolveTablePath(folder, 'blocks'),
    of: ['US'],
    older: older?.blocks,
    load: () => PrefixBlocks.load(folder, { classes, read }),
  })
  for (const country of listBlockedCountries(problems).keys()) imported.delete(country)
  return { imported, blocks, classes, problems }
}

interface FilePart<Part> {
  readonly path: string
  /** Countries that cannot be judged without it. */
  readonly of: readonly Country[]
  readonly load: () => Part
  readonly older: Part | undefined
}

interface LoadState {
  readonly older: NumberingFiles | undefined
  readonly problems: NumberingProblem[]
}

/** The part, or what is in use instead of it. */
function loadPart<Part>(
  { path, of, load, older: olderPart }: FilePart<Part>,
  { older, problems }: LoadState,
): Part | undefined {
  try {
    return load()
  } catch (cause) {
    // A read that fails while the program runs is tried again, since it may succeed later.
    if (!(cause instanceof DataFileError) && older) throw cause
    const detail = cause instanceof DataFileError ? cause.message : `${path}: ${String(cause)}`
    const wasBlocked = listBlockedCountries(older?.problems ?? [])
    const olderInUse = older !== undefined && !of.some((country) => wasBlocked.has(country))
    problems.push({ path, detail, olderInUse, blocked: olderInUse ? [] : of })
    return olderInUse ? olderPart : undefined
  }
}

/** What is wrong with the files of each country that is blocked. */
export function listBlockedCountries(
  problems: readonly NumberingProblem[],
): ReadonlyMap<Country, string> {
  const details = new Map<Country, string>()
  for (const { blocked, detail } of problems) {
    for (const country of blocked) if (!details.has(country)) details.set(country, detail)
  }
  return details
}

/** Changes whenever a prepared file is replaced. */
export function computeFingerprint(folder: string): string {
  const tables = numberingTableNames.map((name) => resolveTablePath(folder, name))
  return [...tables, resolveOcnFilePath(folder)].map(readFileStamp).join()
}
