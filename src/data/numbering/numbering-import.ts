/**
 * Imports the downloaded files of the numbering administrators and the table of company classes
 * into the prepared files the program runs on. Each file is read and judged whole before anything
 * is replaced, so a bad download leaves the last good import in place.
 */
import type { Clock } from '../../domain/clock.js'
import type { Country } from '../../domain/place.js'
import type { BadLine } from '../feeds/bad-lines.js'
import { readCnac } from '../feeds/cnac.js'
import { readNanpa } from '../feeds/nanpa.js'
import { type OcnReport, readOcnTable } from '../feeds/ocn.js'
import type { FeedOptions, FeedReport } from '../feeds/prefix-feed.js'
import type { Progress } from '../feeds/source-lines.js'
import { openGazetteer } from './gazetteer.js'
import { lastImport, refuseIfBad, refuseIfShrunk } from './import-limits.js'
import { type OcnClasses, ocnFilePath, readOcnClasses, writeOcnClasses } from './line-class.js'
import {
  type Difference,
  PrefixFileBuilder,
  prefixFilePath,
  readPrefixFile,
} from './prefix-file.js'
import { createPrefixZones, type PrefixZones } from './prefix-zones.js'

interface ImportChoices {
  /** Bad rows of each file to put up with; 100 when left out. More refuse the import. */
  readonly badLinesAllowed?: number | undefined
  /** Told of every bad row when it is met. */
  readonly rejects?: ((bad: BadLine) => void) | undefined
  /** Read and judge, and change nothing. */
  readonly dryRun?: boolean | undefined
}

/** What an import changed, or in a dry run would have. */
export interface Changed {
  /** Entries the last import did not have; `undefined` when there was none that can be read. */
  readonly added: number | undefined
  /** Entries of both whose facts are other ones; absent as for `added`. */
  readonly changed?: number
  /** Entries of the last import that are gone; `undefined` as for `added`. */
  readonly removed: number | undefined
  readonly dryRun: boolean
}

export interface NumberingImportOptions extends ImportChoices {
  /** NANPA "utilized codes, all states", zip or text; left out, the US stays as it is. */
  readonly nanpa: string | undefined
  /** CNAC "CO code status, all NPAs", zip or CSV; left out, Canada stays as it is. */
  readonly cnac: string | undefined
  /** Where the prepared files are kept. */
  readonly folder: string
  readonly clock: Clock
  /** Told which file is being read, its bytes on disk that are done and there are, and its rows. */
  readonly onProgress?:
    | ((path: string, done: number, total: number, rows: number) => void)
    | undefined
}

export interface PrefixImportSummary extends FeedReport, Changed {
  readonly country: Country
  /** Kept prefixes whose zone is not settled, so that each of several must permit a call. */
  readonly undecidedZones: number
}

export interface NumberingImportSummary {
  readonly US: PrefixImportSummary | undefined
  readonly CA: PrefixImportSummary | undefined
}

/** Throws `DataFileError` for a file that cannot be used; then neither country is changed. */
export async function importNumbering(
  options: NumberingImportOptions,
): Promise<NumberingImportSummary> {
  const { nanpa, cnac, folder, clock } = options
  const now = clock.now()
  const zones = createPrefixZones(await openGazetteer(), now)
  const today = Math.floor(now / 86_400_000)
  const read = async (
    country: Country,
    path: string | undefined,
    feed: (options: FeedOptions) => Promise<FeedReport>,
  ) => (path === undefined ? undefined : await gather({ ...options, country, path, zones, feed }))
  const us = await read('US', nanpa, (feed) => readNanpa({ ...feed, today }))
  const ca = await read('CA', cnac, readCnac)
  for (const gathered of [us, ca]) {
    if (!gathered || options.dryRun) continue
    const { builder, summary } = gathered
    await builder.write(folder, { country: summary.country, importedAt: now, report: summary })
  }
  return { US: us?.summary, CA: ca?.summary }
}

interface GatherOptions extends Omit<NumberingImportOptions, 'nanpa' | 'cnac' | 'clock'> {
  readonly country: Country
  readonly path: string
  readonly zones: PrefixZones
  readonly feed: (options: FeedOptions) => Promise<FeedReport>
}

interface Gathered {
  readonly builder: PrefixFileBuilder
  readonly summary: PrefixImportSummary
}

async function gather(options: GatherOptions): Promise<Gathered> {
  const { country, path, zones, feed, folder, onProgress } = options
  const { rejects, badLinesAllowed, dryRun = false } = options
  const builder = new PrefixFileBuilder()
  const report = await feed({
    path,
    onPrefix: (prefix) => {
      const areaCode = prefix.prefix.slice(0, 3)
      const { region, locality: name } = prefix
      builder.add(prefix, zones.zonesOf({ areaCode, region, name }))
    },
    rejects,
    onProgress: onProgress && ((done, total, rows) => onProgress(path, done, total, rows)),
  })
  refuseIfBad(path, report.bad, badLinesAllowed)
  const last = lastImport(() => readPrefixFile(folder, country))
  const before = last?.prefixes.length ?? 0
  refuseIfShrunk(path, { kept: report.kept, before, preparedFile: prefixFilePath(folder, country) })
  const changed = { ...noDifference, ...(last && builder.compareWith(last)), dryRun }
  const undecidedZones = builder.undecided
  return { builder, summary: { ...report, country, undecidedZones, ...changed } }
}

/** Nothing to compare with. */
const noDifference = { added: undefined, removed: undefined }

export interface OcnImportOptions extends ImportChoices {
  /** CSV with the columns `ocn` and `class`. */
  readonly file: string
  readonly folder: string
  readonly onProgress?: Progress | undefined
}

export type OcnImportSummary = Omit<OcnReport, 'classes'> & Changed

/** Classes apply to prefixes already imported too. Throws `DataFileError`. */
export async function importOcnClasses(options: OcnImportOptions): Promise<OcnImportSummary> {
  const { file: path, folder, rejects, badLinesAllowed, dryRun = false, onProgress } = options
  const { classes, ...report } = await readOcnTable({ path, rejects, onProgress })
  refuseIfBad(path, report.bad, badLinesAllowed)
  const last = lastImport(() => readOcnClasses(folder))
  const before = last?.size ?? 0
  refuseIfShrunk(path, { kept: report.kept, before, preparedFile: ocnFilePath(folder) })
  if (!dryRun) await writeOcnClasses(folder, { ...report, classes })
  const changed = last && last.size > 0 ? difference(last, classes) : noDifference
  return { ...report, ...changed, dryRun }
}

function difference(last: OcnClasses, classes: OcnClasses): Difference {
  const shared = [...last].filter(([ocn]) => classes.has(ocn))
  const changed = shared.filter(([ocn, lineClass]) => classes.get(ocn) !== lineClass).length
  return { added: classes.size - shared.length, changed, removed: last.size - shared.length }
}
