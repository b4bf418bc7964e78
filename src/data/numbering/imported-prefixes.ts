/** The imported prefixes of one country, joined with the company classes, as facts by prefix. */

import type { Country } from '../../domain/place.js'
import type { Instant } from '../../domain/time/clock.js'
import { classifyLine, type OcnClasses, type PrefixLoadOptions } from './line-class.js'
import { type NumberingTable, readNumberingTable } from './numbering-table.js'
import type { PrefixFacts } from './prefix-blocks.js'

export class ImportedPrefixes {
  readonly #table: NumberingTable
  readonly #classes: OcnClasses
  /** 1 for each area code with a listed prefix. */
  readonly #areaCodes = new Uint8Array(1000)

  private constructor(table: NumberingTable, classes: OcnClasses) {
    this.#table = table
    this.#classes = classes
    for (const prefix of table.keys) this.#areaCodes[Math.floor(prefix / 1000)] = 1
  }

  /** `undefined` if nothing is imported for the country. Throws `DataFileError` for a damaged file. */
  static load(
    folder: string,
    country: Country,
    { classes, read }: PrefixLoadOptions,
  ): ImportedPrefixes | undefined {
    const table = readNumberingTable(folder, country, read)
    return table && new ImportedPrefixes(table, classes)
  }

  get size(): number {
    return this.#table.keys.length
  }

  get asOf(): Instant | undefined {
    return this.#table.asOf
  }

  /** Whether any prefix of a three-digit area code is listed. */
  hasAreaCode(areaCode: string): boolean {
    return this.#areaCodes[Number(areaCode)] === 1
  }

  /** The facts of a six-digit prefix; `undefined` if it is not listed. */
  find(prefix: number): PrefixFacts | undefined {
    const position = this.#table.findPosition(prefix)
    if (this.#table.keys[position] !== prefix) return undefined
    const { place, locality, carrier } = this.#table.row(position)
    if (!place) return undefined
    const lineClass = classifyLine(carrier, this.#classes)
    return { status: 'ok', place, locality, carrier, lineClass, originalClass: lineClass }
  }
}
