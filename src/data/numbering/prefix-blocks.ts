/**
 * Applies the imported thousands blocks to a prefix. A block may have another company, and with it
 * another kind of line, and another rate center, and with it another place. Whether a prefix is
 * assigned at all depends only on the imported prefixes.
 */
import type { NumberFacts, Place } from '../../domain/place.js'
import { classifyLine, type OcnClasses, type PrefixLoadOptions } from './line-class.js'
import { type NumberingRow, type NumberingTable, readNumberingTable } from './numbering-table.js'
import { normalizeName } from './rate-center-name.js'

/** Facts of a prefix in use. */
export type PrefixFacts = NumberFacts & { readonly status: 'ok' }

/** A prefix whose blocks differ, with facts by the first digit of the line. */
export interface SplitPrefix {
  readonly status: 'split'
  /** Ten entries; blocks of the same holder share one object. */
  readonly byBlock: readonly PrefixFacts[]
}

const blocksPerPrefix = 10

export class PrefixBlocks {
  readonly #table: NumberingTable
  readonly #classes: OcnClasses

  private constructor(table: NumberingTable, classes: OcnClasses) {
    this.#table = table
    this.#classes = classes
  }

  /** `undefined` if no blocks are imported. Throws `DataFileError` for a damaged file. */
  static load(folder: string, { classes, read }: PrefixLoadOptions): PrefixBlocks | undefined {
    const table = readNumberingTable(folder, 'blocks', read)
    return table && new PrefixBlocks(table, classes)
  }

  get size(): number {
    return this.#table.keys.length
  }

  /** The facts of a six-digit prefix by block; `ofPrefix` itself if no block differs. */
  split(prefix: number, ofPrefix: PrefixFacts): PrefixFacts | SplitPrefix {
    const { keys } = this.#table
    const byBlock = new Array<PrefixFacts>(blocksPerPrefix).fill(ofPrefix)
    const met: CachedBlockFacts[] = []
    const first = prefix * blocksPerPrefix
    for (let at = this.#table.findPosition(first); at < keys.length; at += 1) {
      const digit = (keys[at] ?? 0) - first
      if (digit >= blocksPerPrefix) break
      byBlock[digit] = this.#factsOf(this.#table.row(at), ofPrefix, met)
    }
    return byBlock.every((facts) => facts === ofPrefix) ? ofPrefix : { status: 'split', byBlock }
  }

  #factsOf(row: NumberingRow, ofPrefix: PrefixFacts, met: CachedBlockFacts[]): PrefixFacts {
    const { place, carrier } = row
    const elsewhere = place && isOtherLocality(row.locality, place, ofPrefix)
    if (!elsewhere && isSameCompany(carrier, ofPrefix.carrier)) return ofPrefix
    const locality = elsewhere ? row.locality : ofPrefix.locality
    const known = met.find(({ facts, place: met }) => {
      return facts.carrier === carrier && facts.locality === locality && met === place
    })
    if (known) return known.facts
    const lineClass = classifyLine(carrier, this.#classes)
    const facts: PrefixFacts = {
      status: 'ok',
      place: elsewhere ? place : ofPrefix.place,
      locality,
      carrier,
      lineClass,
      originalClass: lineClass,
    }
    met.push({ facts, place })
    return facts
  }
}

/** Facts already created for a block of the same prefix, with the place in the imported row. */
interface CachedBlockFacts {
  readonly facts: PrefixFacts
  readonly place: Place | undefined
}

function isSameCompany(one: PrefixFacts['carrier'], other: PrefixFacts['carrier']): boolean {
  return one?.ocn === other?.ocn && one?.company === other?.company
}

/** Compared letters of a rate center's name, since some reports truncate it to this length. */
const maxComparedLetters = 10

/** Whether the block has a rate center that differs from that of the prefix. */
function isOtherLocality(locality: string, place: Place, ofPrefix: PrefixFacts): boolean {
  if (locality === '') return false
  if (place.candidates[0]?.region !== ofPrefix.place.candidates[0]?.region) return true
  if (locality === ofPrefix.locality) return false
  return shortName(locality) !== shortName(ofPrefix.locality)
}

function shortName(locality: string): string {
  return normalizeName(locality).slice(0, maxComparedLetters)
}
