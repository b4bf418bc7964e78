/** The reassigned-number checks (spec, "Reassigned-number check"). */

import type { Caller } from '../../domain/caller.js'
import type {
  LookupSource,
  NationalReassignedRow,
  ReassignedAnswer,
  ReassignedItem,
  ReassignedRequest,
  ReassignedRow,
} from '../../domain/lookups.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Clock } from '../../domain/time/clock.js'
import { formatDay, toUtcDay } from '../../domain/time/dates.js'
import { invalidRequest } from '../../errors.js'
import { mapInSlices } from '../../runtime/yield-to-event-loop.js'
import { requireScope, type ScopeResolver } from '../projects/project-scope.js'
import {
  combineReassigned,
  createSandboxAnswer,
  limitToDatabasePeriod,
  noReassignedData,
} from './reassigned-answer.js'

export interface ReassignedChecksDeps {
  readonly projects: ScopeResolver
  readonly lookupSourceFor: (accountId: string) => Pick<LookupSource, 'reassigned'>
  readonly clockOf: (accountId: string) => Clock
  /** Whether all facts of the account are test data. */
  readonly isSandbox: (accountId: string) => boolean
}

const maxProblems = 10

interface CheckedNumber {
  readonly number: PhoneNumber
  readonly answer: ReassignedAnswer
  readonly isSandbox: boolean
}

/** Returns one row per item, in order. Rejects future consent dates and projects of other accounts. */
export class ReassignedChecks {
  readonly #deps: ReassignedChecksDeps

  constructor(deps: ReassignedChecksDeps) {
    this.#deps = deps
  }

  async checkEnhanced(
    caller: Caller,
    request: ReassignedRequest,
  ): Promise<readonly ReassignedRow[]> {
    return await mapInSlices(await this.#find(caller, request, fieldInList), toReassignedRow)
  }

  /** Uses only the national database. */
  async checkBasic(
    caller: Caller,
    request: ReassignedRequest,
  ): Promise<readonly NationalReassignedRow[]> {
    return await mapInSlices(await this.#find(caller, request, fieldInList), toNationalRow)
  }

  async checkEnhancedOne(caller: Caller, request: ReassignedRequest): Promise<ReassignedRow> {
    return toReassignedRow(requireSingle(await this.#find(caller, request, () => 'date')))
  }

  async checkBasicOne(caller: Caller, request: ReassignedRequest): Promise<NationalReassignedRow> {
    return toNationalRow(requireSingle(await this.#find(caller, request, () => 'date')))
  }

  async #find(
    { accountId }: Caller,
    { items, useSandbox, projectId }: ReassignedRequest,
    fieldOf: (index: number) => string,
  ): Promise<readonly CheckedNumber[]> {
    this.#refuseFutureDays(accountId, items, fieldOf)
    await requireScope(this.#deps.projects, accountId, { projectId })
    if (useSandbox) {
      return await mapInSlices(items, ({ number, consentOn }) => ({
        number,
        answer: createSandboxAnswer(number, consentOn),
        isSandbox: true,
      }))
    }
    const answers = await this.#deps.lookupSourceFor(accountId).reassigned(items)
    const isSandbox = this.#deps.isSandbox(accountId)
    return await mapInSlices(items, ({ number, consentOn }, index) => ({
      number,
      answer: limitToDatabasePeriod(answers[index] ?? noReassignedData, consentOn),
      isSandbox,
    }))
  }

  /** Accepts tomorrow in UTC, since it may already be that day somewhere. */
  #refuseFutureDays(
    accountId: string,
    items: readonly ReassignedItem[],
    fieldOf: (index: number) => string,
  ): void {
    const tomorrow = toUtcDay(this.#deps.clockOf(accountId).now()) + 1
    const rule = `must not be in the future; tomorrow is ${formatDay(tomorrow)} (UTC)`
    const problems = items
      .map(({ consentOn }, index) => ({ consentOn, field: fieldOf(index) }))
      .filter(({ consentOn }) => consentOn > tomorrow)
      .slice(0, maxProblems)
      .map(({ consentOn, field }) => ({ field, value: formatDay(consentOn), rule }))
    if (problems.length > 0) throw invalidRequest(problems)
  }
}

const fieldInList = (index: number) => `Data[${index}].date`

function requireSingle(found: readonly CheckedNumber[]): CheckedNumber {
  const [one] = found
  if (one && found.length === 1) return one
  throw new TypeError('a GET request checks exactly one number')
}

function toReassignedRow(found: CheckedNumber): ReassignedRow {
  const { national, own } = found.answer
  return {
    ...toNationalRow(found),
    isReassigned: combineReassigned(national, own),
    ownIsReassigned: own,
  }
}

/** The safe harbor is the same as in the enhanced row, so it depends on our own data too. */
function toNationalRow({ number, answer, isSandbox }: CheckedNumber): NationalReassignedRow {
  return {
    phoneNumber: number,
    isReassigned: answer.national,
    hasSafeHarbor: answer.hasSafeHarbor && combineReassigned(answer.national, answer.own) !== true,
    isSandbox,
  }
}
