/**
 * Reads a table of operating company numbers and each company's kind of line: columns `ocn` and
 * `class`; other columns are ignored, and `#` begins a comment.
 */
import { isKnownLineClass, type KnownLineClass } from '../../../domain/place.js'
import type { FieldProblem } from '../../../errors.js'
import type { Row } from '../table-layout.js'
import { type BadRow, type ReportOptions, readReport } from './prefix-feed.js'

const columns = { ocn: ['ocn'], lineClass: ['class', 'linetype', 'type'] } as const

export interface OcnReport {
  readonly path: string
  /** SHA-256 of the file as downloaded, in hex. */
  readonly sha256: string
  /** `read` is `accepted` plus all of `skipped` plus the bad rows. */
  readonly read: number
  readonly accepted: number
  readonly skipped: Readonly<Record<string, number>>
  readonly bad: readonly BadRow[]
  readonly classes: ReadonlyMap<string, KnownLineClass>
}

/** Reads the classes by OCN. Throws `DataFileError` for another kind of file. */
export async function readOcnTable(options: ReportOptions): Promise<OcnReport> {
  const { path } = options
  const classes = new Map<string, KnownLineClass>()
  let tollFree = 0
  const onRow = (row: Row<keyof typeof columns>): FieldProblem | undefined => {
    const ocn = row.ocn.toUpperCase()
    const lineClass = row.lineClass.toLowerCase()
    if (!/^[0-9A-Z]{4}$/.test(ocn)) {
      return { field: 'ocn', value: row.ocn, rule: 'must be four letters or digits' }
    }
    if (lineClass === 'tollfree') {
      tollFree += 1
      return undefined
    }
    if (!isKnownLineClass(lineClass)) {
      const rule = 'must be wireline, wireless, voip or tollfree'
      return { field: 'class', value: row.lineClass, rule }
    }
    if (classes.has(ocn))
      return { field: 'ocn', value: ocn, rule: 'is a duplicate; the first row is used' }
    classes.set(ocn, lineClass)
    return undefined
  }
  const description = 'a table of company classes'
  const { rows, bad, sha256 } = await readReport(options, { columns, description }, onRow)
  const skipped = tollFree > 0 ? { 'toll-free holder': tollFree } : {}
  return { path, sha256, read: rows, accepted: classes.size, skipped, bad, classes }
}
