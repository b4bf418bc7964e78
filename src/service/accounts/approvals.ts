/**
 * Calls of a key that a second person must approve: exactly one call, for a few minutes, and once. An approval lifts nothing but the need for it: everything else is judged when it is used.
 */
import { hash, randomBytes } from 'node:crypto'
import {
  type Caller,
  canUseScope,
  nameCaller,
  parseCampaignId,
  parseProjectCode,
} from '../../domain/caller.js'
import {
  type ApprovalState,
  type ApprovalSubject,
  type Attempt,
  type AttemptResult,
  maxNoteLength,
} from '../../domain/mandate.js'
import { parseDialString } from '../../domain/phone-number.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { Said } from '../../domain/words/words.js'
import { AppError, invalidRequest, truncate } from '../../errors.js'
import { findAuthor, recordAudit } from '../../storage/audit/audit-log.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { ApprovalRow, Db } from '../../storage/tables.js'
import { findWhyNotSecond } from '../people/second-person.js'
import { runTransaction } from '../sql/account-transaction.js'
import type { WebhookQueue } from '../webhooks/webhook-queue.js'

const waitingMs = 15 * 60_000
const approvedMs = 10 * 60_000
/** More would hide the urgent ones. */
const maxWaitingPerKey = 20
const maxListed = 100
const pageSize = 500

export interface Approval {
  readonly id: string
  readonly keyId: string
  readonly subject: ApprovalSubject
  /** To be sent with the verdict, so that it is about what was shown. */
  readonly subjectHash: string
  readonly state: ApprovalState
  readonly requestedAt: Instant
  readonly expiresAt: Instant
  readonly decidedBy: string | undefined
  readonly decidedAt: Instant | undefined
  readonly note: string | undefined
  readonly decisionId: string | undefined
}

export interface ApprovalVerdict {
  readonly id: string
  readonly verdict: 'approve' | 'refuse'
  readonly subjectHash: string
  readonly note?: string | undefined
}

/** What is stored, shown and hashed: the same text for the same call, however a request writes it. */
function normalizeSubject({ accountId, call, ...about }: Attempt): ApprovalSubject {
  const { purpose, subject, personId } = about
  const { number, callKind, projectId = '', campaignId = '', callerId = '' } = call
  const campaign = parseCampaignId(campaignId) ?? campaignId.trim()
  return {
    number,
    callKind,
    projectId: parseProjectCode(accountId, projectId),
    campaignId: campaign === '' ? undefined : String(campaign),
    callerId: normalizeCallerId(callerId),
    ...{ purpose, subject, personId },
  }
}

function normalizeCallerId(text: string): string | undefined {
  const parsed = parseDialString(text)
  if (parsed.kind === 'nanp') return parsed.number
  return parsed.kind === 'foreign' ? parsed.digits : text.trim() || undefined
}

/**
 * Uses the approval that an attempt names, or asks for one. Two attempts cannot use the same, since no other attempt of the key is
 * counted meanwhile.
 */
export async function useApproval(
  db: Db,
  attempt: Attempt,
  webhooks: Pick<WebhookQueue, 'add'>,
): Promise<AttemptResult> {
  const { approvalId, keyId, at, decisionId } = attempt
  if (approvalId === undefined) return await requestApproval(db, attempt, webhooks)
  const row = await db
    .selectFrom('approvals')
    .selectAll()
    .where('id', '=', approvalId)
    .where('key_id', '=', keyId)
    .executeTakeFirst()
  if (row === undefined) return refuse({ code: 'approval-unknown', quote: approvalId })
  const params = { approval: row.id }
  if (row.subject_hash !== hash('sha256', JSON.stringify(normalizeSubject(attempt)))) {
    return refuse({ code: 'approval-of-other-call', params })
  }
  const state = stateOf(row, at)
  if (state === 'waiting') return waitFor(row.id, row.expires_at)
  if (state !== 'approved') return refuse({ code: 'approval-over', params: { ...params, state } })
  await db
    .updateTable('approvals')
    .set({ state: 'used', decision_id: decisionId })
    .where('id', '=', row.id)
    .execute()
  const approvedAt = formatInstant(row.decided_at ?? at)
  return { approval: { id: row.id, approvedBy: row.decided_by ?? '', approvedAt } }
}

const refuse = (said: Said): AttemptResult => ({
  refused: { reason: 'approval-needed', says: [said] },
})

