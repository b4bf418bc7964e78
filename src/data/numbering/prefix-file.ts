/**
 * The prepared file of one country's assigned prefixes: small dictionaries in the header, one row
 * of numbers per prefix in the body. Its reader keeps the rows as they are and builds a fact only
 * when it is asked for. Where the rows come from is the business of `numbering-import.ts`.
 *
 * Body, in the machine's byte order: a column of 32-bit prefixes in ascending order, then 16-bit
 * columns of place, locality and carrier numbers.
 */
import { join } from 'node:path'
import type { Instant } from '../../domain/clock.js'
import type { Country, OriginalCarrier } from '../../domain/place.js'
import { DataFileError } from '../../errors.js'
import { type FileKind, writeCheckedFile } from '../checked-file.js'
import type { AssignedPrefix, FeedReport } from '../feeds/prefix-feed.js'
import { Dictionary, noValue } from './dictionary.js'
import { type ReadPrepared, readPreparedFile } from './prepared-files.js'

export const prefixFileKind: FileKind = { kind: 'assigned-prefixes', formatVersion: 1 }

export function prefixFilePath(folder: string, country: Country): string {
  return join(folder, `numbering-${country.toLowerCase()}.cg`)
}

interface Header extends Record<string, unknown> {
  readonly country: Country
  readonly asOf: Instant | null
  readonly importedAt: Instant
  readonly prefixes: number
  readonly source: { readonly path: string; readonly sha256: string; readonly rows: number }
  /** Region, then its zones: one when settled. */
  readonly places: readonly (readonly string[])[]
  readonly localities: readonly string[]
  readonly carriers: readonly (readonly [ocn: string, company: string])[]
}

const bytesPerRow = 4 + 3 * 2

/** What an import changes, in entries of its file. */
export interface Difference {
  readonly added: number
  /** There before and now, with other facts. */
  readonly changed: number
  readonly removed: number
}

/** As the builders tell companies apart. */
export function textOf(carrier: OriginalCarrier | undefined): string | undefined {
  return carrier && `${carrier.ocn} ${carrier.company}`
}

/** Gathers the prefixes of one country and writes them in one step. */
export class PrefixFileBuilder {
  readonly #places = new Dictionary<readonly string[]>()
  readonly #localities = new Dictionary<string>()
  readonly #carriers = new Dictionary<readonly [string, string]>()
  readonly #rows: { prefix: number; place: number; locality: number; carrier: number }[] = []
  #undecided = 0

  get size(): number {
    return this.#rows.length
  }

  /** Prefixes whose zone is not settled, so that each of several must permit a call. */
  get undecided(): number {
    return this.#undecided
  }

  /** `zones` holds every zone the prefix may be in, at least one. */
  add({ prefix, region, locality, carrier }: AssignedPrefix, zones: readonly string[]): void {
    if (zones.length > 1) this.#undecided += 1
    const place = [region, ...zones]
    this.#rows.push({
      prefix: Number(prefix),
      place: this.#places.numberOf(place.join(' '), place),
      locality: this.#localities.numberOf(locality, locality),
      carrier: carrier
        ? this.#carriers.numberOf(`${carrier.ocn} ${carrier.company}`, [
            carrier.ocn,
            carrier.company,
          ])
        : noValue,
    })
  }

  /** What is other than in an earlier file. */
  compareWith(file: PrefixFile): Difference {
    const own = new Map(this.#rows.map((row) => [row.prefix, row]))
    let shared = 0
    let changed = 0
    file.prefixes.forEach((prefix, position) => {
      const row = own.get(prefix)
      if (!row) return
      shared += 1
      const { place, locality, carrier } = file.row(position)
      const { region = '', zones = [] } = file.places[place] ?? {}
      const before = [region, ...zones].join(' ')
      const isSame =
        before === this.#places.values[row.place]?.join(' ') &&
        locality === this.#localities.values[row.locality] &&
        textOf(carrier) === this.#carriers.values[row.carrier]?.join(' ')
      if (!isSame) changed += 1
    })
    return { added: this.size - shared, changed, removed: file.prefixes.length - shared }
  }

  /** Replaces the country's file in `folder`, or leaves it as it was. */
  async write(
    folder: string,
    about: { country: Country; importedAt: Instant; report: FeedReport },
  ): Promise<void> {
    const { country, importedAt, report } = about
    const header: Header = {
      country,
      asOf: report.asOf ?? null,
      importedAt,
      prefixes: this.size,
      source: { path: report.path, sha256: report.sha256, rows: report.read },
      places: this.#places.values,
      localities: this.#localities.values,
      carriers: this.#carriers.values,
    }
    await writeCheckedFile(prefixFilePath(folder, country), prefixFileKind, header, [this.#body()])
  }

  #body(): Uint8Array {
    const rows = this.#rows.sort((one, other) => one.prefix - other.prefix)
    const body = new ArrayBuffer(rows.length * bytesPerRow)
    const columns = columnsOf(body, rows.length)
    rows.forEach(({ prefix, place, locality, carrier }, index) => {
      columns.prefixes[index] = prefix
      columns.places[index] = place
      columns.localities[index] = locality
      columns.carriers[index] = carrier
    })
    return new Uint8Array(body)
  }
}

interface Columns {
  readonly prefixes: Uint32Array
  readonly places: Uint16Array
  readonly localities: Uint16Array
  readonly carriers: Uint16Array
}

function columnsOf(body: ArrayBuffer, rows: number): Columns {
  return {
    prefixes: new Uint32Array(body, 0, rows),
    places: new Uint16Array(body, rows * 4, rows),
    localities: new Uint16Array(body, rows * 6, rows),
    carriers: new Uint16Array(body, rows * 8, rows),
  }
}

/** One prefix as read back. */
export interface PrefixRow {
  /** Number of the place in {@link PrefixFile.places}. */
  readonly place: number
  readonly locality: string
  readonly carrier: OriginalCarrier | undefined
}

export interface PrefixFile {
  readonly country: Country
  readonly asOf: Instant | undefined
  readonly importedAt: Instant
  /** Prefixes as six-digit numbers, ascending. */
  readonly prefixes: Uint32Array
  readonly places: readonly { readonly region: string; readonly zones: readonly string[] }[]
  /** The row of the prefix at a position of `prefixes`; carriers are shared between rows. */
  row(position: number): PrefixRow
}

/** The last import of a country; `undefined` when there is none. Throws {@link DataFileError}. */
export function readPrefixFile(
  folder: string,
  country: Country,
  read: ReadPrepared = readPreparedFile,
): PrefixFile | undefined {
  const path = prefixFilePath(folder, country)
  const file = read(path, prefixFileKind)
  if (!file) return undefined
  const { header, body } = file
  const { asOf, importedAt, prefixes, places, localities, carriers } = header as Header
  if (header.country !== country || body.length !== prefixes * bytesPerRow) {
    throw new DataFileError(path, `is not the list of ${country}; import it again`)
  }
  const columns = columnsOf(new Uint8Array(body).buffer, prefixes)
  const named = carriers.map(([ocn, company]): OriginalCarrier => ({ ocn, company }))
  return {
    country,
    asOf: asOf ?? undefined,
    importedAt,
    prefixes: columns.prefixes,
    places: places.map(([region = '', ...zones]) => ({ region, zones })),
    row: (position) => ({
      place: columns.places[position] ?? 0,
      locality: localities[columns.localities[position] ?? 0] ?? '',
      carrier: named[columns.carriers[position] ?? noValue],
    }),
  }
}
