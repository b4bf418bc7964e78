/** Converts between the limits of a key, the columns of its row, and the caller. */
import type { Insertable, Selectable } from 'kysely'
import { z } from 'zod'
import { listDocumentProblems } from '../../data/files/document-problems.js'
import {
  type Caller,
  defaultMaxScrubNumbers,
  type KeyLimits,
  noLimits,
  type Right,
  rights,
  type ScrubLimits,
} from '../../domain/caller.js'
import { type CallKind, callKinds } from '../../domain/decision.js'
import {
  approvalRules,
  type CallLimits,
  type Mandate,
  type ProjectLimit,
  type TokenGrant,
} from '../../domain/mandate.js'
import type { Instant } from '../../domain/time/clock.js'
import { AppError, describeProblem, getErrorMessage } from '../../errors.js'
import type { AccountRow, ApiKeyRow, Db } from '../../storage/tables.js'

/** The limits an operator sets for a key; absent means no limit. */
export interface KeyGrant {
  readonly rights?: readonly Right[] | undefined
  /** Project codes in their stored form. */
  readonly projects?: readonly string[] | undefined
  readonly callKinds?: readonly CallKind[] | undefined
  readonly calls?: CallLimits | undefined
  /** The key is refused before. */
  readonly notBefore?: Instant | undefined
  /** The key is refused at and after this instant. */
  readonly expiresAt?: Instant | undefined
}

type KeyLimitRow = Pick<
  ApiKeyRow,
  'projects' | 'call_kinds' | 'call_limits' | 'not_before' | 'expires_at'
> & { rights: string }

const count = z.int().positive().optional()

/** A limit that this version does not know must not be ignored, so an unknown member is an error. */
const callLimitsSchema = z.strictObject({
  campaigns: z.array(z.int()).readonly().optional(),
  callerIds: z.union([z.literal('valid'), z.array(z.string()).readonly()]).optional(),
  regions: z.array(z.string()).readonly().optional(),
  attemptsPerHour: count,
  attemptsPerDay: count,
  attemptsPerNumberPerDay: count,
  coolDownSeconds: count,
  concurrent: count,
  approval: z.enum(approvalRules).optional(),
})

const tokenGrantSchema = z.strictObject({
  kinds: z.array(z.enum(callKinds)).readonly().optional(),
  campaigns: callLimitsSchema.shape.campaigns,
  callerIds: callLimitsSchema.shape.callerIds,
  regions: callLimitsSchema.shape.regions,
  attempts: count,
})

/** Throws `unreadable-key` naming the key. */
export function readTokenGrant(text: string, keyId: string): TokenGrant {
  const { value, unreadable } = parseLimits(tokenGrantSchema, text)
  if (value === undefined) throw createUnreadableError(keyId, unreadable)
  return value
}

interface ParsedLimits<Value> {
  readonly value?: Value
  readonly unreadable?: string
}

function parseLimits<Value>(schema: z.ZodType<Value>, text: string): ParsedLimits<Value> {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (cause) {
    return { unreadable: getErrorMessage(cause) }
  }
  const { data, error } = schema.safeParse(document)
  if (!error) return { value: data }
  return { unreadable: listDocumentProblems(error, document).map(describeProblem).join('; ') }
}

function createUnreadableError(keyId: string, unreadable = ''): AppError {
  return new AppError(
    'unreadable-key',
    `key ${keyId} is refused, since this version cannot read its limits (${unreadable}); ` +
      'change it with the version that has set them, or revoke it and create another',
  )
}

export interface StoredGrant extends KeyGrant {
  /** Always stored, even for a key without limits. */
  readonly rights: readonly Right[]
  /** Why this version cannot read `calls`, which is absent then. */
  readonly unreadable?: string | undefined
}

/** For people; nothing may be permitted by a grant that is `unreadable`. */
export function readStoredGrant(row: KeyLimitRow): StoredGrant {
  const { value: calls, unreadable } =
    row.call_limits === null ? {} : parseLimits(callLimitsSchema, row.call_limits)
  return {
    rights: parseKnownWords(row.rights, rights),
    projects: row.projects?.split(','),
    callKinds: row.call_kinds === null ? undefined : parseKnownWords(row.call_kinds, callKinds),
    calls,
    notBefore: row.not_before ?? undefined,
    expiresAt: row.expires_at ?? undefined,
    ...(unreadable !== undefined && { unreadable }),
  }
}

/** Throws `unreadable-key` naming the key. */
export function readGrant(row: KeyLimitRow, keyId: string): StoredGrant {
  const grant = readStoredGrant(row)
  if (grant.unreadable !== undefined) throw createUnreadableError(keyId, grant.unreadable)
  return grant
}

