/**
 * Loads the prepared files of a numbering folder: the prefixes of each country joined with the company
 * classes, and the thousands blocks. `numbering-plan.ts` derives the facts of a number from them.
 */
import { type Country, countries } from '../../domain/place.js'
import { DataFileError } from '../../errors.js'
import { readFileStamp, readFileStampInBackground } from '../../runtime/folders.js'
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
  /** Describes the problem, including the path. */
  readonly detail: string
  /** Whether older content is still in use; otherwise {@link blocked} applies. */
  readonly olderInUse: boolean
  /** Countries whose numbers are all unknown, since the damaged file may contain any of them. */
  readonly blocked: readonly Country[]
}

/** The only version of a file that may be used, since several servers share it. */
export interface NumberingVersion {
  /** In hex. */
  readonly sha256: string
  /** For people: what is wrong while the folder does not have it. */
  readonly whenMissing: string
  /** Countries whose numbers are unknown without it. */
  readonly blocks: readonly Country[]
}

/** By the path of the file. */
export type NumberingInForce = ReadonlyMap<string, NumberingVersion>

export interface NumberingFiles {
  /** Excludes the countries that a problem blocks. */
  readonly imported: ReadonlyMap<Country, ImportedPrefixes>
  readonly blocks: PrefixBlocks | undefined
  readonly classes: OcnClasses
  /** SHA-256 of the files in use, in hex, by their paths. */
  readonly digests: ReadonlyMap<string, string>
  readonly problems: readonly NumberingProblem[]
}

/** Loads the files; damaged or unreadable ones are reported as problems. */
export function loadNumbering(folder: string): NumberingFiles {
  const steps = loadSteps(folder, readPreparedFile)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/**
 * Like {@link loadNumbering}, but yields to other work. A damaged file leaves its part of `older` in use; so does one
 * that is not in force, while that part is.
 */
export async function loadNumberingInBackground(
  folder: string,
  older: NumberingFiles,
  inForce: NumberingInForce,
): Promise<NumberingFiles> {
  const read = await readPreparedFilesInBackground([
    ...numberingTableNames.map(
      (name) => [resolveTablePath(folder, name), getTableFileKind(name)] as const,
    ),
    [resolveOcnFilePath(folder), ocnFileKind],
  ])
  const steps = loadSteps(folder, read, { older, inForce })
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    await yieldToEventLoop()
  }
}

/**
 * A damaged file of company classes blocks no country, since lines of unknown class are treated as
 * strictly as wireless ones. A damaged file of thousands blocks blocks the US, since the prefix alone
 * could give the wrong place or class a wireless line as wireline.
 */
function* loadSteps(
  folder: string,
  readFile: PreparedFileReader,
  { older, inForce }: { readonly older?: NumberingFiles; readonly inForce?: NumberingInForce } = {},
): Generator<void, NumberingFiles> {
  const problems: NumberingProblem[] = []
  const digests = new Map<string, string>()
  const read: PreparedFileReader = (path, kind) => {
    const file = readFile(path, kind)
    if (file) digests.set(path, file.digest)
    return file
  }
  const part = <Part>(source: FilePart<Part>) =>
    loadPart(source, { older, inForce, problems, digests })
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
  return { imported, blocks, classes, digests, problems }
}

interface FilePart<Part> {
  readonly path: string
  /** Countries that are blocked without this part. */
  readonly of: readonly Country[]
  readonly load: () => Part
  readonly older: Part | undefined
}

interface LoadState {
  readonly older: NumberingFiles | undefined
  readonly inForce: NumberingInForce | undefined
  readonly problems: NumberingProblem[]
  readonly digests: Map<string, string>
}

/** Loads a part, or returns what remains in use instead. */
function loadPart<Part>(
  { path, of, load, older: olderPart }: FilePart<Part>,
  { older, inForce, problems, digests }: LoadState,
): Part | undefined {
  const olderDigest = older?.digests.get(path)
  const keepOlder = () => {
    if (olderDigest !== undefined) digests.set(path, olderDigest)
    return olderPart
  }
  try {
    const part = load()
    const wanted = inForce?.get(path)?.sha256
    return wanted !== undefined && wanted === olderDigest ? keepOlder() : part
  } catch (cause) {
    // While the program runs, a failed read is retried by the caller, since it may succeed later.
    if (!(cause instanceof DataFileError) && older) throw cause
    const detail = cause instanceof DataFileError ? cause.message : `${path}: ${String(cause)}`
    const wasBlocked = listBlockedCountries(older?.problems ?? [])
    const olderInUse = older !== undefined && !of.some((country) => wasBlocked.has(country))
    problems.push({ path, detail, olderInUse, blocked: olderInUse ? [] : of })
    return olderInUse ? keepOlder() : undefined
  }
}

/** The versions in force that are not in use. */
export function listMissingVersions(
  inForce: NumberingInForce,
  { digests }: Pick<NumberingFiles, 'digests'>,
): readonly NumberingProblem[] {
  return [...inForce].flatMap(([path, { sha256, whenMissing, blocks }]) => {
    if (digests.get(path) === sha256) return []
    return [{ path, detail: `${path}: ${whenMissing}`, olderInUse: false, blocked: blocks }]
  })
}

/** The blocked countries, with the problem of their files. */
export function listBlockedCountries(
  problems: readonly NumberingProblem[],
): ReadonlyMap<Country, string> {
  const details = new Map<Country, string>()
  for (const { blocked, detail } of problems) {
    for (const country of blocked) if (!details.has(country)) details.set(country, detail)
  }
  return details
}

/** A fingerprint that changes whenever a prepared file is replaced. */
export function computeFingerprint(folder: string): string {
  return listPaths(folder).map(readFileStamp).join()
}

/** Like {@link computeFingerprint}, but does not wait for the disk. */
export async function computeFingerprintInBackground(folder: string): Promise<string> {
  return (await Promise.all(listPaths(folder).map(readFileStampInBackground))).join()
}

function listPaths(folder: string): readonly string[] {
  const tables = numberingTableNames.map((name) => resolveTablePath(folder, name))
  return [...tables, resolveOcnFilePath(folder)]
}
