/**
 * The prepared file of the thousands blocks that are assigned: small dictionaries in the header, one
 * row of numbers per block in the body. Its reader uses the bytes as they were read; what a block
 * changes of its prefix is the business of `prefix-blocks.ts`.
 *
 * Body, in the machine's byte order: a column of 32-bit blocks in ascending order, then 16-bit
 * columns of place, locality and carrier numbers. In all 10 bytes a block: 23 MB for the 2.3 million
 * of the US.
 */
import { join } from 'node:path'
import type { Instant } from '../../domain/clock.js'
import type { OriginalCarrier } from '../../domain/place.js'
import { DataFileError } from '../../errors.js'
import { type FileKind, writeCheckedFile } from '../checked-file.js'
import type { AssignedBlock } from '../feeds/blocks.js'
import type { FeedReport } from '../feeds/prefix-feed.js'
import { Dictionary, noValue } from './dictionary.js'
import { type Difference, textOf } from './prefix-file.js'
import { type ReadPrepared, readPreparedFile } from './prepared-files.js'

export const blockFileKind: FileKind = { kind: 'thousands-blocks', formatVersion: 1 }

export function blockFilePath(folder: string): string {
  return join(folder, 'blocks-us.cg')
}

interface Header extends Record<string, unknown> {
  readonly importedAt: Instant
  readonly blocks: number
  readonly source: { readonly path: string; readonly sha256: string; readonly rows: number }
  /** Region, then its zones: one when settled. */
  readonly places: readonly (readonly string[])[]
  /** Rate centres; `''` for blocks whose list names none. */
  readonly localities: readonly string[]
  readonly carriers: readonly (readonly [ocn: string, company: string])[]
}

const bytesPerRow = 4 + 3 * 2

/** Blocks are seven-digit numbers from here on. */
const firstBlock = 2_000_000
const possibleBlocks = 8_000_000

/**
 * Gathers the blocks and writes them in one step. A column has a place for every block there can be,
 * 48 MB in all, so that blocks may come in any order and need no sorting.
 */
export class BlockFileBuilder {
  readonly #places = new Dictionary<readonly string[]>()
  readonly #localities = new Dictionary<string>()
  readonly #carriers = new Dictionary<readonly [string, string]>()
  /** One more than the number of the place; 0 where there is no block. */
  readonly #placeOf = new Uint16Array(possibleBlocks)
  readonly #localityOf = new Uint16Array(possibleBlocks)
  readonly #carrierOf = new Uint16Array(possibleBlocks)
  /** Of the block that was added before: lists name the blocks of a rate centre in a row. */
  #last = { region: '', zones: [] as readonly string[], number: 0 }
  #size = 0
  #undecided = 0

  get size(): number {
    return this.#size
  }

  /** Blocks whose rate centre settles no zone. */
  get undecided(): number {
    return this.#undecided
  }

  /** `zones` holds every zone the block may be in, at least one. A block may be added once. */
  add({ block, region, locality, carrier }: AssignedBlock, zones: readonly string[]): void {
    const at = block - firstBlock
    this.#placeOf[at] = this.#placeNumber(region, zones) + 1
    this.#localityOf[at] = this.#localities.numberOf(locality, locality)
    this.#carrierOf[at] = carrier
      ? this.#carriers.numberOf(`${carrier.ocn} ${carrier.company}`, [carrier.ocn, carrier.company])
      : noValue
    this.#size += 1
    if (zones.length > 1 && locality !== '') this.#undecided += 1
  }

