/** The imported list of one country, joined with the company classes, as facts by prefix. */
import type { Instant } from '../../domain/clock.js'
import type { Country, Place } from '../../domain/place.js'
import { lineClassOf, type OcnClasses } from './line-class.js'
import type { PrefixFacts } from './prefix-blocks.js'
import { type PrefixFile, readPrefixFile } from './prefix-file.js'
import type { ReadPrepared } from './prepared-files.js'

/** What the rows of a prepared file are joined with, and how it is read. */
export interface JoinedWith {
  readonly classes: OcnClasses
  readonly read?: ReadPrepared
}

export class ImportedPrefixes {
  readonly #file: PrefixFile
  readonly #places: readonly Place[]
  readonly #classes: OcnClasses
  /** By area code, 1 when any of its prefixes is listed. */
  readonly #areaCodes = new Uint8Array(1000)

  private constructor(file: PrefixFile, classes: OcnClasses) {
    this.#file = file
    this.#classes = classes
    this.#places = file.places.map(({ region, zones }) => ({
      country: file.country,
      candidates: zones.map((zone) => ({ region, zone })),
      source: 'prefix',
    }))
    for (const prefix of file.prefixes) this.#areaCodes[Math.floor(prefix / 1000)] = 1
  }

  /** `undefined` when the country has no import. Throws `DataFileError` for a damaged one. */
  static load(
    folder: string,
    country: Country,
    { classes, read }: JoinedWith,
  ): ImportedPrefixes | undefined {
    const file = readPrefixFile(folder, country, read)
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
    return this.#areaCodes[Number(areaCode)] === 1
  }

  /** The facts of a six-digit prefix; `undefined` when it is not listed. */
  find(prefix: number): PrefixFacts | undefined {
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
    const originalClass = lineClass
    return { status: 'ok', place: found, locality, carrier, lineClass, originalClass }
  }
}
