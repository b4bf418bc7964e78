/** The imported list of one country, joined with the company classes, as facts by prefix. */
import type { Instant } from '../../domain/clock.js'
import type { Country, NumberFacts, Place } from '../../domain/place.js'
import { lineClassOf, type OcnClasses } from './line-class.js'
import { type PrefixFile, readPrefixFile } from './prefix-file.js'

export class ImportedPrefixes {
  readonly #file: PrefixFile
  readonly #places: readonly Place[]
  readonly #classes: OcnClasses
  readonly #areaCodes: ReadonlySet<number>

  private constructor(file: PrefixFile, classes: OcnClasses) {
    this.#file = file
    this.#classes = classes
    this.#places = file.places.map(({ region, zones }) => ({
      country: file.country,
      candidates: zones.map((zone) => ({ region, zone })),
      source: 'prefix',
    }))
    this.#areaCodes = new Set(file.prefixes.map((prefix) => Math.floor(prefix / 1000)))
  }

  /** `undefined` when the country has no import. Throws `DataFileError` for a damaged one. */
  static load(folder: string, country: Country, classes: OcnClasses): ImportedPrefixes | undefined {
    const file = readPrefixFile(folder, country)
    return file && new ImportedPrefixes(file, classes)
  }

  get size(): number {
    return this.#file.prefixes.length
  }

  get asOf(): Instant | undefined {
    return this.#file.asOf
  }

  /** Whether any prefix of a three-digit area code is listed. */
  serves(areaCode: string): boolean {
    return this.#areaCodes.has(Number(areaCode))
  }

  /** The facts of a six-digit prefix; `undefined` when it is not listed. */
  find(prefix: number): NumberFacts | undefined {
    const { prefixes } = this.#file
    let low = 0
    let high = prefixes.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((prefixes[middle] ?? 0) < prefix) low = middle + 1
      else high = middle
    }
    if (prefixes[low] !== prefix) return undefined
    const { place, locality, carrier } = this.#file.row(low)
    const found = this.#places[place]
    if (!found) return undefined
    const lineClass = lineClassOf(carrier, this.#classes)
    return { status: 'ok', place: found, locality, carrier, lineClass }
  }
}
