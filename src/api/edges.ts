/**
 * How a server that decides far from the database, an edge, keeps a copy of what an account's decisions depend
 * on: rows of the tables by their columns. What both ends do is in `docs/edges.md`.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { z } from 'zod'
import {
  type Attempt,
  type AttemptLimits,
  approvalRules,
  type CountedAttempt,
  callKinds,
  callPurposes,
  type FrequencyLimit,
  type LimitsOfAttempt,
} from '../domain/mandate.js'
import type { Said } from '../domain/words/words.js'
import { type BytesReply, defineEndpoint } from './endpoint.js'
import { fields } from './fields.js'
import { said } from './gate/decision-body.js'

/** Of a table, by column; instants are milliseconds since the epoch. */
export type CopiedRow = Readonly<Record<string, string | number | null>>

/** Tables of an account that are always sent whole, those that others refer to first. */
export const accountTables = [
  'accounts',
  'api_keys',
  'pauses',
  'caller_ids',
  'abandonment_counts',
  'projects',
  'campaigns',
  'project_hours',
  'state_registrations',
  'internal_dnc_lists',
  'list_rights',
  'list_versions',
] as const
export type AccountTable = (typeof accountTables)[number]

/** The column with the account; `undefined` for a table that is the same for all accounts. */
export function findAccountColumn(table: AccountTable): string | undefined {
  if (table === 'list_versions') return undefined
  return table === 'accounts' ? 'id' : 'account_id'
}

/** Tables with a row for each number. */
export const numberTables = ['internal_dnc', 'ebr_records'] as const
export type NumberTable = (typeof numberTables)[number]

export interface AccountCopy {
  readonly accountId: string
  readonly tables: Readonly<Record<AccountTable, readonly CopiedRow[]>>
  /** All that it has of changes is of those up to this number. */
  readonly seq: number
}

export interface RecordPageRequest {
  readonly table: NumberTable
  /** All rows of these, instead of a page. */
  readonly numbers?: readonly string[] | undefined
  /** The key of the last row of the page before; empty for the first page. */
  readonly after: string
}

/** Rows in the order of their keys. */
export interface RecordPage {
  readonly accountId: string
  readonly rows: readonly CopiedRow[]
  /** The key of the last row; null if there are no more rows. */
  readonly next: string | null
}

export interface ChangesRequest {
  /** Empty for the newest change, without what it changed. */
  readonly after: string
  /** Answer as soon as there is a change, and otherwise after so long. */
  readonly waitMs: number
}

/** What has changed after a cursor, as it is now. */
export interface ChangesCopy {
  readonly accountId: string
  /** Number of the center's schema. */
  readonly schema: number
  /** Of the newest change in this answer, which may have the first of its numbers alone. */
  readonly cursor: string
  /** The copy must be made again, since it is not known what has changed. */
  readonly isUnknown: boolean
  /** Whether there are more changes, to be asked for with the new cursor. */
  readonly hasMore: boolean
  /** Whether rows of {@link accountTables} have changed. */
  readonly ofAccount: boolean
  /** Whether rows of {@link numberTables} of any number may have changed. */
  readonly ofAllNumbers: boolean
  /** All rows of these numbers follow. */
  readonly numbers: readonly string[]
  readonly rows: Readonly<Record<NumberTable, readonly CopiedRow[]>>
  /** All changes were known here so many milliseconds after the request had arrived; usually negative. */
  readonly knownAfterMs: number
}

const row: z.ZodType<CopiedRow> = z.record(z.string(), z.union([z.string(), z.number(), z.null()]))
const rows = z.array(row)
const recordRows = z.object({ internal_dnc: rows, ebr_records: rows })

const compress = promisify(gzip)

/** Rows are a tenth of their size then. */
async function toCompressedReply(answer: unknown): Promise<BytesReply> {
  const bytes = await compress(JSON.stringify(answer))
  return { bytes, contentType: 'application/json', headers: { 'content-encoding': 'gzip' } }
}

const noEdges = 'Only servers over PostgreSQL serve edges'

const shared = {
  spec: 'none; callgate only',
  method: 'GET',
  accepts: ['query'],
  keyAlsoIn: [],
  rights: ['edge'],
  scopes: 'none',
  errors: 'problem',
  otherStatuses: { 404: noEdges },
  encode: toCompressedReply,
} as const

export const edgeAccountEndpoint = defineEndpoint<object, AccountCopy>({
  ...shared,
  name: 'edge-account',
  summary: 'The account, keys, projects and hours of the key’s account, for the copy of an edge.',
  paths: ['/v1/edge/account'],
  request: fields({}),
  response: z.object({
    accountId: z.string(),
    tables: z.object({
      accounts: rows,
      api_keys: rows,
      pauses: rows,
      caller_ids: rows,
      abandonment_counts: rows,
      projects: rows,
      campaigns: rows,
      project_hours: rows,
      state_registrations: rows,
      internal_dnc_lists: rows,
      list_rights: rows,
      list_versions: rows,
    }),
    seq: z.int(),
  }),
})

