/**
 * The registrations of a project: its subscription at the federal registry and its registrations in
 * states. This program does not contact them; the operator records their status.
 */

import { createOperatorCaller, parseProjectCode } from '../../domain/caller.js'
import type { Clock } from '../../domain/time/clock.js'
import { formatDay, msPerDay, parseDay, toUtcDay } from '../../domain/time/dates.js'
import { type FieldProblem, invalidRequest } from '../../errors.js'
import { findRegionCountry } from '../../law/area-codes.js'
import type { Db, FtcStatus, RegistrationStatus } from '../../storage/tables.js'
import { findFederalIdProblem } from './project-input.js'
import { findProject, type StoredProject } from './project-rows.js'
import type { ProjectChange, ProjectTransaction, ProjectWriter } from './project-writer.js'

export interface ProjectRef {
  readonly accountId: string
  readonly code: string
}

export interface RegistrationInput {
  /** Two letters. */
  readonly state: string
  readonly status: RegistrationStatus
  /** Confirmation number of the state; absent leaves it unchanged, blank clears it. */
  readonly confirmation?: string | undefined
  /** Absent leaves it unchanged. */
  readonly submittedAt?: number | undefined
}

export interface ProjectRegistrationsOptions {
  readonly db: Db
  readonly clock: Clock
  readonly writes: ProjectWriter
}

const validatedStatus: FtcStatus = 'validated'
const maxConfirmationLength = 100

export class ProjectRegistrations {
  readonly #options: ProjectRegistrationsOptions

  constructor(options: ProjectRegistrationsOptions) {
    this.#options = options
  }

  /**
   * Records the status of the project's subscription at the federal registry, replacing the previous
   * one; absent ids are unchanged. Returns the project's code as stored. Throws {@link AppError} naming
   * the field, value and rule.
   */
  async recordFtcValidation(ref: ProjectRef, facts: FtcValidationInput): Promise<string> {
    const columns = readFtcValidation(facts, this.#today())
    return await this.#options.writes.run(createOperatorCaller(ref.accountId), async (write) => {
      const project = await requireStoredProject(write, ref)
      const { san = project.san, org_id: orgId = project.org_id } = columns
      if (san === null && orgId === null) {
        const rule = 'has neither an organization id nor a SAN to validate; set one of them'
        throw invalidRequest([{ field: 'projectCode', value: project.code, rule }])
      }
      await write.update(project, { ...columns, ftc_checked_at: write.at })
      return project.code
    })
  }

  /** Records the status of the project's registration in a state. Returns the code as stored. */
  async recordRegistration(ref: ProjectRef, facts: RegistrationInput): Promise<string> {
    const state = readState(facts.state)
    const confirmation = readConfirmation(facts.confirmation)
    return await this.#options.writes.run(createOperatorCaller(ref.accountId), async (write) => {
      const project = await requireStoredProject(write, ref)
      const key = { account_id: ref.accountId, project_code: project.code, state }
      const before = await write.findRegistration(project, state)
      await write.updateRegistration(project, before, {
        ...key,
        status: facts.status,
        confirmation: confirmation === undefined ? (before?.confirmation ?? null) : confirmation,
        submitted_at: facts.submittedAt ?? before?.submitted_at ?? null,
      })
      return project.code
    })
  }

  /**
   * Sets every validation whose last day (UTC) is over to `expired`. Returns the milliseconds until the
   * next one expires, at most a day.
   */
  async expireDue(): Promise<number> {
    const today = this.#today()
    for (const accountId of await this.#accountsWithEnded(today)) {
      await this.#options.writes.run(createOperatorCaller(accountId), async (write) => {
        const ended = await findExpiredProjects(write.transaction, accountId, today)
        for (const project of ended) await write.update(project, { ftc_status: 'expired' })
      })
    }
    return await this.#untilNextMs(today)
  }

  #today(): string {
    return formatDay(toUtcDay(this.#options.clock.now()))
  }

  async #accountsWithEnded(today: string): Promise<readonly string[]> {
    const rows = await this.#options.db
      .selectFrom('projects')
      .select('account_id')
      .distinct()
      .where('ftc_status', '=', validatedStatus)
      .where('ftc_expires_on', '<', today)
      .execute()
    return rows.map((row) => row.account_id)
  }

  async #untilNextMs(today: string): Promise<number> {
    const { next } = await this.#options.db
      .selectFrom('projects')
      .select(({ fn }) => fn.min('ftc_expires_on').as('next'))
      .where('ftc_status', '=', validatedStatus)
      .where('ftc_expires_on', '>=', today)
      .executeTakeFirstOrThrow()
    const lastDay = parseDay(next ?? '')
    if (lastDay === undefined) return msPerDay
    return Math.min(Math.max((lastDay + 1) * msPerDay - this.#options.clock.now(), 0), msPerDay)
  }
}

