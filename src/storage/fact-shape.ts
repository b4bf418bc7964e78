/** What one kind of fact file holds, for its reader and its builder. */
import type { Instant } from '../domain/clock.js'

export type FactValue = string | number | null

/** What is known of a number, or one of several things that are; the number itself is apart. */
export type FactRow = Readonly<Record<string, FactValue>>

export interface FactShape<Row extends FactRow> {
  /** Such as `line-status`; the file has this name too. */
  readonly feed: string
  /** To be raised with every change of the columns or of what their values mean. */
  readonly formatVersion: number
  readonly columns: Readonly<Record<keyof Row & string, 'integer' | 'text'>>
  /** Columns that, with the number, tell rows apart; none when a number has one row. */
  readonly key: readonly (keyof Row & string)[]
  /** Of rows with one key the one with the highest value here is kept; of those the last. */
  readonly newestBy?: (keyof Row & string) | undefined
  /** No more rows of one number are read, those with the highest key first; all when left out. */
  readonly most?: number | undefined
}

/** A downloaded file that rows came from. */
export interface FactSource {
  /** Name without folders; `archive.zip/name.csv` for one inside an archive. */
  readonly file: string
  /** Of the file as downloaded, in hex. */
  readonly sha256: string
  /** Data rows in it, bad ones included. */
  readonly rows: number
  readonly asOf: Instant
}

/** In the header of the file, where SQLite keeps a number for the program that owns it: `CGFA`. */
export const applicationId = 0x43474641
