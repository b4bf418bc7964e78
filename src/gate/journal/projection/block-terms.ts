/**
 * What a search may look for in a block of decisions, as a Bloom filter: all that are there are found, and of others about one in
 * a hundred, so whoever searches looks again. A decision has few terms, and an index of them would cost more than the blocks.
 */
import { type RawBuilder, sql } from 'kysely'
import type { DecisionDocument } from '../../decision-document.js'

type TermField =
  | 'number'
  | 'decision'
  | 'reason'
  | 'callKind'
  | 'projectId'
  | 'via'
  | 'keyId'
  | 'reference'

type Searched = Pick<DecisionDocument, 'accountId'> & {
  readonly [Field in TermField]?: string | undefined
}

const bitsPerTerm = 10
const hashes = 4

/** Of an account, or of a value that its decisions have. */
const formatTerm = (accountId: string, field = '', value = '') => `${accountId}\n${field}\n${value}`

/** Those of a decision, of its JSON in UTF-8. */
export function* readTerms(body: Buffer): Generator<string> {
  yield* toTerms(readSearched(body))
}

/** That of the account, and those of the fields that have a value. */
export function* toTerms({ accountId, ...fields }: Searched): Generator<string> {
  yield formatTerm(accountId)
  for (const [field, value] of Object.entries(fields)) {
    if (value !== undefined) yield formatTerm(accountId, field, value)
  }
}

/**
 * Parsing the whole of a decision would take longer than storing it. Within a text of JSON, a quotation mark follows a
 * backslash, so what is found are the fields; what is not as callgate writes it is parsed.
 */
function readSearched(body: Buffer): Searched {
  const text = body.toString('latin1')
  const findings = text.indexOf(',"findings":[')
  const account = text.lastIndexOf(',"accountId":')
  const head = readTexts(text.slice(0, findings), headFields)
  const tail = readTexts(text.slice(account), tailFields)
  const isWhole = headFields.every((field) => head?.[field]) && tail?.via
  if (findings < 0 || account < findings || !isWhole || !tail.accountId)
    return pickSearched(JSON.parse(body.toString()))
  return { ...head, ...tail, accountId: tail.accountId }
}

const headFields = ['decision', 'reason', 'number', 'callKind'] as const
const tailFields = ['accountId', 'keyId', 'via', 'projectId', 'reference'] as const

/** `undefined` if a value has an escape or is not ASCII. */
function readTexts<Field extends string>(
  text: string,
  fields: readonly Field[],
): { [Name in Field]?: string } | undefined {
  const values: { [Name in Field]?: string } = {}
  for (const field of fields) {
    const start = text.indexOf(`,"${field}":"`)
    if (start < 0) continue
    const from = start + field.length + 5
    const value = text.slice(from, text.indexOf('"', from))
    if (!/^[ !#-[\]-~]*$/.test(value)) return undefined
    values[field] = value
  }
  return values
}

function pickSearched(document: DecisionDocument): Searched {
  const { accountId, number, decision, reason, callKind, projectId, via, keyId, reference } =
    document
  return { accountId, number, decision, reason, callKind, projectId, via, keyId, reference }
}

export function encodeTerms(terms: ReadonlySet<string>): Buffer {
  const filter = Buffer.alloc(Math.ceil((terms.size * bitsPerTerm) / 8))
  const bits = filter.length * 8
  for (const term of terms) {
    for (const hash of hashTerm(term)) {
      const bit = hash % bits
      filter[bit >> 3] = (filter[bit >> 3] ?? 0) | (1 << (bit & 7))
    }
  }
  return filter
}

/** True for a block that may have all of the terms. */
export function matchesTerms(terms: Iterable<string>): RawBuilder<boolean> {
  const tests = [...terms].flatMap((term) =>
    hashTerm(term).map(
      (hash) => sql`get_bit(terms, ${sql.lit(hash)} % (octet_length(terms) * 8::bigint)) = 1`,
    ),
  )
  return sql`(${sql.join(tests, sql` and `)})`
}

/** FNV-1a, and steps that follow from it. */
function hashTerm(term: string): readonly number[] {
  let hash = 0x811c9dc5
  for (let index = 0; index < term.length; index += 1) {
    hash = Math.imul(hash ^ term.charCodeAt(index), 0x01000193)
  }
  const first = hash >>> 0
  let step = Math.imul(first ^ (first >>> 16), 0x85ebca6b)
  step = (Math.imul(step ^ (step >>> 13), 0xc2b2ae35) >>> 0) | 1
  return Array.from({ length: hashes }, (_, index) => first + index * (step >>> 0))
}