async function requireStoredProject(
  { transaction }: ProjectTransaction,
  { accountId, code }: ProjectRef,
): Promise<StoredProject> {
  const project = await findProject(transaction, accountId, parseProjectCode(accountId, code) ?? '')
  if (project) return project
  const rule = 'is not a project of this account'
  throw invalidRequest([{ field: 'projectCode', value: code, rule }])
}

async function findExpiredProjects(
  db: Db,
  accountId: string,
  today: string,
): Promise<readonly StoredProject[]> {
  return await db
    .selectFrom('projects')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('ftc_status', '=', validatedStatus)
    .where('ftc_expires_on', '<', today)
    .execute()
}

function readState(text: string): string {
  const state = text.trim().toUpperCase()
  if (findRegionCountry(state) === 'US') return state
  const rule = 'must be a two-letter state or territory of the US'
  throw invalidRequest([{ field: 'state', value: text, rule }])
}

function readConfirmation(text: string | undefined): string | null | undefined {
  if (text === undefined) return undefined
  const trimmed = text.trim()
  if (trimmed.length <= maxConfirmationLength && !/\p{Cc}/u.test(trimmed)) return trimmed || null
  const rule = `must be one line of at most ${maxConfirmationLength} characters`
  throw invalidRequest([{ field: 'confirmation', value: text, rule }])
}

/** Absent ids are unchanged, blank ones cleared; other absent fields are unknown. */
export interface FtcValidationInput {
  readonly status: FtcStatus
  readonly orgId?: string | undefined
  readonly san?: string | undefined
  /** Message of the registry. */
  readonly message?: string | undefined
  /** Last day of the subscription, `YYYY-MM-DD`. */
  readonly expiration?: string | undefined
  /** Whether the subscription covers every area code. */
  readonly entireUs?: boolean | undefined
  /** The area codes it covers otherwise. */
  readonly areaCodes?: readonly string[] | undefined
}

const maxMessageLength = 500

/** The columns to store. Throws {@link AppError} listing every field that breaks a rule. */
function readFtcValidation(facts: FtcValidationInput, today: string): ProjectChange {
  const problems: FieldProblem[] = []
  const report: Report = (field, value, rule) => void problems.push({ field, value, rule })
  const orgId = readId('orgId', facts, report)
  const san = readId('san', facts, report)
  const columns = {
    ...(orgId !== undefined && { org_id: orgId }),
    ...(san !== undefined && { san }),
    ftc_status: facts.status,
    ftc_message: readMessage(facts, report),
    ftc_expires_on: readExpiration(facts, today, report),
    ftc_entire_us: facts.entireUs ? 1 : 0,
    ftc_area_codes: readAreaCodes(facts, report),
  }
  if (problems.length > 0) throw invalidRequest(problems)
  return columns
}

type Report = (field: keyof FtcValidationInput, value: string | undefined, rule: string) => void

function readId(
  field: 'orgId' | 'san',
  facts: FtcValidationInput,
  report: Report,
): string | null | undefined {
  const id = facts[field]?.trim()
  if (id === undefined) return undefined
  const rule = findFederalIdProblem(id)
  if (rule !== undefined) report(field, id, rule)
  return id || null
}

function readMessage({ message = '' }: FtcValidationInput, report: Report): string | null {
  if (message.length > maxMessageLength || /[^\P{Cc}\t\r\n]/u.test(message)) {
    report('message', message, `must be text of at most ${maxMessageLength} characters`)
  }
  return message.trim() || null
}

function readExpiration(
  { expiration, status }: FtcValidationInput,
  today: string,
  report: Report,
): string | null {
  if (expiration === undefined) return null
  const day = parseDay(expiration.trim())
  const text = day === undefined ? undefined : formatDay(day)
  if (text === undefined) report('expiration', expiration, 'must be a date, YYYY-MM-DD')
  else if (status === 'validated' && text < today) {
    report('expiration', expiration, 'is in the past; use status expired')
  }
  return text ?? null
}

function readAreaCodes({ areaCodes = [], entireUs }: FtcValidationInput, report: Report): string {
  const codes = [...new Set(areaCodes.map((code) => code.trim()))].sort()
  const malformed = codes.filter((code) => !/^[2-9]\d{2}$/.test(code))
  if (malformed.length > 0) {
    report('areaCodes', malformed.join(','), 'must be area codes of three digits')
  }
  if (entireUs && codes.length > 0) {
    report('areaCodes', codes.join(','), 'must not be combined with the entire US')
  }
  return codes.join(',')
}
