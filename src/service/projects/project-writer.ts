/**
 * Writes changes of an account's projects: rows and webhook events in one transaction, followed by
 * cache invalidation.
 *
 * The webhook events report changed statuses (spec, "Project webhook"). Each event's body is
 * `{ProjectCode, AcctId, Data}`, where `Data` is the changed part of the project document, and
 * `Previous`, the status before.
 */

import type { Selectable } from 'kysely'
import type { Requester } from '../../domain/caller.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { parseUrl } from '../../runtime/parse-url.js'
import { type AuditEntry, findAuthor, recordAudit } from '../../storage/audit/audit-log.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db, StateRegistrationRow } from '../../storage/tables.js'
import { copyOptOuts } from '../internal-dnc/copy-opt-outs.js'
import { runAccountTransaction } from '../sql/account-transaction.js'
import type { WebhookQueue } from '../webhooks/webhook-queue.js'
import { toFtcDocument, toRegistrationDocument } from './project-document.js'

import { insertProject, type NewProjectRow, type StoredProject } from './project-rows.js'

export interface ProjectWriterOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'author' | 'retryWhileLocked'>
  readonly clock: Clock
  readonly webhooks: WebhookQueue
  /** Called when the scope of calls has changed, to invalidate cached scopes. */
  readonly onScopesChanged: () => void
}

export class ProjectWriter {
  readonly #options: ProjectWriterOptions

  constructor(options: ProjectWriterOptions) {
    this.#options = options
  }

  /** `work` may run again when the database was locked; it must write only through its argument. */
  async run<Result>(
    caller: Requester,
    work: (write: ProjectTransaction) => Promise<Result>,
  ): Promise<Result> {
    const { accountId } = caller
    const { storage, clock, webhooks, onScopesChanged } = this.#options
    const { write, result } = await runAccountTransaction(
      storage,
      accountId,
      async (transaction) => {
        const write = new ProjectTransaction(transaction, clock.now(), webhooks)
        const result = await work(write)
        const by = findAuthor(storage, caller)
        for (const change of write.changes) {
          await recordAudit(transaction, { ...change, by, accountId, at: write.at })
        }
        return { write, result }
      },
    )
    if (write.hasChangedScopes) onScopesChanged()
    if (write.hasQueuedEvents) webhooks.wake()
    return result
  }
}

/** Columns that affect decisions on calls of the project. */
const scopeColumns = [
  'status',
  'industry_exemption',
  'voip_restricted',
  'inherits_internal_dnc',
  'inherits_ebr',
  'ftc_status',
  'ftc_entire_us',
  'ftc_area_codes',
] as const

export type ProjectChange = Partial<Omit<StoredProject, 'account_id' | 'code' | 'created_at'>>

export class ProjectTransaction {
  readonly transaction: Db
  readonly at: Instant
  readonly #webhooks: WebhookQueue
  /** For the audit table, which is written last. */
  readonly changes: Omit<AuditEntry, 'by' | 'accountId' | 'at'>[] = []
  #hasChangedScopes = false
  #hasQueuedEvents = false

  constructor(transaction: Db, at: Instant, webhooks: WebhookQueue) {
    this.transaction = transaction
    this.at = at
    this.#webhooks = webhooks
  }

  get hasChangedScopes(): boolean {
    return this.#hasChangedScopes
  }

  get hasQueuedEvents(): boolean {
    return this.#hasQueuedEvents
  }

  /** Returns `false` when the code is taken. */
  async insert(project: Omit<NewProjectRow, 'createdAt'>): Promise<boolean> {
    const columns = { ...project.columns, ...resetFtcColumns(project.columns ?? {}) }
    this.#hasChangedScopes = true
    const { accountId, code } = project
    const row = { ...project, columns, createdAt: this.at }
    const isInserted = await insertProject(this.transaction, row)
    const after = toAuditColumns({ name: project.name, ...columns })
    this.changes.push({ action: 'project.created', subject: toSubject(code), after })
    if (isInserted && columns.inherits_internal_dnc !== 1) {
      const only = 'of-everything'
      await copyOptOuts(this.transaction, {
        accountId,
        from: accountId,
        to: code,
        at: this.at,
        only,
      })
    }
    return isInserted
  }

  /** Stores the differing columns and the modification time; does nothing when nothing differs. */
  async update(before: StoredProject, target: ProjectChange): Promise<StoredProject> {
    const changed = diffColumns(before, { ...resetFtcColumns(target, before), ...target })
    if (Object.keys(changed).length === 0) return before
    const after: StoredProject = { ...before, ...changed, modified_at: this.at }
    await this.#store(before, { ...changed, modified_at: this.at })
    this.changes.push({
      action: 'project.changed',
      subject: toSubject(before.code),
      before: toAuditColumns(pick(before, changed)),
      after: toAuditColumns(changed),
    })
    if (changed.inherits_internal_dnc !== undefined) await this.#copyOptOuts(after)
    this.#hasChangedScopes ||= scopeColumns.some((column) => before[column] !== after[column])
    await this.#queueEvents(after, buildProjectEvents(before, after))
    return after
  }