/** The same call that is asked for again waits for the same approval. */
async function requestApproval(
  db: Db,
  attempt: Attempt,
  webhooks: Pick<WebhookQueue, 'add'>,
): Promise<AttemptResult> {
  const { accountId, keyId, at } = attempt
  const subject = normalizeSubject(attempt)
  const text = JSON.stringify(subject)
  const subjectHash = hash('sha256', text)
  const waiting = await db
    .selectFrom('approvals')
    .selectAll()
    .where('key_id', '=', keyId)
    .where('account_id', '=', accountId)
    .where('state', '=', 'waiting')
    .where('expires_at', '>', at)
    .execute()
  const same = waiting.find((row) => row.subject_hash === subjectHash)
  if (same) return waitFor(same.id, same.expires_at)
  if (waiting.length >= maxWaitingPerKey) {
    return refuse({ code: 'approvals-full', params: { waiting: maxWaitingPerKey } })
  }
  const id = `ap-${randomBytes(10).toString('hex')}`
  const expiresAt = at + waitingMs
  await db
    .insertInto('approvals')
    .values({
      id,
      account_id: accountId,
      key_id: keyId,
      subject: text,
      subject_hash: subjectHash,
      state: 'waiting',
      requested_at: at,
      expires_at: expiresAt,
    })
    .execute()
  const project = await findProject(db, accountId, subject)
  if (project?.webhook_url) {
    const { code, webhook_url: url } = project
    const data = { id, keyId, subject, subjectHash, expiresAt: formatInstant(expiresAt) }
    const body = { ProjectCode: code, AcctId: accountId, Data: data }
    const about = { accountId, kind: 'project', subject: code } as const
    await webhooks.add(db, { ...about, event: 'approval.requested', url, body })
  }
  return waitFor(id, expiresAt)
}

function waitFor(id: string, expiresAt: Instant): AttemptResult {
  const until = formatInstant(expiresAt)
  const said = { code: 'approval-waiting', params: { approval: id, until } } as const
  return { approval: { id, expiresAt: until }, ...refuse(said) }
}

/** Of the call; the Master Project if it names none. */
async function findProject(
  db: Db,
  accountId: string,
  { projectId = '', campaignId = '' }: ApprovalSubject,
) {
  const campaign = db
    .selectFrom('campaigns')
    .select('project_code')
    .where('account_id', '=', accountId)
    .where('id', '=', parseCampaignId(campaignId) ?? -1)
  const named = parseProjectCode(accountId, projectId)
  const code = named ?? (await campaign.executeTakeFirst())?.project_code ?? accountId
  return await db
    .selectFrom('projects')
    .select(['code', 'webhook_url'])
    .where('account_id', '=', accountId)
    .where('code', '=', code)
    .executeTakeFirst()
}

function stateOf({ state, expires_at }: ApprovalRow, at: Instant): ApprovalState {
  const isOpen = state === 'waiting' || state === 'approved'
  return isOpen && at >= expires_at ? 'expired' : state
}

export interface ApprovalsOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'author' | 'retryWhileLocked'>
  readonly clock: Clock
}

interface ApprovalPage {
  readonly state: ApprovalState | undefined
  readonly now: Instant
  readonly after: Pick<ApprovalRow, 'requested_at' | 'id'> | undefined
}

export class Approvals {
  readonly #storage: ApprovalsOptions['storage']
  readonly #clock: Clock

  constructor({ storage, clock }: ApprovalsOptions) {
    this.#storage = storage
    this.#clock = clock
  }

  /** Those that the caller may see, the newest first; at most 100. */
  async list(caller: Caller, state?: ApprovalState): Promise<readonly Approval[]> {
    requirePerson(caller)
    const now = this.#clock.now()
    const approvals: Approval[] = []
    let last: ApprovalPage['after']
    do {
      const rows = await this.#readPage(caller, { state, now, after: last })
      const page = rows.map((row) => toApproval(row, now))
      approvals.push(...page.filter(({ subject }) => canUseScope(caller, subject)))
      last = rows.length < pageSize ? undefined : rows.at(-1)
    } while (last && approvals.length < maxListed)
    return approvals.slice(0, maxListed)
  }

