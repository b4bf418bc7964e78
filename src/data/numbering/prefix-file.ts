/**
 * The prepared file of one country's assigned prefixes: small dictionaries in the header, one row
 * of numbers per prefix in the body. Its reader keeps the rows as they are and builds a fact only
 * when it is asked for. Where the rows come from is the business of `numbering-import.ts`.
 *
 * Body, in the machine's byte order: a column of 32-bit prefixes in ascending order, then 16-bit
 * columns of place, locality and carrier numbers.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Instant } from '../../domain/clock.js'
import type { Country, OriginalCarrier } from '../../domain/place.js'
import { DataFileError } from '../../errors.js'
import { type FileKind, readCheckedFile, writeCheckedFile } from '../checked-file.js'
import type { AssignedPrefix, FeedReport } from '../feeds/prefix-feed.js'

const fileKind: FileKind = { kind: 'assigned-prefixes', formatVersion: 1 }

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

/** Stands in the carrier column for "not known". */
const noCarrier = 0xffff
const mostNumbers = 0xffff
const bytesPerRow = 4 + 3 * 2

/** Gathers the prefixes of one country and writes them in one step. */
export class PrefixFileBuilder {
  readonly #places = new Numbering<readonly string[]>()
  readonly #localities = new Numbering<string>()
  readonly #carriers = new Numbering<readonly [string, string]>()
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
        : noCarrier,
    })
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
    await writeCheckedFile(prefixFilePath(folder, country), fileKind, header, [this.#body()])
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

/** Gives equal things the same number, counting from 0. */
class Numbering<Value> {
  readonly #numbers = new Map<string, number>()
  readonly values: Value[] = []

  numberOf(key: string, value: Value): number {
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    const next = this.values.length
    if (next >= mostNumbers) throw new RangeError(`more than ${mostNumbers} values in a column`)
    this.#numbers.set(key, next)
    this.values.push(value)
    return next
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
export function readPrefixFile(folder: string, country: Country): PrefixFile | undefined {
  const path = prefixFilePath(folder, country)
  if (!statSync(path, { throwIfNoEntry: false })) return undefined
  const { header, body } = readCheckedFile(path, fileKind)
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
      carrier: named[columns.carriers[position] ?? noCarrier],
    }),
  }
}
