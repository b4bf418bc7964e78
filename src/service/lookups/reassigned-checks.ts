/** The reassigned-number checks (spec, "Reassigned-number check"). */

import type { Caller } from '../../domain/caller.js'
import { type Clock, formatDay } from '../../domain/clock.js'
import type { LookupBook, ReassignedAnswer } from '../../domain/lookups.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type {
  NationalRow,
  ReassignedItem,
  ReassignedRequest,
  ReassignedRow,
} from '../../domain/reassigned.js'
import { mapInSlices } from '../../domain/slices.js'
import { invalidRequest } from '../../errors.js'
import type { ScopeResolver } from '../projects/projects.js'
import { requireScope } from '../projects/require-scope.js'
import { answerOf, asFarAsKnown, eitherOf, sandboxAnswer } from './reassigned.js'

export interface ReassignedChecksParts {
  readonly projects: ScopeResolver
  readonly bookOf: (accountId: string) => Pick<LookupBook, 'reassigned'>
  readonly clockOf: (accountId: string) => Clock
  /** All that its book says is test data. */
  readonly isSandbox: (accountId: string) => boolean
}

const dayMs = 86_400_000
const mostProblems = 10

const noData = answerOf(null, null)

interface Found {
  readonly number: PhoneNumber
  readonly answer: ReassignedAnswer
  readonly isSandbox: boolean
}

/** Rows come in the order of the items. Refuses a consent to come and a project of somebody else. */
export class ReassignedChecks {
  readonly #parts: ReassignedChecksParts

  constructor(parts: ReassignedChecksParts) {
    this.#parts = parts
  }

  async enhanced(caller: Caller, request: ReassignedRequest): Promise<readonly ReassignedRow[]> {
    return await mapInSlices(await this.#find(caller, request, fieldInList), reassignedRow)
  }

  /** Of the national database alone. */
  async basic(caller: Caller, request: ReassignedRequest): Promise<readonly NationalRow[]> {
    return await mapInSlices(await this.#find(caller, request, fieldInList), nationalRow)
  }

  async enhancedOne(caller: Caller, request: ReassignedRequest): Promise<ReassignedRow> {
    return reassignedRow(onlyOne(await this.#find(caller, request, () => 'date')))
  }

  async basicOne(caller: Caller, request: ReassignedRequest): Promise<NationalRow> {
    return nationalRow(onlyOne(await this.#find(caller, request, () => 'date')))
  }

  async #find(
    { accountId }: Caller,
    { items, useSandbox, projectId }: ReassignedRequest,
    fieldOf: (index: number) => string,
  ): Promise<readonly Found[]> {
    this.#refuseDaysToCome(accountId, items, fieldOf)
    await requireScope(this.#parts.projects, accountId, { projectId })
    if (useSandbox) {
      return await mapInSlices(items, ({ number, consentOn }) => ({
        ...{ number, answer: sandboxAnswer(number, consentOn), isSandbox: true },
      }))
    }
    const answers = await this.#parts.bookOf(accountId).reassigned(items)
    const isSandbox = this.#parts.isSandbox(accountId)
    return await mapInSlices(items, ({ number, consentOn }, index) => ({
      number,
      answer: asFarAsKnown(answers[index] ?? noData, consentOn),
      isSandbox,
    }))
  }

  /** Consent is given before it is relied on; somewhere it may be tomorrow already. */
  #refuseDaysToCome(
    accountId: string,
    items: readonly ReassignedItem[],
    fieldOf: (index: number) => string,
  ): void {
    const tomorrow = Math.floor(this.#parts.clockOf(accountId).now() / dayMs) + 1
    const rule = `must not be in the future; tomorrow is ${formatDay(tomorrow)} (UTC)`
    const problems = items
      .map(({ consentOn }, index) => ({ consentOn, field: fieldOf(index) }))
      .filter(({ consentOn }) => consentOn > tomorrow)
      .slice(0, mostProblems)
      .map(({ consentOn, field }) => ({ field, value: formatDay(consentOn), rule }))
    if (problems.length > 0) throw invalidRequest(problems)
  }
}

const fieldInList = (index: number) => `Data[${index}].date`

function onlyOne(found: readonly Found[]): Found {
  const [one] = found
  if (one && found.length === 1) return one
  throw new TypeError('a check of one number has one item')
}

function reassignedRow(found: Found): ReassignedRow {
  const { national, own } = found.answer
  return {
    ...nationalRow(found),
    isReassigned: eitherOf(national, own),
    ownIsReassigned: own,
  }
}

/** The harbour is the same as in the enhanced row: what the own data knows cannot be unknown here. */
function nationalRow({ number, answer, isSandbox }: Found): NationalRow {
  return {
    phoneNumber: number,
    isReassigned: answer.national,
    hasSafeHarbor: answer.hasSafeHarbor && eitherOf(answer.national, answer.own) !== true,
    isSandbox,
  }
}
