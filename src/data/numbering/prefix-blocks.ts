/**
 * What the imported thousands blocks change of a prefix: the company, and with it the kind of line,
 * and the place where a block is of another rate centre. Whether the prefix is assigned at all is
 * told by the list of prefixes alone.
 */
import type { NumberFacts, Place } from '../../domain/place.js'
import { type BlockFile, type BlockRow, readBlockFile } from './block-file.js'
import type { JoinedWith } from './imported-prefixes.js'
import { lineClassOf, type OcnClasses } from './line-class.js'
import { normaliseName } from './rate-centre-name.js'

/** Facts of a prefix in use. */
export type PrefixFacts = NumberFacts & { readonly status: 'ok' }

/** A prefix whose thousands differ: facts by the first digit of the line. */
export interface SplitPrefix {
  readonly status: 'split'
  /** Ten of them; blocks of the same holder share theirs. */
  readonly byBlock: readonly PrefixFacts[]
}

const blocksPerPrefix = 10

export class PrefixBlocks {
  readonly #file: BlockFile
  readonly #classes: OcnClasses
  readonly #places: readonly Place[]

  private constructor(file: BlockFile, classes: OcnClasses) {
    this.#file = file
    this.#classes = classes
    this.#places = file.places.map(({ region, zones }) => ({
      country: 'US',
      candidates: zones.map((zone) => ({ region, zone })),
      source: 'prefix',
    }))
  }

  /** `undefined` when no blocks are imported. Throws `DataFileError` for a damaged file. */
  static load(folder: string, { classes, read }: JoinedWith): PrefixBlocks | undefined {
    const file = readBlockFile(folder, read)
    return file && new PrefixBlocks(file, classes)
  }

  get size(): number {
    return this.#file.blocks.length
  }

  /** The facts of a six-digit prefix by block; its own facts where no block changes any. */
  split(prefix: number, ofPrefix: PrefixFacts): PrefixFacts | SplitPrefix {
    const { blocks } = this.#file
    const byBlock = new Array<PrefixFacts>(blocksPerPrefix).fill(ofPrefix)
    const met: Met[] = []
    const first = prefix * blocksPerPrefix
    for (let at = this.#positionOf(first); at < blocks.length; at += 1) {
      const digit = (blocks[at] ?? 0) - first
      if (digit >= blocksPerPrefix) break
      byBlock[digit] = this.#factsOf(this.#file.row(at), ofPrefix, met)
    }
    return byBlock.every((facts) => facts === ofPrefix) ? ofPrefix : { status: 'split', byBlock }
  }

  /** Position of the first block from `block` on. */
  #positionOf(block: number): number {
    const { blocks } = this.#file
    let low = 0
    let high = blocks.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((blocks[middle] ?? 0) < block) low = middle + 1
      else high = middle
    }
    return low
  }

  #factsOf(row: BlockRow, ofPrefix: PrefixFacts, met: Met[]): PrefixFacts {
    const place = this.#places[row.place]
    const elsewhere = place && isElsewhere(row.locality, place, ofPrefix)
    const { carrier } = row
    if (!elsewhere && isSameCompany(carrier, ofPrefix.carrier)) return ofPrefix
    const locality = elsewhere ? row.locality : ofPrefix.locality
    const known = met.find(({ facts, at }) => {
      return facts.carrier === carrier && facts.locality === locality && at === row.place
    })
    if (known) return known.facts
    const lineClass = lineClassOf(carrier, this.#classes)
    const facts: PrefixFacts = {
      status: 'ok',
      place: elsewhere ? place : ofPrefix.place,
      ...{ locality, carrier, lineClass, originalClass: lineClass },
    }
    met.push({ facts, at: row.place })
    return facts
  }
}

/** Facts already made for a block of the same prefix, and the number of its place. */
interface Met {
  readonly facts: PrefixFacts
  readonly at: number
}

function isSameCompany(one: PrefixFacts['carrier'], other: PrefixFacts['carrier']): boolean {
  return one?.ocn === other?.ocn && one?.company === other?.company
}

/** How many letters of a rate centre's name the lists agree on: some cut it there. */
const comparedLetters = 10

/** Whether the list of blocks names a rate centre, and not that of the prefix. */
function isElsewhere(locality: string, place: Place, ofPrefix: PrefixFacts): boolean {
  if (locality === '') return false
  if (place.candidates[0]?.region !== ofPrefix.place.candidates[0]?.region) return true
  if (locality === ofPrefix.locality) return false
  return shortName(locality) !== shortName(ofPrefix.locality)
}

function shortName(locality: string): string {
  return normaliseName(locality).slice(0, comparedLetters)
}
