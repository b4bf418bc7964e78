/**
 * The prepared files of assigned prefixes, one per country, and of the thousands blocks of the US, in
 * one format whose rows are prefixes or blocks. The header has small dictionaries; the body has one row
 * per key and is used as read. `numbering-import.ts` provides the rows.
 *
 * Body, in the machine's byte order: a column of 32-bit keys in ascending order, then 16-bit columns of
 * place, locality and carrier indexes; 10 bytes per row, 23 MB for the 2.3 million blocks.
 */
import { join } from 'node:path'
import type { Country, OriginalCarrier, Place } from '../../domain/place.js'
import type { Instant } from '../../domain/time/clock.js'
import { DataFileError } from '../../errors.js'
import type { AssignedRow, PrefixFeedReport } from '../feeds/numbering/prefix-feed.js'
import { type FileKind, writeCheckedFile } from '../files/checked-file.js'
import { type PreparedFileReader, readPreparedFile } from '../files/prepared-files.js'
import { Dictionary, noValue } from './dictionary.js'

interface TableDescription {
  readonly fileName: string
  readonly fileKind: FileKind
  readonly country: Country
  /** Name of the header field with the count of rows. */
  readonly rows: 'prefixes' | 'blocks'
  /** The lowest possible key, since no area code begins with 0 or 1. */
  readonly firstKey: number
}

const describePrefixTable = (country: Country): TableDescription => ({
  fileName: `numbering-${country.toLowerCase()}.cg`,
  fileKind: { kind: 'assigned-prefixes', formatVersion: 1 },
  country,
  rows: 'prefixes',
  firstKey: 200_000,
})

/** Prefixes have six digits (area code and exchange); blocks also have the first digit of the line. */
const tables = {
  US: describePrefixTable('US'),
  CA: describePrefixTable('CA'),
  blocks: {
    fileName: 'blocks-us.cg',
    fileKind: { kind: 'thousands-blocks', formatVersion: 1 },
    country: 'US',
    rows: 'blocks',
    firstKey: 2_000_000,
  },
} as const satisfies Readonly<Record<string, TableDescription>>

export type NumberingTableName = keyof typeof tables

export const numberingTableNames = Object.keys(tables) as readonly NumberingTableName[]

export function resolveTablePath(folder: string, name: NumberingTableName): string {
  return join(folder, tables[name].fileName)
}

export function getTableFileKind(name: NumberingTableName): FileKind {
  return tables[name].fileKind
}

/** The count of rows is in the field named by the table's description. */
interface Header extends Record<string, unknown> {
  /** Set in a file of prefixes. */
  readonly country?: Country
  readonly asOf?: Instant | null
  readonly importedAt: Instant
  readonly source: { readonly path: string; readonly sha256: string; readonly rows: number }
  /** Region, followed by its candidate zones. */
  readonly places: readonly (readonly string[])[]
  /** Rate centers; `''` for rows without one. */
  readonly localities: readonly string[]
  readonly carriers: readonly (readonly [ocn: string, company: string])[]
}

const bytesPerRow = 4 + 3 * 2

/** What an import changes, in counts of entries. */
export interface ImportDifference {
  readonly added: number
  /** Entries in both files whose facts differ. */
  readonly changed: number
  readonly removed: number
}

/**
 * Collects rows and writes them in one step. A column has a slot for every possible key, 48 MB in total
 * for blocks, so rows may be added in any order and need no sorting.
 */
export class NumberingTableBuilder {
  readonly #name: NumberingTableName
  readonly #table: TableDescription
  readonly #places = new Dictionary<readonly string[]>()
  readonly #localities = new Dictionary<string>()
  readonly #carriers = new Dictionary<readonly [string, string]>()
  /** Index of the place plus one; 0 means no row. */
  readonly #placeOf: Uint16Array
  readonly #localityOf: Uint16Array
  readonly #carrierOf: Uint16Array
  /** Cached from the previous row, since consecutive rows often have the same rate center. */
  #last = { region: '', zones: [] as readonly string[], number: 0 }
  #size = 0
  #undecided = 0

  constructor(name: NumberingTableName) {
    this.#name = name
    this.#table = tables[name]
    const maxRows = this.#table.firstKey * 4
    this.#placeOf = new Uint16Array(maxRows)
    this.#localityOf = new Uint16Array(maxRows)
    this.#carrierOf = new Uint16Array(maxRows)
  }

  /** Count of rows with several candidate zones, all of which must permit a call. */
  get undecidedCount(): number {
    return this.#undecided
  }

  /** Adds a row. `zones` has every candidate zone, at least one. A key must not be added twice. */
  add(key: number, { region, locality, carrier }: AssignedRow, zones: readonly string[]): void {
    const at = key - this.#table.firstKey
    this.#placeOf[at] = this.#placeNumber(region, zones) + 1
    this.#localityOf[at] = this.#localities.indexFor(locality, locality)
    this.#carrierOf[at] = carrier
      ? this.#carriers.indexFor(formatCarrierKey(carrier), [carrier.ocn, carrier.company])
      : noValue
    this.#size += 1
    // A block without a rate center has the place of its prefix.
    const isPlaced = this.#name !== 'blocks' || locality !== ''
    if (zones.length > 1 && isPlaced) this.#undecided += 1
  }

