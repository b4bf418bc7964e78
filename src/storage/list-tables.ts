/** Rows of lists of numbers. */

/** A version of a number list that was published; see `list-versions.ts`. */
export interface ListVersionRow {
  name: string
  /** The first 16 digits of `sha256`. */
  version: string
  /** Checksum at the end of the file, in hex. */
  sha256: string
  bytes: number
  entries: number
  as_of: number
  /** 1 for one version of each list. */
  in_force: number
  /** By the clock of the host that published it, as `published_by`. */
  published_at: number
  published_by: string
}

export interface InternalDncListRow {
  account_id: string
  list: string
  modified_at: number
}
