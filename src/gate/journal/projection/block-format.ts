/**
 * Blocks of decisions, as they are in PostgreSQL. A body is compressed with Brotli, and has one entry after another: the id
 * (29 bytes), the length of the text (4, big-endian), and the text as it is in the journal. Many in one row take a tenth of the time
 * and of the room of as many rows.
 */
import { promisify } from 'node:util'
import { brotliCompressSync, brotliDecompress, constants } from 'node:zlib'
import type { Instant } from '../../../domain/time/clock.js'
import { readHead } from '../../record/read-head.js'
import { BlockTerms } from './block-terms.js'

export interface BlockDecision {
  readonly id: string
  /** JSON of the decision, in UTF-8. */
  readonly body: Buffer
}

export interface BlockEntry extends BlockDecision {
  readonly seq: number
  readonly madeAt: Instant
  /** Whether it replaces a decision of an earlier block. */
  readonly amends: boolean
}

export interface DecisionBlock {
  readonly first_id: string
  readonly last_id: string
  readonly first_seq: number
  readonly decisions: number
  readonly amends: number
  readonly terms: Buffer
  readonly body: Buffer
}

/** All ids of a block begin with instants of one such span, so no block is of two months. */
export const blockSpanMs = 10_000
const idBytes = 29
const headBytes = idBytes + 4
/** To find a decision, a block is unpacked. More would hardly be packed better. */
const maxBlockBytes = 262_144
const maxDecisions = 256

/** The blocks that decisions of one journal are stored in, each id once. */
export function packBlocks(entries: Iterable<BlockEntry>): readonly DecisionBlock[] {
  const blocks: DecisionBlock[] = []
  const open = new Map<number, { entries: BlockEntry[]; bytes: number }>()
  for (const entry of entries) {
    const span = Math.floor(entry.madeAt / blockSpanMs)
    const size = headBytes + entry.body.length
    let block = open.get(span)
    if (block && (block.bytes + size > maxBlockBytes || block.entries.length === maxDecisions)) {
      blocks.push(packBlock(block.entries))
      block = undefined
    }
    if (block === undefined) open.set(span, { entries: [entry], bytes: size })
    else {
      block.entries.push(entry)
      block.bytes += size
    }
  }
  for (const block of open.values()) blocks.push(packBlock(block.entries))
  return blocks
}

function packBlock(entries: readonly BlockEntry[]): DecisionBlock {
  const [first] = entries
  let [firstId, lastId] = [first?.id ?? '', '']
  for (const { id } of entries) {
    if (id < firstId) firstId = id
    if (id > lastId) lastId = id
  }
  return {
    first_id: firstId,
    last_id: lastId,
    first_seq: Math.min(...entries.map(({ seq }) => seq)),
    decisions: entries.length,
    amends: entries.some(({ amends }) => amends) ? 1 : 0,
    ...packDecisions(entries),
  }
}

/** Memory of one block, which is packed at once, and the next one after it: of its own, each would be cleared away for itself. */
let memory = Buffer.alloc(0)

export function packDecisions(
  decisions: readonly BlockDecision[],
): Pick<DecisionBlock, 'terms' | 'body'> {
  const terms = new BlockTerms()
  const length = decisions.reduce((sum, { body }) => sum + headBytes + body.length, 0)
  if (memory.length < length) memory = Buffer.alloc(length)
  let offset = 0
  for (const { id, body } of decisions) {
    terms.add(readHead(body))
    memory.write(id, offset, idBytes, 'latin1')
    memory.writeUInt32BE(body.length, offset + idBytes)
    offset += headBytes + body.copy(memory, offset + headBytes)
  }
  // Half the time of zlib's lowest level, and a fifth less room.
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 1,
    [constants.BROTLI_PARAM_SIZE_HINT]: length,
  }
  const body = brotliCompressSync(memory.subarray(0, length), { params })
  return { terms: terms.encode(), body }
}

const decompress = promisify(brotliDecompress)

/** Not in the thread that asks. */
export async function unpackDecisions(body: Buffer): Promise<readonly BlockDecision[]> {
  const bytes = await decompress(body)
  const decisions: BlockDecision[] = []
  for (let offset = 0; offset < bytes.length; ) {
    const start = offset + headBytes
    const end = start + bytes.readUInt32BE(offset + idBytes)
    const id = bytes.toString('latin1', offset, offset + idBytes)
    decisions.push({ id, body: bytes.subarray(start, end) })
    offset = end
  }
  return decisions
}
