/**
 * Imports the downloaded files of the numbering administrators and the table of company classes
 * into the prepared files the program runs on. Each file is read and judged whole before anything
 * is replaced, so a bad download leaves the last good import in place.
 */
import type { Clock } from '../../domain/clock.js'
import type { Country } from '../../domain/place.js'
import { DataFileError } from '../../errors.js'
import { readCnac } from '../feeds/cnac.js'
import { readNanpa } from '../feeds/nanpa.js'
import { type OcnReport, readOcnTable } from '../feeds/ocn.js'
import type { FeedOptions, FeedReport } from '../feeds/prefix-feed.js'
import type { Progress } from '../feeds/source-lines.js'
import { openGazetteer } from './gazetteer.js'
import { ocnFilePath, readOcnClasses, writeOcnClasses } from './line-class.js'
import { PrefixFileBuilder, prefixFilePath, readPrefixFile } from './prefix-file.js'
import { createPrefixZones, type PrefixZones } from './prefix-zones.js'

export interface NumberingImportOptions {
  /** NANPA "utilized codes, all states", zip or text; left out, the US stays as it is. */
  readonly nanpa: string | undefined
  /** CNAC "CO code status, all NPAs", zip or CSV; left out, Canada stays as it is. */
  readonly cnac: string | undefined
  /** Where the prepared files are kept. */
  readonly folder: string
  readonly clock: Clock
  /** Told which file is being read, and how many bytes of it on disk are done and there are. */
  readonly onProgress?: ((path: string, done: number, total: number) => void) | undefined
}

export interface PrefixImportSummary extends FeedReport {
  readonly country: Country
  /** Kept prefixes whose zone is not settled, so that each of several must permit a call. */
  readonly undecidedZones: number
}

export interface NumberingImportSummary {
  readonly US: PrefixImportSummary | undefined
  readonly CA: PrefixImportSummary | undefined
}

/** Throws {@link DataFileError} for a file that cannot be used; then neither country is changed. */
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
    if (!gathered) continue
    const { builder, summary } = gathered
    await builder.write(folder, { country: summary.country, importedAt: now, report: summary })
  }
  return { US: us?.summary, CA: ca?.summary }
}

interface GatherOptions extends Pick<NumberingImportOptions, 'folder' | 'onProgress'> {
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
  const builder = new PrefixFileBuilder()
  const report = await feed({
    path,
    onPrefix: (prefix) => {
      const areaCode = prefix.prefix.slice(0, 3)
      const { region, locality: name } = prefix
      builder.add(prefix, zones.zonesOf({ areaCode, region, name }))
    },
    onProgress: onProgress && ((done, total) => onProgress(path, done, total)),
  })
  refuseIfShrunk(path, {
    kept: report.kept,
    before: sizeOfLast(() => readPrefixFile(folder, country)?.prefixes.length),
    preparedFile: prefixFilePath(folder, country),
  })
  return { builder, summary: { ...report, country, undecidedZones: builder.undecided } }
}

export interface OcnImportOptions {
  /** CSV with the columns `ocn` and `class`. */
  readonly file: string
  readonly folder: string
  readonly onProgress?: Progress | undefined
}

export type OcnImportSummary = Omit<OcnReport, 'classes'>

/** Classes apply to prefixes already imported too. Throws {@link DataFileError}. */
export async function importOcnClasses(options: OcnImportOptions): Promise<OcnImportSummary> {
  const { file: path, folder, onProgress } = options
  const report = await readOcnTable({ path, onProgress })
  refuseIfShrunk(path, {
    kept: report.kept,
    before: sizeOfLast(() => readOcnClasses(folder).size),
    preparedFile: ocnFilePath(folder),
  })
  await writeOcnClasses(folder, report)
  const { classes: _, ...summary } = report
  return summary
}

/** A damaged file, or one of an older format, must not stand in the way of its replacement. */
function sizeOfLast(read: () => number | undefined): number {
  try {
    return read() ?? 0
  } catch (error) {
    if (error instanceof DataFileError) return 0
    throw error
  }
}

/** A cut-off download looks like a good file with fewer rows. */
function refuseIfShrunk(
  path: string,
  { kept, before, preparedFile }: { kept: number; before: number; preparedFile: string },
): void {
  if (kept === 0) throw new DataFileError(path, 'holds no row that could be kept')
  if (kept * 2 >= before) return
  throw new DataFileError(
    path,
    `holds ${kept} usable rows, fewer than half the ${before} of the last import; ` +
      `remove ${preparedFile} to import it all the same`,
  )
}
