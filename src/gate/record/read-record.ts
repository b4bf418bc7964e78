/**
 * The way out of the record: what a record of each kind has, from its JSON text. Also runs in the verifier of evidence bundles,
 * with Node alone.
 */
import type { CallOutcome } from '../../domain/call-outcome.js'
import type { CandidatePlace } from '../../domain/place.js'
import type { RecordedSaid } from '../../domain/words/words.js'
import type { MarkedAuditRecord } from '../../storage/audit/audit-log.js'
import type { AnyErasureNotice, RemovalNotice } from '../../transparency/removal-notices.js'
import type { FormerOrigin } from '../journal/journal-beginning.js'
import type { NotTakenOver } from '../journal/recovery/recover-journal.js'
import type { RecordKind } from '../journal/segment-format.js'
import type { DecisionDocument, FindingDocument } from './decision-document.js'

/** What was noted about a call. */
export interface OutcomeNote {
  /** Of the decision. */
  readonly id: string
  /** Whether this process made the decision. */
  readonly own: boolean
  readonly outcome: Partial<CallOutcome>
}

/** The number is not in the journal. */
interface ErasureNote {
  /** Of the row that requested it. */
  readonly id: string
}

/** What each start says. */
interface StartNote {
  /** Of the program. */
  readonly version: string
  /** Name of the installation. */
  readonly installation?: string | undefined
  readonly notTakenOver?: NotTakenOver | undefined
  readonly keepYears: number
  readonly formerOrigins?: readonly FormerOrigin[] | undefined
}

/** What a person got who opted out. */
interface ReceiptContent {
  readonly what: 'opt-out'
  readonly accountId: string
  readonly number: string | undefined
  readonly projectId: string | undefined
  readonly scope: string
  /** ISO 8601 in UTC, as is `effectiveAt`. */
  readonly receivedAt: string
  readonly effectiveAt: string
}

export type NoticeContent = AnyErasureNotice & Partial<RemovalNotice>

/** By the kind of the record. */
export interface RecordContents {
  readonly decision: DecisionDocument
  readonly amendment: DecisionDocument
  readonly outcome: OutcomeNote
  readonly erasure: ErasureNote
  readonly opened: StartNote
  readonly audit: MarkedAuditRecord
  readonly notice: NoticeContent
  readonly receipt: ReceiptContent
}

/** A record whose body is not what its kind has; the message names both. */
export class RecordError extends Error {
  constructor(where: string, kind: RecordKind, problem: string, cause?: unknown) {
    super(`${where} is no ${kind}: ${problem}`, cause === undefined ? undefined : { cause })
    this.name = 'RecordError'
  }
}

interface RecordText {
  /** Of a record in a journal. */
  readonly seq?: number
  /** Of a decision, where it is stored by its id. */
  readonly id?: string
  /** JSON in UTF-8. */
  readonly body: Buffer | string
}

/**
 * Throws {@link RecordError} if the body is no JSON object, or if that of a decision or outcome lacks what they are found and
 * erased by. Nothing else is checked: the tree says whether a record is as it was written.
 */
export function readRecord<Kind extends RecordKind>(
  kind: Kind,
  { seq, id, body }: RecordText,
): RecordContents[Kind] {
  const fail = (problem: string, cause?: unknown) => {
    const where =
      seq !== undefined ? `record ${seq}` : id === undefined ? 'the record' : `the record of ${id}`
    return new RecordError(where, kind, problem, cause)
  }
  const isDecision = kind === 'decision' || kind === 'amendment'
  let content: unknown
  let quotes: readonly string[] | undefined
  try {
    const text = body.toString()
    if (isDecision) ({ content, quotes } = parseParts(text))
    else content = JSON.parse(text)
  } catch (cause) {
    throw fail(cause instanceof Error ? cause.message : String(cause), cause)
  }
  if (!isObject(content)) throw fail('it is no JSON object')
  if (kind === 'outcome') {
    if (typeof content.id !== 'string') throw fail('it must have an id')
    if (!isObject(content.outcome)) throw fail('it must have an outcome')
  } else if (isDecision) {
    const problem = findProblemOfDecision(content)
    if (problem !== undefined) throw fail(problem)
    content = quotes ? withQuotes(content as unknown as DecisionDocument, quotes) : content
  }
  return content as unknown as RecordContents[Kind]
}

