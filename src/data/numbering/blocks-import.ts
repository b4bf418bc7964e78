/**
 * Imports the NANPA report of thousands blocks into the prepared file the program runs on. The report
 * is read and judged whole before anything is replaced.
 */
import type { Clock } from '../../domain/clock.js'
import type { BadLine } from '../feeds/bad-lines.js'
import { readBlocks } from '../feeds/blocks.js'
import type { FeedReport } from '../feeds/prefix-feed.js'
import { BlockFileBuilder, blockFilePath, readBlockFile } from './block-file.js'
import { openGazetteer } from './gazetteer.js'
import { lastImport, refuseIfShrunk } from './import-limits.js'
import type { Changed } from './numbering-import.js'
import { createPrefixZones } from './prefix-zones.js'

export interface BlocksImportOptions {
  /** NANPA "thousands block assignments, all, augmented", zip or text. */
  readonly file: string
  /** Where the prepared files are kept. */
  readonly folder: string
  readonly clock: Clock
  /** Bad rows to put up with; none when left out. */
  readonly badLinesAllowed?: number | undefined
  /** Told of every bad row when it is met, also of those that refuse the file. */
  readonly rejects?: ((bad: BadLine) => void) | undefined
  /** Read and judge, and change nothing. */
  readonly dryRun?: boolean | undefined
  /** Told the bytes of the file on disk that are behind, all of them, and the rows so far. */
  readonly onProgress?: ((progress: BlocksProgress) => void) | undefined
}

export interface BlocksProgress {
  readonly bytesDone: number
  readonly bytesTotal: number
  readonly rows: number
}

export interface BlocksImportSummary extends FeedReport, Changed {
  /** Blocks whose rate centre settles no zone. */
  readonly undecidedZones: number
}

/**
 * The blocks count for prefixes imported before and after them. Throws `DataFileError` for a file
 * that cannot be used.
 */
export async function importBlocks(options: BlocksImportOptions): Promise<BlocksImportSummary> {
  const { file, folder, clock, dryRun = false } = options
  const importedAt = clock.now()
  const zones = createPrefixZones(await openGazetteer(), importedAt)
  const builder = new BlockFileBuilder()
  const report = await readBlocks({
    path: file,
    today: Math.floor(importedAt / 86_400_000),
    badLinesAllowed: options.badLinesAllowed,
    rejects: options.rejects,
    onBlock: (block) => {
      const areaCode = String(block.block).slice(0, 3)
      const { region, locality: name } = block
      builder.add(block, zones.zonesOf({ areaCode, region, name }))
    },
    onProgress: (bytesDone, bytesTotal, rows) =>
      options.onProgress?.({ bytesDone, bytesTotal, rows }),
  })
  const last = lastImport(() => readBlockFile(folder))
  const before = last?.blocks.length ?? 0
  refuseIfShrunk(file, { kept: report.kept, before, preparedFile: blockFilePath(folder) })
  const changed = last ? builder.compareWith(last) : { added: undefined, removed: undefined }
  if (!dryRun) await builder.write(folder, { importedAt, report })
  return { ...report, undecidedZones: builder.undecided, ...changed, dryRun }
}