  async findRegistration(
    { account_id: accountId, code }: StoredProject,
    state: string,
  ): Promise<Selectable<StateRegistrationRow> | undefined> {
    return await this.transaction
      .selectFrom('state_registrations')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('project_code', '=', code)
      .where('state', '=', state)
      .executeTakeFirst()
  }

  /** Adds or replaces the registration, unless it is unchanged. */
  async updateRegistration(
    project: StoredProject,
    before: Selectable<StateRegistrationRow> | undefined,
    after: Selectable<StateRegistrationRow>,
  ): Promise<void> {
    const { status, confirmation, submitted_at } = after
    if (before && Object.keys(diffColumns(before, after)).length === 0) return
    await this.transaction
      .insertInto('state_registrations')
      .values(after)
      .onConflict((conflict) =>
        conflict
          .columns(['account_id', 'project_code', 'state'])
          .doUpdateSet({ status, confirmation, submitted_at }),
      )
      .execute()
    await this.#store(project, { modified_at: this.at })
    this.changes.push({
      action: 'registration.recorded',
      subject: toSubject(project.code),
      before,
      after,
    })
    await this.#queueEvents(project, buildRegistrationEvents(before, after))
  }

  /** Copies the opt-outs to the list that the project uses from now on, so that none is lost. */
  async #copyOptOuts({ account_id: accountId, code, inherits_internal_dnc }: StoredProject) {
    const [from, to] = inherits_internal_dnc === 1 ? [code, accountId] : [accountId, code]
    await copyOptOuts(this.transaction, { accountId, from, to, at: this.at })
  }

  async #store({ account_id, code }: StoredProject, columns: ProjectChange): Promise<void> {
    await this.transaction
      .updateTable('projects')
      .set(columns)
      .where('account_id', '=', account_id)
      .where('code', '=', code)
      .execute()
  }

  async #queueEvents(project: StoredProject, events: readonly ProjectEvent[]): Promise<void> {
    const { account_id: accountId, code, webhook_url: url } = project
    if (url === null) return
    for (const { event, data } of events) {
      const body = { ProjectCode: code, AcctId: accountId, Data: data }
      const about = { accountId, kind: 'project', subject: code } as const
      await this.#webhooks.add(this.transaction, { ...about, event, url, body })
      this.#hasQueuedEvents = true
    }
  }
}

/** What the changed columns had before. */
function pick(before: StoredProject, changed: ProjectChange): ProjectChange {
  const columns = Object.keys(changed) as (keyof ProjectChange)[]
  return Object.fromEntries(columns.map((column) => [column, before[column]]))
}

const toSubject = (code: string) => ({ kind: 'project', id: code })

/** The address of a webhook may have a password in it. */
function toAuditColumns({ webhook_url: url, ...columns }: ProjectChange): object {
  if (typeof url !== 'string') return { ...columns, webhook_url: url }
  return { ...columns, webhook_url: parseUrl(url)?.origin ?? '' }
}

/** The columns of `target` that differ from `before`. */
export function diffColumns<Row extends object>(before: Row, target: Partial<Row>): Partial<Row> {
  const columns = Object.keys(target) as (keyof Row)[]
  const differing = columns.filter((column) => target[column] !== before[column])
  return Object.fromEntries(differing.map((column) => [column, target[column]])) as Partial<Row>
}

const clearedFtcColumns = {
  ftc_message: null,
  ftc_checked_at: null,
  ftc_expires_on: null,
  ftc_entire_us: 0,
  ftc_area_codes: '',
} as const

/** A new registry id is not validated yet, so the validation of the previous one is cleared. */
function resetFtcColumns(
  changed: ProjectChange,
  before: Pick<StoredProject, 'san' | 'org_id'> = { san: null, org_id: null },
): ProjectChange {
  const { san = before.san, org_id: orgId = before.org_id } = changed
  if (san === before.san && orgId === before.org_id) return {}
  return { ftc_status: san === null && orgId === null ? null : 'pending', ...clearedFtcColumns }
}

export interface ProjectEvent {
  readonly event: 'project.status' | 'project.ftcValidation' | 'project.stateRegistration'
  readonly data: Readonly<Record<string, unknown>>
}

/** The events of one change; a new project has none, since the answer already describes it. */
function buildProjectEvents(before: StoredProject, after: StoredProject): readonly ProjectEvent[] {
  const events: ProjectEvent[] = []
  if (before.status !== after.status) {
    const data = { Status: after.status, Previous: before.status }
    events.push({ event: 'project.status', data })
  }
  if (before.ftc_status !== after.ftc_status) {
    const data = { FtcValidation: toFtcDocument(after), Previous: before.ftc_status }
    events.push({ event: 'project.ftcValidation', data })
  }
  return events
}

type Registration = Selectable<StateRegistrationRow>

function buildRegistrationEvents(
  before: Registration | undefined,
  after: Registration,
): readonly ProjectEvent[] {
  if (before?.status === after.status) return []
  const data = {
    StateRegistrations: { [after.state]: toRegistrationDocument(after) },
    Previous: before?.status ?? null,
  }
  return [{ event: 'project.stateRegistration', data }]
}
