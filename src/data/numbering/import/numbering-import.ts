/**
 * Imports the downloaded files of the numbering administrators and the table of company classes as
 * prepared files. Each file is read and checked completely before anything is replaced, so a bad
 * download leaves the last good import in place.
 */
import type { Country } from '../../../domain/place.js'
import type { Clock } from '../../../domain/time/clock.js'
import { toUtcDay } from '../../../domain/time/dates.js'
import type { BadLine } from '../../feeds/bad-lines.js'
import { type AssignedBlock, readBlocks } from '../../feeds/numbering/blocks.js'
import { readCnac } from '../../feeds/numbering/cnac.js'
import { readNanpa } from '../../feeds/numbering/nanpa.js'
import { type OcnReport, readOcnTable } from '../../feeds/numbering/ocn.js'
import type {
  AssignedPrefix,
  AssignedRow,
  PrefixFeedReport,
} from '../../feeds/numbering/prefix-feed.js'
import type { OnProgress } from '../../files/source-progress.js'
import {
  type OcnClasses,
  readOcnClasses,
  resolveOcnFilePath,
  writeOcnClasses,
} from '../line-class.js'
import {
  type ImportDifference,
  NumberingTableBuilder,
  type NumberingTableName,
  readNumberingTable,
  resolveTablePath,
} from '../numbering-table.js'
import { readLastImport, refuseShrunkReport, requireFewBadRows } from './import-limits.js'
import { openPlaceNames } from './place-names.js'
import { createPrefixZones, type PrefixZones } from './prefix-zones.js'

interface NumberingImportChoices {
  /** Folder of the prepared files. */
  readonly folder: string
  /**
   * Maximum bad rows of each file. Default: 100 for reports and class tables, and none for thousands
   * blocks, since each may be a block of wireless lines.
   */
  readonly badLinesAllowed?: number | undefined
  /** Called for every bad row, including those that make the import fail. */
  readonly rejects?: ((bad: BadLine) => void) | undefined
  /** Read and check the files without changing anything. */
  readonly dryRun?: boolean | undefined
  readonly onProgress?: OnProgress | undefined
}

/** What an import changed, or would change in a dry run. */
export interface ImportChanges {
  /** Count of entries that the last import lacked; `undefined` if there was none that can be read. */
  readonly added: number | undefined
  /** Count of entries whose facts differ; absent like `added`. */
  readonly changed?: number
  /** Count of entries that only the last import had; `undefined` like `added`. */
  readonly removed: number | undefined
  readonly dryRun: boolean
  /** SHA-256 of the prepared file in hex; `undefined` in a dry run. */
  readonly sha256OfFile?: string | undefined
}

export interface NumberingImportOptions extends NumberingImportChoices {
  /** NANPA "utilized codes, all states", zip or text; if absent, the US is unchanged. */
  readonly nanpa: string | undefined
  /** CNAC "CO code status, all NPAs", zip or CSV; if absent, Canada is unchanged. */
  readonly cnac: string | undefined
  readonly clock: Clock
}

export interface TableImportSummary extends PrefixFeedReport, ImportChanges {
  /** Count of rows with several candidate zones, all of which must permit a call. */
  readonly undecidedZones: number
}

export interface PrefixImportSummary extends TableImportSummary {
  readonly country: Country
}

export interface NumberingImportSummary {
  readonly US: PrefixImportSummary | undefined
  readonly CA: PrefixImportSummary | undefined
}

/** Imports prefixes. Throws `DataFileError` for an unusable file; then neither country is changed. */
export async function importNumbering(
  options: NumberingImportOptions,
): Promise<NumberingImportSummary> {
  const { nanpa, cnac, folder, clock, badLinesAllowed, rejects, onProgress } = options
  const importedAt = clock.now()
  const today = toUtcDay(importedAt)
  const zones = createPrefixZones(await openPlaceNames(), importedAt)
  const read = async (country: Country, path: string | undefined) => {
    if (path === undefined) return undefined
    return await gatherTable(options, country, zones, async (add) => {
      const onPrefix = (row: AssignedPrefix) => add(Number(row.prefix), row)
      const feed = { path, onPrefix, rejects, onProgress }
      const report = await (country === 'US' ? readNanpa({ ...feed, today }) : readCnac(feed))
      requireFewBadRows(path, report.bad, badLinesAllowed)
      return report
    })
  }
  const us = await read('US', nanpa)
  const ca = await read('CA', cnac)
  const write = async (country: Country, gathered: GatheredTable | undefined) => {
    if (!gathered) return undefined
    const { builder, summary } = gathered
    if (options.dryRun) return { country, ...summary }
    const sha256OfFile = await builder.write(folder, { importedAt, report: summary })
    return { country, ...summary, sha256OfFile }
  }
  return { US: await write('US', us), CA: await write('CA', ca) }
}