/** The second part is about the person, or `#` and a hash if it was erased. `quotes` belong into the findings. */
function parseParts(text: string): {
  readonly content: unknown
  readonly quotes?: readonly string[] | undefined
} {
  const [kept = '', person] = text.split('\t')
  const content: unknown = JSON.parse(kept)
  if (!isObject(content)) return { content }
  if (person === undefined) throw new SyntaxError('it must have a part about the person')
  if (person.startsWith('#')) {
    return { content: { ...content, number: '', dialed: '', erased: true }, quotes: [] }
  }
  const about: unknown = JSON.parse(person)
  if (!isObject(about)) throw new SyntaxError('its part about the person is no JSON object')
  const { id, decision, reason, ...rest } = content
  const { number, dial, quotes, ...more } = about
  const first = { id, decision, reason, number, ...(dial !== undefined && { dial }) }
  return {
    content: { ...first, ...rest, ...more },
    quotes: Array.isArray(quotes) ? quotes : undefined,
  }
}

/** Restores the quotes in the order in which the writer listed them. */
function withQuotes(document: DecisionDocument, quotes: readonly string[]): DecisionDocument {
  const left = quotes.values()
  const put = (says: readonly RecordedSaid[]) =>
    says.map(({ quote, ...said }) => {
      const text = quote === undefined ? undefined : left.next().value
      return typeof text === 'string' ? { ...said, quote: text } : said
    })
  const putIn = (finding: FindingDocument): FindingDocument => {
    const { says, notRenewed, parts, reassigned } = finding
    return {
      ...finding,
      says: put(says),
      ...(notRenewed && { notRenewed: put(notRenewed) }),
      ...(parts && { parts: parts.map(putIn) }),
      ...(!parts && reassigned && { reassigned: putIn(reassigned) }),
    }
  }
  const { says, findings } = document
  return {
    ...document,
    ...(says && { says: put(says) }),
    findings: findings.map(putIn),
  }
}

function findProblemOfDecision(content: Readonly<Record<string, unknown>>): string | undefined {
  const missing = textsOfDecision.find((name) => typeof content[name] !== 'string')
  if (missing !== undefined) return `it must have the text ${missing}`
  const { findings, says = [], policy = [], reason } = content
  if (!isTextIfThere(reason)) return 'its reason must be text'
  if (!Array.isArray(findings) || !findings.every(isFinding)) return 'it must have findings'
  if (!isSays(says)) return 'what it says must have codes'
  return Array.isArray(policy) && policy.every(isObject) ? undefined : 'its policy must be a list'
}

/** What it says is rendered by its codes. Only findings have parts, and parts have none. */
function isFinding(value: unknown): boolean {
  if (!isPlainFinding(value)) return false
  const { parts = [], reassigned } = value
  return (
    Array.isArray(parts) &&
    parts.every(isPart) &&
    (reassigned === undefined || isPlainFinding(reassigned))
  )
}

const isPart = (value: unknown): boolean =>
  isPlainFinding(value) &&
  value.parts === undefined &&
  (value.reassigned === undefined || isPlainFinding(value.reassigned))

function isPlainFinding(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isObject(value)) return false
  const { check, reason, source, says, notRenewed = [] } = value
  return [check, reason, source].every(isTextIfThere) && isSays(says) && isSays(notRenewed)
}

const isSays = (value: unknown): boolean => Array.isArray(value) && value.every(isSaid)

function isSaid(value: unknown): boolean {
  if (!isObject(value)) return false
  const { code, params = {}, quote, source } = value
  const isQuoted = quote === true || isTextIfThere(quote)
  return typeof code === 'string' && isObject(params) && isQuoted && isTextIfThere(source)
}

const isTextIfThere = (value: unknown): boolean => value === undefined || typeof value === 'string'

const textsOfDecision = ['id', 'accountId', 'number', 'dialed'] as const

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Places where the called person may have been. */
export function listRecordedPlaces({
  facts,
}: Pick<DecisionDocument, 'facts'>): readonly CandidatePlace[] {
  const { number, postal } = facts?.own ?? {}
  return number?.status === 'ok' ? [...number.place.candidates, ...(postal?.candidates ?? [])] : []
}
