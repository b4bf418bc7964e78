/**
 * What a search may look for in a block of decisions, as a Bloom filter: all that are there are found, and of others about one in
 * a hundred, so whoever searches looks again. A decision has few terms, and an index of them would cost more than the blocks.
 */
import { type RawBuilder, sql } from 'kysely'
import { normalizeProjectCode } from '../../../domain/caller.js'
import type { DecisionHead } from '../../record/read-head.js'
import type { DecisionFilter } from '../search/decision-search.js'

const termFields = [
  'number',
  'reference',
  'keyId',
  'projectId',
  'decision',
  'reason',
  'callKind',
  'via',
] as const

const bitsPerTerm = 10

/** Collects the terms of a block. */
export class BlockTerms {
  readonly #hashes = new Set<number>()
  readonly #seeds = new Map<string, readonly number[]>()
  /** What the decision before had, which most have as well. */
  #last: Partial<DecisionHead> = {}

  add(fields: DecisionHead): void {
    const { accountId, whatIf } = fields
    // No search finds one.
    if (whatIf) return
    const last = this.#last.accountId === accountId ? this.#last : undefined
    this.#last = fields
    let seeds = this.#seeds.get(accountId)
    if (seeds === undefined) {
      seeds = termFields.map((field) => hash(field, hashAccount(accountId)))
      this.#seeds.set(accountId, seeds)
      this.#hashes.add(hashAccount(accountId))
    }
    for (let index = 0; index < termFields.length; index += 1) {
      const field = termFields[index] as (typeof termFields)[number]
      const value = fields[field]
      if (value === undefined || value === last?.[field]) continue
      this.#hashes.add(
        hash(field === 'projectId' ? normalizeProjectCode(value) : value, seeds[index]),
      )
    }
  }

  encode(): Buffer {
    const filter = Buffer.alloc(Math.ceil((this.#hashes.size * bitsPerTerm) / 8))
    const size = filter.length * 8
    for (const term of this.#hashes) {
      for (const number of toBits(term)) {
        const bit = number % size
        filter[bit >> 3] = (filter[bit >> 3] ?? 0) | (1 << (bit & 7))
      }
    }
    return filter
  }
}

/** True for a block that may have decisions of an account which meet a filter. */
export function mayMeet(accountId: string, filter: DecisionFilter): RawBuilder<boolean> {
  const account = hashAccount(accountId)
  const terms = termFields.flatMap((field) => {
    const value = filter[field]
    return value === undefined ? [] : [hash(value, hash(field, account))]
  })
  const size = sql`(octet_length(terms) * 8::bigint)`
  const tests = [account, ...terms].flatMap((term) =>
    toBits(term).map((bit) => sql`get_bit(terms, ${sql.lit(bit)} % ${size}) = 1`),
  )
  return sql`(${sql.join(tests, sql` and `)})`
}

const hashAccount = (accountId: string) => hash(`${accountId}\n`, 0x811c9dc5 | 0)

/** FNV-1a, in 32 bits. */
function hash(text: string, seed = 0): number {
  let value = seed
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  }
  return value
}

/** Steps from a hash, by another one of it. */
function toBits(term: number): readonly number[] {
  let hashed = Math.imul(term ^ (term >>> 16), 0x85ebca6b)
  hashed = Math.imul(hashed ^ (hashed >>> 13), 0xc2b2ae35)
  const [first, step] = [term >>> 0, hashed >>> 0]
  return [first, first + step, first + 2 * step, first + 3 * step]
}