export interface BlocksImportOptions extends NumberingImportChoices {
  /** NANPA "thousands block assignments, all, augmented", zip or text. */
  readonly file: string
  readonly clock: Clock
}

/**
 * Imports thousands blocks, which apply to prefixes imported before and after them. Throws
 * `DataFileError` for an unusable file.
 */
export async function importBlocks(options: BlocksImportOptions): Promise<TableImportSummary> {
  const { file: path, folder, clock, badLinesAllowed, rejects, onProgress } = options
  const importedAt = clock.now()
  const today = toUtcDay(importedAt)
  const zones = createPrefixZones(await openPlaceNames(), importedAt)
  const { builder, summary } = await gatherTable(options, 'blocks', zones, (add) => {
    const onBlock = (row: AssignedBlock) => add(row.block, row)
    return readBlocks({ path, today, badLinesAllowed, onBlock, rejects, onProgress })
  })
  if (options.dryRun) return summary
  return { ...summary, sha256OfFile: await builder.write(folder, { importedAt, report: summary }) }
}

interface GatheredTable {
  readonly builder: NumberingTableBuilder
  readonly summary: TableImportSummary
}

/** Reads the rows of one table and compares them with the last import; changes nothing. */
async function gatherTable(
  { folder, dryRun = false }: NumberingImportChoices,
  name: NumberingTableName,
  zones: PrefixZones,
  read: (add: (key: number, row: AssignedRow) => void) => Promise<PrefixFeedReport>,
): Promise<GatheredTable> {
  const builder = new NumberingTableBuilder(name)
  const report = await read((key, row) => {
    const { region, locality } = row
    const areaCode = String(key).slice(0, 3)
    builder.add(key, row, zones.findZones({ areaCode, region, name: locality }))
  })
  const last = readLastImport(() => readNumberingTable(folder, name))
  refuseShrunkReport(report.path, {
    accepted: report.accepted,
    before: last?.keys.length ?? 0,
    preparedFile: resolveTablePath(folder, name),
  })
  const changed = last ? builder.compareWith(last) : noDifference
  const undecidedZones = builder.undecidedCount
  return { builder, summary: { ...report, undecidedZones, ...changed, dryRun } }
}

/** Used if there is no earlier import to compare with. */
const noDifference = { added: undefined, removed: undefined }

export interface OcnImportOptions extends NumberingImportChoices {
  /** CSV with the columns `ocn` and `class`. */
  readonly file: string
}

export type OcnImportSummary = Omit<OcnReport, 'classes'> & ImportChanges

/** Imports company classes, which also apply to prefixes already imported. Throws `DataFileError`. */
export async function importOcnClasses(options: OcnImportOptions): Promise<OcnImportSummary> {
  const { file: path, folder, rejects, badLinesAllowed, dryRun = false, onProgress } = options
  const { classes, ...report } = await readOcnTable({ path, rejects, onProgress })
  requireFewBadRows(path, report.bad, badLinesAllowed)
  const last = readLastImport(() => readOcnClasses(folder))
  const before = last?.size ?? 0
  refuseShrunkReport(path, {
    accepted: report.accepted,
    before,
    preparedFile: resolveOcnFilePath(folder),
  })
  const sha256OfFile = dryRun ? undefined : await writeOcnClasses(folder, { ...report, classes })
  const changed = last && last.size > 0 ? computeDifference(last, classes) : noDifference
  return { ...report, ...changed, dryRun, sha256OfFile }
}

function computeDifference(last: OcnClasses, classes: OcnClasses): ImportDifference {
  const shared = [...last].filter(([ocn]) => classes.has(ocn))
  const changed = shared.filter(([ocn, lineClass]) => classes.get(ocn) !== lineClass).length
  return { added: classes.size - shared.length, changed, removed: last.size - shared.length }
}