export const edgeRecordsEndpoint = defineEndpoint<RecordPageRequest, RecordPage>({
  ...shared,
  name: 'edge-records',
  summary: 'Opt-outs, or consents in force, of the key’s account by page, for the copy of an edge.',
  paths: ['/v1/edge/records'],
  request: fields({
    table: z.enum(numberTables, `must be one of ${numberTables.join(', ')}`),
    after: z.string().default('').describe('`next` of the page before'),
    numbers: z
      .string()
      .regex(/^\d{10}(,\d{10}){0,499}$/, 'must be at most 500 numbers of ten digits')
      .transform((text) => text.split(','))
      .optional()
      .describe('Only the rows of these numbers, separated by commas'),
  }),
  response: z.object({ accountId: z.string(), rows, next: z.string().nullable() }),
})

const maxWaitMs = 1_000
const waitRule = `must be a whole number of milliseconds from 0 to ${maxWaitMs}`

export const edgeChangesEndpoint = defineEndpoint<ChangesRequest, ChangesCopy>({
  ...shared,
  name: 'edge-changes',
  summary: 'What has changed for the key’s account, as it is now, for the copy of an edge.',
  paths: ['/v1/edge/changes'],
  request: fields({
    after: z.string().default('').describe('`cursor` of the answer before; empty to begin'),
    waitMs: z
      .string()
      .regex(/^\d{1,5}$/, waitRule)
      .transform(Number)
      .refine((ms) => ms <= maxWaitMs, waitRule)
      .meta({ type: 'integer', minimum: 0, maximum: maxWaitMs })
      .describe('Wait so long for a change'),
  }),
  response: z.object({
    accountId: z.string(),
    schema: z.int(),
    cursor: z.string(),
    isUnknown: z.boolean(),
    hasMore: z.boolean(),
    ofAccount: z.boolean(),
    ofAllNumbers: z.boolean(),
    numbers: z.array(z.string()),
    rows: recordRows,
    knownAfterMs: z.number(),
  }),
})

/** Counts an attempt, says what would count, or takes an attempt back. */
export type EdgeAttemptRequest =
  | { readonly action: 'take'; readonly attempt: Attempt; readonly limits: LimitsOfAttempt }
  | {
      readonly action: 'read'
      readonly attempt: Attempt
      readonly limits: readonly FrequencyLimit[]
    }
  | { readonly action: 'release'; readonly decisionId: string }

const shortText = z.string().max(200, 'must not be longer than 200 characters')
const wholeNumber = z.int('must be a whole number')

const frequencyLimit: z.ZodType<FrequencyLimit> = z.strictObject({
  id: shortText,
  calls: wholeNumber.min(1, 'must be 1 or more').max(1_000, 'must be 1000 or less'),
  periodMs: z.number(),
  per: z.enum(['person', 'number']),
  isPerSubject: z.boolean(),
  counts: z.enum(['all', 'connected', 'completed', 'conversation']),
  days: z.strictObject({ count: wholeNumber, zone: shortText }).optional(),
  purposes: z.array(z.enum(callPurposes)).optional(),
  citation: z.string(),
})

const frequencyLimits = z.array(frequencyLimit).max(100, 'must not be more than 100')

const keyLimits: z.ZodType<AttemptLimits> = z.strictObject({
  attemptsPerHour: wholeNumber.optional(),
  attemptsPerDay: wholeNumber.optional(),
  attemptsPerNumberPerDay: wholeNumber.optional(),
  coolDownSeconds: wholeNumber.optional(),
  concurrent: wholeNumber.optional(),
  approval: z.enum(approvalRules).optional(),
  inAll: z
    .strictObject({ limit: wholeNumber, token: z.string(), expiresAt: z.number() })
    .exactOptional(),
})

const attempt: z.ZodType<Attempt> = z.strictObject({
  decisionId: shortText,
  keyId: shortText,
  accountId: shortText,
  subject: shortText.optional(),
  personId: shortText.optional(),
  purpose: z.enum(callPurposes).optional(),
  approvalId: shortText.optional(),
  call: z.strictObject({
    number: z.string().regex(/^\d{10}$/, 'must be ten digits'),
    callKind: z.enum(callKinds),
    projectId: shortText.optional(),
    campaignId: shortText.optional(),
    callerId: shortText.optional(),
  }),
  at: z.int('must be milliseconds since the epoch'),
})