  #placeNumber(region: string, zones: readonly string[]): number {
    if (region !== this.#last.region || zones !== this.#last.zones) {
      const place = [region, ...zones]
      this.#last = { region, zones, number: this.#places.indexFor(place.join(' '), place) }
    }
    return this.#last.number
  }

  /** Counts the differences from an earlier file. */
  compareWith(file: NumberingTable): ImportDifference {
    let shared = 0
    let changed = 0
    file.keys.forEach((key, position) => {
      const at = key - this.#table.firstKey
      if (!this.#placeOf[at]) return
      shared += 1
      if (!this.#isSame(at, file.row(position))) changed += 1
    })
    return { added: this.#size - shared, changed, removed: file.keys.length - shared }
  }

  /** The place of a block follows from its rate center, so only that is compared. */
  #isSame(at: number, { place, locality, carrier }: NumberingRow): boolean {
    const isSamePlace = () => {
      const before = [place?.candidates[0]?.region, ...listZones(place)].join(' ')
      return before === this.#places.values[(this.#placeOf[at] ?? 0) - 1]?.join(' ')
    }
    return (
      locality === this.#localities.values[this.#localityOf[at] ?? 0] &&
      (carrier && formatCarrierKey(carrier)) ===
        this.#carriers.values[this.#carrierOf[at] ?? noValue]?.join(' ') &&
      (this.#name === 'blocks' || isSamePlace())
    )
  }

  /** Replaces the file in `folder` completely or leaves it unchanged. Resolves to its SHA-256 in hex. */
  async write(
    folder: string,
    { importedAt, report }: { readonly importedAt: Instant; readonly report: PrefixFeedReport },
  ): Promise<string> {
    const { country, rows, fileKind } = this.#table
    const dated = rows === 'prefixes' ? { country, asOf: report.asOf ?? null } : {}
    const header: Header = {
      ...dated,
      importedAt,
      [rows]: this.#size,
      source: { path: report.path, sha256: report.sha256, rows: report.read },
      places: this.#places.values,
      localities: this.#localities.values,
      carriers: this.#carriers.values,
    }
    const path = resolveTablePath(folder, this.#name)
    return await writeCheckedFile(path, fileKind, header, [this.#body()])
  }

  #body(): Uint8Array {
    const body = new Uint8Array(this.#size * bytesPerRow)
    const columns = toColumns(body, this.#size)
    let row = 0
    for (let at = 0; at < this.#placeOf.length; at += 1) {
      const place = this.#placeOf[at] ?? 0
      if (place === 0) continue
      columns.keys[row] = at + this.#table.firstKey
      columns.places[row] = place - 1
      columns.localities[row] = this.#localityOf[at] ?? 0
      columns.carriers[row] = this.#carrierOf[at] ?? noValue
      row += 1
    }
    return body
  }
}

/** The key by which the builder identifies a company. */
function formatCarrierKey({ ocn, company }: OriginalCarrier): string {
  return `${ocn} ${company}`
}

function listZones(place: Place | undefined): readonly string[] {
  return place?.candidates.map(({ zone }) => zone) ?? []
}

interface Columns {
  readonly keys: Uint32Array
  readonly places: Uint16Array
  readonly localities: Uint16Array
  readonly carriers: Uint16Array
}

function toColumns({ buffer, byteOffset }: Uint8Array, rows: number): Columns {
  const column = (bytesBefore: number) =>
    new Uint16Array(buffer, byteOffset + rows * bytesBefore, rows)
  return {
    keys: new Uint32Array(buffer, byteOffset, rows),
    places: column(4),
    localities: column(6),
    carriers: column(8),
  }
}

/** One row of a file; rows share the objects of places and carriers. */
export interface NumberingRow {
  readonly place: Place | undefined
  readonly locality: string
  /** `undefined` if the row has no carrier. */
  readonly carrier: OriginalCarrier | undefined
}

export interface NumberingTable {
  readonly asOf: Instant | undefined
  readonly importedAt: Instant
  /** Prefixes as six-digit or blocks as seven-digit numbers, ascending. */
  readonly keys: Uint32Array
  /** The index in `keys` of the first one that is not less than `key`. */
  findPosition(key: number): number
  row(position: number): NumberingRow
}

/** Reads the last import; `undefined` if there is none. Throws {@link DataFileError} for a damaged file. */
export function readNumberingTable(
  folder: string,
  name: NumberingTableName,
  read: PreparedFileReader = readPreparedFile,
): NumberingTable | undefined {
  const { country, rows, fileKind }: TableDescription = tables[name]
  const path = resolveTablePath(folder, name)
  const file = read(path, fileKind)
  if (!file) return undefined
  const { body } = file
  const header = file.header as Header
  const size = Number(header[rows])
  if ((header.country ?? country) !== country || body.length !== size * bytesPerRow) {
    throw new DataFileError(path, `is not the list of ${country} ${rows}; import it again`)
  }
  const { keys, ...columns } = toColumns(body, size)
  const places = header.places.map(([region = '', ...zones]): Place => {
    return { country, candidates: zones.map((zone) => ({ region, zone })), source: 'prefix' }
  })
  const carriers = header.carriers.map(([ocn, company]): OriginalCarrier => ({ ocn, company }))
  return {
    asOf: header.asOf ?? undefined,
    importedAt: header.importedAt,
    keys,
    findPosition: (key) => findFirstNotBelow(keys, key),
    row: (position) => ({
      place: places[columns.places[position] ?? 0],
      locality: header.localities[columns.localities[position] ?? 0] ?? '',
      carrier: carriers[columns.carriers[position] ?? noValue],
    }),
  }
}

function findFirstNotBelow(keys: Uint32Array, key: number): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((keys[middle] ?? 0) < key) low = middle + 1
    else high = middle
  }
  return low
}
