/**
 * What others have decided about a project: the federal registry about its subscription, a state
 * about its registration. This program asks neither; the operator records what they said.
 */
import { countryOfRegion } from '../../data/numbering/area-codes.js'
import { type Clock, formatDay, parseDay } from '../../domain/clock.js'
import { readCode } from '../../domain/project-code.js'
import { invalidRequest } from '../../errors.js'
import type { Db, FtcStatus, RegistrationStatus } from '../../storage/tables.js'
import { type FtcFacts, readFtcFacts } from './project-ftc.js'
import { findProject, type StoredProject } from './project-rows.js'
import type { ProjectWrite, ProjectWrites } from './project-write.js'

export interface ProjectRef {
  readonly accountId: string
  readonly code: string
}

export interface RegistrationFacts {
  /** Two letters. */
  readonly state: string
  readonly status: RegistrationStatus
  /** The state's own number of it; absent is unchanged, blank clears. */
  readonly confirmation?: string | undefined
  /** Absent is unchanged. */
  readonly submittedAt?: number | undefined
}

export interface ProjectFactsOptions {
  readonly db: Db
  readonly clock: Clock
  readonly writes: ProjectWrites
}

const dayMs = 86_400_000
const validated: FtcStatus = 'validated'
const longestConfirmation = 100

export class ProjectFacts {
  readonly #options: ProjectFactsOptions

  constructor(options: ProjectFactsOptions) {
    this.#options = options
  }

  /**
   * Records what the federal registry says of the project's subscription, in place of what it said
   * before; its ids stay when none are given. Gives the project's code as stored. Throws
   * {@link AppError} naming the field, value and rule.
   */
  async recordFtcValidation(ref: ProjectRef, facts: FtcFacts): Promise<string> {
    const columns = readFtcFacts(facts, this.#today())
    return await this.#options.writes.run(ref.accountId, async (write) => {
      const project = await projectOf(write, ref)
      const { san = project.san, org_id: orgId = project.org_id } = columns
      if (san === null && orgId === null) {
        const rule = 'has neither an organization id nor a SAN that could be validated; give one'
        throw invalidRequest([{ field: 'projectCode', value: project.code, rule }])
      }
      await write.change(project, { ...columns, ftc_checked_at: write.at })
      return project.code
    })
  }

  /** Records what a state says of the project's registration. Gives the code as stored. */
  async recordRegistration(ref: ProjectRef, facts: RegistrationFacts): Promise<string> {
    const state = readState(facts.state)
    const confirmation = readConfirmation(facts.confirmation)
    return await this.#options.writes.run(ref.accountId, async (write) => {
      const project = await projectOf(write, ref)
      const key = { account_id: ref.accountId, project_code: project.code, state }
      const before = await write.registration(project, state)
      await write.changeRegistration(project, before, {
        ...key,
        status: facts.status,
        confirmation: confirmation === undefined ? (before?.confirmation ?? null) : confirmation,
        submitted_at: facts.submittedAt ?? before?.submitted_at ?? null,
      })
      return project.code
    })
  }

  /**
   * Turns every validation whose last day (UTC) is over to `expired`. Gives the milliseconds until
   * the next one ends, at most a day.
   */
  async expireDue(): Promise<number> {
    const today = this.#today()
    for (const accountId of await this.#accountsWithEnded(today)) {
      await this.#options.writes.run(accountId, async (write) => {
        const ended = await endedProjects(write.transaction, accountId, today)
        for (const project of ended) await write.change(project, { ftc_status: 'expired' })
      })
    }
    return await this.#untilNextMs(today)
  }

  #today(): string {
    return formatDay(Math.floor(this.#options.clock.now() / dayMs))
  }

  async #accountsWithEnded(today: string): Promise<readonly string[]> {
    const rows = await this.#options.db
      .selectFrom('projects')
      .select('account_id')
      .distinct()
      .where('ftc_status', '=', validated)
      .where('ftc_expires_on', '<', today)
      .execute()
    return rows.map((row) => row.account_id)
  }

  async #untilNextMs(today: string): Promise<number> {
    const { next } = await this.#options.db
      .selectFrom('projects')
      .select(({ fn }) => fn.min('ftc_expires_on').as('next'))
      .where('ftc_status', '=', validated)
      .where('ftc_expires_on', '>=', today)
      .executeTakeFirstOrThrow()
    const lastDay = parseDay(next ?? '')
    if (lastDay === undefined) return dayMs
    return Math.min(Math.max((lastDay + 1) * dayMs - this.#options.clock.now(), 0), dayMs)
  }
}

async function projectOf(
  { transaction }: ProjectWrite,
  { accountId, code }: ProjectRef,
): Promise<StoredProject> {
  const project = await findProject(transaction, accountId, readCode(accountId, code) ?? '')
  if (project) return project
  const rule = 'is not a project of this account'
  throw invalidRequest([{ field: 'projectCode', value: code, rule }])
}

async function endedProjects(
  db: Db,
  accountId: string,
  today: string,
): Promise<readonly StoredProject[]> {
  return await db
    .selectFrom('projects')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('ftc_status', '=', validated)
    .where('ftc_expires_on', '<', today)
    .execute()
}

function readState(text: string): string {
  const state = text.trim().toUpperCase()
  if (countryOfRegion(state) === 'US') return state
  const rule = 'must be a two-letter state or territory of the US'
  throw invalidRequest([{ field: 'state', value: text, rule }])
}

function readConfirmation(text: string | undefined): string | null | undefined {
  if (text === undefined) return undefined
  const trimmed = text.trim()
  if (trimmed.length <= longestConfirmation && !/\p{Cc}/u.test(trimmed)) return trimmed || null
  const rule = `must be one line of at most ${longestConfirmation} characters`
  throw invalidRequest([{ field: 'confirmation', value: text, rule }])
}