  async #readPage(
    { accountId }: Caller,
    { state, now, after }: ApprovalPage,
  ): Promise<readonly ApprovalRow[]> {
    let query = this.#storage.db
      .selectFrom('approvals')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('requested_at', 'desc')
      .orderBy('id', 'desc')
      .limit(pageSize)
    if (state === 'expired') {
      query = query.where('state', 'in', ['waiting', 'approved']).where('expires_at', '<=', now)
    } else if (state !== undefined) {
      query = query.where('state', '=', state)
      if (state === 'waiting' || state === 'approved') query = query.where('expires_at', '>', now)
    }
    if (!after) return await query.execute()
    const { requested_at: at, id } = after
    return await query
      .where((row) =>
        row.or([row('requested_at', '<', at), row('requested_at', '=', at).and('id', '<', id)]),
      )
      .execute()
  }

  /** Throws `not-found` when the account has no such approval, or the caller may not use its project. */
  async find(caller: Caller, id: string): Promise<Approval> {
    requirePerson(caller)
    return toApproval(await this.#findRow(caller, id), this.#clock.now())
  }

  async #findRow(caller: Caller, id: string): Promise<ApprovalRow> {
    const row = await this.#storage.db
      .selectFrom('approvals')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', caller.accountId)
      .executeTakeFirst()
    if (row && canUseScope(caller, JSON.parse(row.subject))) return row
    throw new AppError('not-found', `there is no approval '${truncate(id)}'`)
  }

  /**
   * Approves or refuses a call that is waiting. `by` is who does, for people. Throws `not-found` when the account has no such
   * approval, `forbidden` when the caller is no second person, and `conflict` when it is not waiting any more or its subject is
   * another than the one that was shown.
   */
  async decide(
    caller: Caller,
    { id, verdict, subjectHash, note }: ApprovalVerdict,
    by: string,
  ): Promise<Approval> {
    requirePerson(caller)
    if (note !== undefined && note.length > maxNoteLength) {
      const rule = `must not be longer than ${maxNoteLength} characters`
      throw invalidRequest([{ field: 'note', value: note, rule }])
    }
    const now = this.#clock.now()
    const row = await this.#findRow(caller, id)
    const asked = { by: row.key_id, at: row.requested_at }
    const why = await findWhyNotSecond(this.#storage, caller, asked)
    if (why !== undefined) throw new AppError('forbidden', why)
    if (row.subject_hash !== subjectHash) {
      throw new AppError(
        'conflict',
        'subjectHash is not that of this approval; nothing was changed',
      )
    }
    const change = {
      state: verdict === 'approve' ? ('approved' as const) : ('refused' as const),
      decided_by: by,
      decided_at: now,
      note: note ?? null,
      ...(verdict === 'approve' && { expires_at: now + approvedMs }),
    }
    const isDecided = await runTransaction(this.#storage, async (db) => {
      const { numUpdatedRows } = await db
        .updateTable('approvals')
        .set(change)
        .where('id', '=', id)
        .where('state', '=', 'waiting')
        .where('expires_at', '>', now)
        .executeTakeFirstOrThrow()
      if (numUpdatedRows === 0n) return false
      await recordAudit(db, {
        by: findAuthor(this.#storage, caller),
        accountId: caller.accountId,
        action: `approval.${change.state}`,
        subject: { kind: 'approval', id },
        after: { requestedBy: row.key_id, call: JSON.parse(row.subject) },
        reason: note,
        at: now,
      })
      return true
    })
    if (!isDecided) {
      const state = stateOf(await this.#findRow(caller, id), now)
      throw new AppError('conflict', `approval ${id} is ${state}; nothing was changed`)
    }
    return toApproval({ ...row, ...change }, now)
  }
}

/** Keys of role Agent are those of programs and of people who call. */
function requirePerson(caller: Caller): void {
  if (caller.role !== 'Agent') return
  const rule = 'approving calls needs role Supervisor or Administrator'
  throw new AppError('forbidden', `${nameCaller(caller)}: ${rule}`)
}

function toApproval(row: ApprovalRow, now: Instant): Approval {
  return {
    id: row.id,
    keyId: row.key_id,
    subject: JSON.parse(row.subject),
    subjectHash: row.subject_hash,
    state: stateOf(row, now),
    requestedAt: row.requested_at,
    expiresAt: row.expires_at,
    decidedBy: row.decided_by ?? undefined,
    decidedAt: row.decided_at ?? undefined,
    note: row.note ?? undefined,
    decisionId: row.decision_id ?? undefined,
  }
}