export function toGrantColumns(grant: KeyGrant): Pick<Insertable<ApiKeyRow>, keyof KeyLimitRow> {
  return {
    rights: (grant.rights ?? rights).join(','),
    projects: grant.projects?.join(',') ?? null,
    call_kinds: grant.callKinds?.join(',') ?? null,
    call_limits: grant.calls ? JSON.stringify(grant.calls) : null,
    not_before: grant.notBefore ?? null,
    expires_at: grant.expiresAt ?? null,
  }
}

/** Ignores words that this version does not know, so that they permit nothing. */
function parseKnownWords<Word extends string>(
  text: string,
  known: readonly Word[],
): readonly Word[] {
  const words = text.split(',')
  return known.filter((word) => words.includes(word))
}

export const callerColumns = [
  'api_keys.id',
  'api_keys.account_id',
  'api_keys.role',
  'api_keys.rights',
  'api_keys.projects',
  'api_keys.call_kinds',
  'api_keys.call_limits',
  'api_keys.not_before',
  'api_keys.expires_at',
  'api_keys.version',
  'accounts.numbers_per_scrub',
  'accounts.ai_keeps_voice_windows',
] as const

type ScrubTermsRow = Pick<Selectable<AccountRow>, 'numbers_per_scrub' | 'ai_keeps_voice_windows'>
type CallerRow = Pick<
  Selectable<ApiKeyRow>,
  'id' | 'account_id' | 'role' | 'version' | keyof KeyLimitRow
> &
  ScrubTermsRow

/** The caller for a key's row; reads the campaigns of its projects in advance. Throws `unreadable-key`. */
export async function readCaller(db: Db, row: CallerRow): Promise<Caller> {
  const { id: keyId, account_id: accountId, role } = row
  const grant = readGrant(row, keyId)
  const scope: Pick<KeyLimits, 'projects' | 'callKinds'> = {
    projects: grant.projects ? await readProjectLimit(db, accountId, grant.projects) : 'any',
    callKinds: grant.callKinds ?? 'any',
  }
  const limits: KeyLimits = Object.freeze({
    ...scope,
    rights: new Set(grant.rights),
    notBefore: grant.notBefore,
    expiresAt: grant.expiresAt ?? noLimits.expiresAt,
    mandate: toMandate(scope, grant.calls, row.version),
  })
  return Object.freeze({ accountId, role, keyId, limits, scrub: readScrubTerms(row) })
}

/** `undefined` if nothing limits the calls of the key. */
function toMandate(
  scope: Pick<KeyLimits, 'projects' | 'callKinds'>,
  calls: CallLimits | undefined,
  version: number,
): Mandate | undefined {
  if (scope.projects === 'any' && scope.callKinds === 'any' && !calls) return undefined
  const { campaigns, callerIds, regions, ...attempts } = calls ?? {}
  return Object.freeze({
    ...scope,
    version,
    campaigns: campaigns ?? 'any',
    callerIds: callerIds ?? 'any',
    regions: regions ?? 'any',
    attempts: Object.keys(attempts).length > 0 ? attempts : undefined,
  })
}

export function readScrubTerms(row: ScrubTermsRow): ScrubLimits | undefined {
  const aiKeepsVoiceWindows = row.ai_keeps_voice_windows === 1
  if (row.numbers_per_scrub === null && !aiKeepsVoiceWindows) return undefined
  return { maxNumbers: row.numbers_per_scrub ?? defaultMaxScrubNumbers, aiKeepsVoiceWindows }
}

async function readProjectLimit(
  db: Db,
  accountId: string,
  codes: readonly string[],
): Promise<ProjectLimit> {
  const campaigns = await db
    .selectFrom('campaigns')
    .select('id')
    .where('account_id', '=', accountId)
    .where('project_code', 'in', codes)
    .execute()
  return { codes, campaignIds: campaigns.map(({ id }) => id) }
}

/** To be called when the row of the audit is stored: from then on no other key is made until the commit. */
export async function refuseSameLabel(
  db: Db,
  { id, account_id, label }: Pick<ApiKeyRow, 'id' | 'account_id' | 'label'>,
): Promise<void> {
  const same = await db
    .selectFrom('api_keys')
    .select('id')
    .where('account_id', '=', account_id)
    .where('label', '=', label)
    .where('revoked_at', 'is', null)
    .where('id', '!=', id)
    .executeTakeFirst()
  if (!same) return
  const rule = `is that of ${same.id}, which is not revoked; choose another`
  const problems = [{ field: 'label', value: label, rule }]
  throw new AppError('conflict', `label '${label}': ${rule}`, { problems })
}