const edgeAttempt = z.discriminatedUnion('action', [
  z.strictObject({
    action: z.literal('take'),
    attempt,
    limits: z.strictObject({
      key: keyLimits.optional(),
      frequency: frequencyLimits,
      isShadowed: z.boolean(),
    }),
  }),
  z.strictObject({ action: z.literal('read'), attempt, limits: frequencyLimits }),
  z.strictObject({ action: z.literal('release'), decisionId: shortText }),
])

export const edgeAttemptsEndpoint = defineEndpoint<
  { readonly of: EdgeAttemptRequest },
  CountedAttempt
>({
  name: 'edge-attempts',
  summary: 'Counts a call of the key’s account that an edge is about to allow.',
  spec: 'none; callgate only',
  method: 'POST',
  paths: ['/v1/edge/attempts'],
  accepts: ['json'],
  keyAlsoIn: [],
  rights: ['edge'],
  scopes: 'none',
  errors: 'problem',
  otherStatuses: { 404: noEdges },
  request: fields({ of: edgeAttempt }),
  response: z.object({
    isCounted: z.boolean(),
    counts: z.array(
      z.object({
        limit: frequencyLimit,
        attempts: z.array(z.string()),
        opensAt: z.number().optional(),
      }),
    ),
    refused: z
      .object({
        reason: z.enum(['key-attempts', 'key-cool-down', 'key-concurrent', 'approval-needed']),
        says: z.array(said as z.ZodType<Said>).min(1),
        opensAt: z.number().optional(),
      })
      .optional(),
    remaining: z.object({ hour: z.number().optional(), day: z.number().optional() }).optional(),
    approval: z
      .object({
        id: z.string(),
        expiresAt: z.string().optional(),
        approvedBy: z.string().optional(),
        approvedAt: z.string().optional(),
      })
      .optional(),
  }),
})

/** A part of the journal of an edge. */
export interface EdgeRecord {
  readonly seq: number
  /** `opened` in place of a record that the center does not store, such as one about another account. */
  readonly kind: 'decision' | 'amendment' | 'outcome' | 'opened'
  readonly at: number
  /** JSON, as it is in the journal. */
  readonly body: string
}

export interface EdgeDecisionsRequest {
  /** SHA-256 of the name of the journal, in hex. */
  readonly origin: string
  /** Number of the first record that the journal still has. */
  readonly firstSeq: number
  /** From this number on, nothing has been sent; absent if it is not known. */
  readonly notStoredSeq?: number | undefined
  /** Consecutive, from the next one on; empty to ask which that is. */
  readonly records: readonly EdgeRecord[]
  /** Calling rules that decisions name, each sent once by a process: the texts that their versions are hashes of. */
  readonly rules?: readonly string[] | undefined
  /** Host and folder, where there are no records. */
  readonly sender?: string | undefined
  /** The last of the records. */
  readonly last?: CopiedRecord | undefined
}

interface CopiedRecord {
  readonly seq: number
  /** Of the tree of the journal, in hex. */
  readonly leaf: string
  /** Host and folder. */
  readonly sender: string
}

export interface EdgeDecisionsResponse {
  /** Number of the first record that is not stored. */
  readonly nextSeq: number
  /** The one before it, without records in the request; absent if it is not known. */
  readonly last?: CopiedRecord | undefined
  readonly decisions: number
  readonly outcomes: number
}

const sender = z.string().max(1_000, 'must not be longer than 1000 characters')
const recordNumber = z.int('must be a whole number').positive('must be above 0')

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const copiedRecord = z.strictObject({
  seq: recordNumber,
  leaf: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower case hexadecimal digits'),
  sender,
})

export const edgeDecisionsEndpoint = defineEndpoint<EdgeDecisionsRequest, EdgeDecisionsResponse>({
  name: 'edge-decisions',
  summary: 'Stores decisions of the key’s account that an edge has made, each once.',
  spec: 'none; callgate only',
  method: 'POST',
  paths: ['/v1/edge/decisions'],
  accepts: ['json'],
  keyAlsoIn: [],
  rights: ['edge'],
  scopes: 'none',
  errors: 'problem',
  otherStatuses: {
    404: noEdges,
    409: 'No request without records came before, or the first record is not the next one',
  },
  usesServiceThread: 'when-long',
  request: fields({
    origin: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower case hexadecimal digits'),
    firstSeq: recordNumber,
    notStoredSeq: recordNumber.optional(),
    records: z.array(
      z.strictObject({
        seq: recordNumber,
        kind: z.enum(['decision', 'amendment', 'outcome', 'opened']),
        at: z.int('must be milliseconds since the epoch'),
        body: z.string('must be text'),
      }),
    ),
    rules: z.array(z.string('must be text').refine(isJson, 'must be JSON')).optional(),
    sender: sender.optional(),
    last: copiedRecord.optional(),
  }),
  response: z.object({
    nextSeq: z.int(),
    last: copiedRecord.optional(),
    decisions: z.int(),
    outcomes: z.int(),
  }),
})
