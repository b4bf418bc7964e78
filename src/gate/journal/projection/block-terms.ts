/**
 * What a search may look for in a block of decisions, as a Bloom filter: all that are there are found, and of others about one in
 * a hundred, so whoever searches looks again. A decision has few terms, and an index of them would cost more than the blocks.
 */
import { type RawBuilder, sql } from 'kysely'
import type { DecisionDocument } from '../../decision-document.js'

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

/** The fields of a decision that a search looks at. */
export type SearchedFields = Pick<DecisionDocument, 'accountId'> & {
  readonly [Field in (typeof termFields)[number]]?: string | undefined
}

/** Of a decision. */
export function readId(body: Buffer): string {
  const [, id] = /^\{"id":"([0-9a-z]{29})"/.exec(body.toString('latin1', 0, 37)) ?? []
  return id ?? (JSON.parse(body.toString()) as DecisionDocument).id
}

/** Of a decision as callgate writes it, these are in the beginning, and what is after the findings is at the end. */
const headBytes = 512
const tailBytes = 1_024

/**
 * Parsing the whole of a decision would take longer than storing it. Within a text of JSON, a quotation mark follows a
 * backslash, so what is found are the fields; what is not as callgate writes it, and what is not ASCII, is parsed.
 */
export function readSearched(body: Buffer): SearchedFields {
  const head = body.toString('latin1', 0, headBytes)
  const end = body.toString('latin1', Math.max(0, body.length - tailBytes))
  const tail = end.slice(end.lastIndexOf(',"accountId":"'))
  const [decision, reason, number, callKind] = [
    readText(head, 'decision'),
    readText(head, 'reason'),
    readText(head, 'number'),
    readText(head, 'callKind'),
  ]
  const [accountId, via] = [readText(tail, 'accountId'), readText(tail, 'via')]
  const isWhole = decision && reason && number && callKind && accountId && via
  if (!isWhole || !isPlain.test(tail) || !isPlain.test(number)) return pickSearched(body)
  const [keyId, projectId, reference] = [
    readText(tail, 'keyId'),
    readText(tail, 'projectId'),
    readText(tail, 'reference'),
  ]
  return { accountId, number, decision, reason, callKind, via, keyId, projectId, reference }
}

const isPlain = /^[ -[\]-~]*$/

/** `undefined` if there is none. */
function readText(text: string, field: string): string | undefined {
  const name = `"${field}":"`
  const start = text.indexOf(name)
  if (start < 0) return undefined
  const end = text.indexOf('"', start + name.length)
  return end < 0 ? undefined : text.slice(start + name.length, end)
}

function pickSearched(body: Buffer): SearchedFields {
  const { accountId, ...more }: DecisionDocument = JSON.parse(body.toString())
  const { number, decision, reason, callKind, via, keyId, projectId, reference } = more
  return { accountId, number, decision, reason, callKind, via, keyId, projectId, reference }
}

const bitsPerTerm = 10
const bitsOfTerm = 4

/** Collects the terms of a block. */
export class BlockTerms {
  readonly #hashes = new Set<number>()
  readonly #seeds = new Map<string, readonly number[]>()
  /** What the decision before had, which most have as well. */
  #last: SearchedFields = { accountId: '' }

  add(fields: SearchedFields): void {
    const { accountId } = fields
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
      this.#hashes.add(hash(value, seeds[index]))
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

/** True for a block that may have decisions with all of these values. */
export function mayHaveAll({ accountId, ...values }: SearchedFields): RawBuilder<boolean> {
  const account = hashAccount(accountId)
  const terms = [account]
  for (const [field, value] of Object.entries(values)) {
    if (value !== undefined) terms.push(hash(value, hash(field, account)))
  }
  const size = sql`(octet_length(terms) * 8::bigint)`
  const tests = terms.flatMap((term) =>
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
  let step = Math.imul(term ^ (term >>> 16), 0x85ebca6b)
  step = Math.imul(step ^ (step >>> 13), 0xc2b2ae35)
  const first = term >>> 0
  return Array.from({ length: bitsOfTerm }, (_, index) => first + index * (step >>> 0))
}