  #placeNumber(region: string, zones: readonly string[]): number {
    if (region !== this.#last.region || zones !== this.#last.zones) {
      const place = [region, ...zones]
      this.#last = { region, zones, number: this.#places.numberOf(place.join(' '), place) }
    }
    return this.#last.number
  }

  /** What is other than in an earlier file; a block has changed when its company or rate centre has. */
  compareWith(file: BlockFile): Difference {
    let shared = 0
    let changed = 0
    file.blocks.forEach((block, position) => {
      const at = block - firstBlock
      if (!this.#placeOf[at]) return
      shared += 1
      const { locality, carrier } = file.row(position)
      const isSame =
        locality === this.#localities.values[this.#localityOf[at] ?? 0] &&
        textOf(carrier) === this.#carriers.values[this.#carrierOf[at] ?? noValue]?.join(' ')
      if (!isSame) changed += 1
    })
    return { added: this.#size - shared, changed, removed: file.blocks.length - shared }
  }

  /** Replaces the file in `folder`, or leaves it as it was. */
  async write(
    folder: string,
    { importedAt, report }: { readonly importedAt: Instant; readonly report: FeedReport },
  ): Promise<void> {
    const header: Header = {
      importedAt,
      blocks: this.#size,
      source: { path: report.path, sha256: report.sha256, rows: report.read },
      places: this.#places.values,
      localities: this.#localities.values,
      carriers: this.#carriers.values,
    }
    await writeCheckedFile(blockFilePath(folder), blockFileKind, header, [this.#body()])
  }

  #body(): Uint8Array {
    const body = new Uint8Array(this.#size * bytesPerRow)
    const columns = columnsOf(body, this.#size)
    let row = 0
    for (let at = 0; at < possibleBlocks; at += 1) {
      const place = this.#placeOf[at] ?? 0
      if (place === 0) continue
      columns.blocks[row] = at + firstBlock
      columns.places[row] = place - 1
      columns.localities[row] = this.#localityOf[at] ?? 0
      columns.carriers[row] = this.#carrierOf[at] ?? noValue
      row += 1
    }
    return body
  }
}

interface Columns {
  readonly blocks: Uint32Array
  readonly places: Uint16Array
  readonly localities: Uint16Array
  readonly carriers: Uint16Array
}

function columnsOf({ buffer, byteOffset }: Uint8Array, rows: number): Columns {
  const column = (bytesBefore: number) =>
    new Uint16Array(buffer, byteOffset + rows * bytesBefore, rows)
  return {
    blocks: new Uint32Array(buffer, byteOffset, rows),
    places: column(4),
    localities: column(6),
    carriers: column(8),
  }
}

/** One block as read back; numbers count into the tables of {@link BlockFile}. */
export interface BlockRow {
  readonly place: number
  readonly locality: string
  /** Shared between the blocks of a company; `undefined` when the list names none. */
  readonly carrier: OriginalCarrier | undefined
}

export interface BlockFile {
  readonly importedAt: Instant
  /** Area code, exchange and first digit of the line as seven-digit numbers, ascending. */
  readonly blocks: Uint32Array
  readonly places: readonly { readonly region: string; readonly zones: readonly string[] }[]
  /** The row of the block at a position of `blocks`. */
  row(position: number): BlockRow
}

/** The last import; `undefined` when there is none. Throws {@link DataFileError}. */
export function readBlockFile(
  folder: string,
  read: ReadPrepared = readPreparedFile,
): BlockFile | undefined {
  const path = blockFilePath(folder)
  const file = read(path, blockFileKind)
  if (!file) return undefined
  const { header, body } = file
  const { importedAt, blocks, places, localities, carriers } = header as Header
  if (body.length !== blocks * bytesPerRow) {
    throw new DataFileError(path, `has ${body.length} bytes for ${blocks} blocks; import it again`)
  }
  const columns = columnsOf(body, blocks)
  const named = carriers.map(([ocn, company]): OriginalCarrier => ({ ocn, company }))
  return {
    importedAt,
    blocks: columns.blocks,
    places: places.map(([region = '', ...zones]) => ({ region, zones })),
    row: (position) => ({
      place: columns.places[position] ?? 0,
      locality: localities[columns.localities[position] ?? 0] ?? '',
      carrier: named[columns.carriers[position] ?? noValue],
    }),
  }
}
