/** What one kind of fact file holds, for its reader and its builder. */
import type { Instant } from '../../domain/time/clock.js'

export type FactValue = string | number | null

/** One row about a number, without the number itself. */
export type FactRow = Readonly<Record<string, FactValue>>

export interface FactFileSchema<Row extends FactRow> {
  /** Such as `line-status`; the file has this name too. */
  readonly feed: string
  /** To be increased with every change of the columns or of the meaning of their values. */
  readonly formatVersion: number
  readonly columns: Readonly<Record<keyof Row & string, 'integer' | 'text'>>
  /** Columns that identify a row together with the number; none if a number has one row. */
  readonly key: readonly (keyof Row & string)[]
  /** Of rows with the same key, the last one with the highest value in this column is kept. */
  readonly newestBy?: (keyof Row & string) | undefined
  /** Maximum number of rows read for one number, those with the highest key first; no limit if absent. */
  readonly maxRows?: number | undefined
}

/** A downloaded file that rows were imported from. */
export interface FactSourceFile {
  /** Name without folders; `archive.zip/name.csv` for one inside an archive. */
  readonly file: string
  /** Of the downloaded file, in hex. */
  readonly sha256: string
  /** Data rows in it, bad ones included. */
  readonly rows: number
  readonly asOf: Instant
}

/** SQLite's application id in the header of the file: `CGFA`. */
export const applicationId = 0x43474641
