/**
 * One change of an account's projects: rows and notifications in one transaction, and afterwards
 * whoever must know of it.
 */
import type { Selectable } from 'kysely'
import type { Clock, Instant } from '../../domain/clock.js'
import type { OpenDatabase } from '../../storage/engine.js'
import type { Db, StateRegistrationRow } from '../../storage/tables.js'
import { carryOptOuts } from '../internal-dnc/carry-opt-outs.js'
import { writeForAccount } from '../sql/account-write.js'
import type { WebhookQueue } from '../webhooks/webhook-queue.js'
import { type ProjectEvent, projectEvents, registrationEvents } from './project-events.js'
import { insertProject, type NewProjectRow, type StoredProject } from './project-rows.js'

export interface ProjectWritesOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'patiently'>
  readonly clock: Clock
  readonly webhooks: WebhookQueue
  /** What calls are judged by has changed: whoever keeps scopes drops them. */
  readonly onScopesChanged: () => void
}

export class ProjectWrites {
  readonly #options: ProjectWritesOptions

  constructor(options: ProjectWritesOptions) {
    this.#options = options
  }

  /** `work` may be run again when another process held the database; it must only use the write. */
  async run<Result>(
    accountId: string,
    work: (write: ProjectWrite) => Promise<Result>,
  ): Promise<Result> {
    const { storage, clock, webhooks, onScopesChanged } = this.#options
    const { write, result } = await writeForAccount(storage, accountId, async (transaction) => {
      const write = new ProjectWrite(transaction, clock.now(), webhooks)
      return { write, result: await work(write) }
    })
    if (write.scopesChanged) onScopesChanged()
    if (write.notified) webhooks.wake()
    return result
  }
}

/** Columns that decide what a call of the project is judged by. */
const scopeColumns = [
  ...(['status', 'industry_exemption', 'voip_restricted'] as const),
  ...(['inherits_internal_dnc', 'inherits_ebr'] as const),
  ...(['ftc_status', 'ftc_entire_us', 'ftc_area_codes'] as const),
] as const

export type ProjectChange = Partial<Omit<StoredProject, 'account_id' | 'code' | 'created_at'>>

export class ProjectWrite {
  readonly transaction: Db
  readonly at: Instant
  readonly #webhooks: WebhookQueue
  #scopesChanged = false
  #notified = false

  constructor(transaction: Db, at: Instant, webhooks: WebhookQueue) {
    this.transaction = transaction
    this.at = at
    this.#webhooks = webhooks
  }

  get scopesChanged(): boolean {
    return this.#scopesChanged
  }

  get notified(): boolean {
    return this.#notified
  }

  /** Gives `false` when the code is taken. */
  async insert(project: Omit<NewProjectRow, 'createdAt'>): Promise<boolean> {
    const columns = { ...project.columns, ...federalState(project.columns ?? {}) }
    this.#scopesChanged = true
    return await insertProject(this.transaction, { ...project, columns, createdAt: this.at })
  }

  /** Stores what differs, and notes the day; a change that changes nothing leaves no trace. */
  async change(before: StoredProject, wanted: ProjectChange): Promise<StoredProject> {
    const changed = differences(before, { ...federalState(wanted, before), ...wanted })
    if (Object.keys(changed).length === 0) return before
    const after: StoredProject = { ...before, ...changed, modified_at: this.at }
    await this.#store(before, { ...changed, modified_at: this.at })
    if (changed.inherits_internal_dnc !== undefined) await this.#carryOptOuts(after)
    this.#scopesChanged ||= scopeColumns.some((column) => before[column] !== after[column])
    await this.#tell(after, projectEvents(before, after))
    return after
  }

  async registration(
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

  /** Adds the registration or puts it in place of the one before, unless they are the same. */
  async changeRegistration(
    project: StoredProject,
    before: Selectable<StateRegistrationRow> | undefined,
    after: Selectable<StateRegistrationRow>,
  ): Promise<void> {
    const { status, confirmation, submitted_at } = after
    if (before && Object.keys(differences(before, after)).length === 0) return
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
    await this.#tell(project, registrationEvents(before, after))
  }

  /** The project is judged by another list now; nothing said to it so far may be lost by that. */
  async #carryOptOuts({ account_id: accountId, code, inherits_internal_dnc }: StoredProject) {
    const [from, to] = inherits_internal_dnc === 1 ? [code, accountId] : [accountId, code]
    await carryOptOuts(this.transaction, { accountId, from, to, at: this.at })
  }

  async #store({ account_id, code }: StoredProject, columns: ProjectChange): Promise<void> {
    await this.transaction
      .updateTable('projects')
      .set(columns)
      .where('account_id', '=', account_id)
      .where('code', '=', code)
      .execute()
  }

  async #tell(project: StoredProject, events: readonly ProjectEvent[]): Promise<void> {
    const { account_id: accountId, code, webhook_url: url } = project
    if (url === null) return
    for (const { event, data } of events) {
      const body = { ProjectCode: code, AcctId: accountId, Data: data }
      const about = { accountId, kind: 'project', subject: code } as const
      await this.#webhooks.add(this.transaction, { ...about, event, url, body })
      this.#notified = true
    }
  }
}

/** The columns of `wanted` that are not so already. */
export function differences<Row extends object>(before: Row, wanted: Partial<Row>): Partial<Row> {
  const columns = Object.keys(wanted) as (keyof Row)[]
  const differing = columns.filter((column) => wanted[column] !== before[column])
  return Object.fromEntries(differing.map((column) => [column, wanted[column]])) as Partial<Row>
}

const unchecked = {
  ftc_message: null,
  ftc_checked_at: null,
  ftc_expires_on: null,
  ftc_entire_us: 0,
  ftc_area_codes: '',
} as const

/** Another id at the registry has not been looked at: what was known of the one before is gone. */
function federalState(
  changed: ProjectChange,
  before: Pick<StoredProject, 'san' | 'org_id'> = { san: null, org_id: null },
): ProjectChange {
  const { san = before.san, org_id: orgId = before.org_id } = changed
  if (san === before.san && orgId === before.org_id) return {}
  return { ftc_status: san === null && orgId === null ? null : 'pending', ...unchecked }
}
