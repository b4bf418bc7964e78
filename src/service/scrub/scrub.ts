/**
 * Scrubs a list (spec, "Scrub"): one row per item, in request order. The account's entries and records
 * are read for a whole batch in a few queries; each number is then evaluated in memory.
 */

import type { ScopeChoice } from '../../domain/caller.js'
import { type PhoneNumber, parsePhoneNumber } from '../../domain/phone-number.js'
import type { ScrubItem, ScrubVersion } from '../../domain/scrub-row.js'
import type { Instant } from '../../domain/time/clock.js'
import { forEachInSlices, mapInSlices } from '../../runtime/yield-to-event-loop.js'
import type { EbrRecordSource } from '../consent/ebr-record.js'
import type { InternalDncEntrySource } from '../internal-dnc/internal-dnc-entry.js'
import { requireScope, type ScopeResolver } from '../projects/project-scope.js'
import {
  type EvaluatedAccount,
  malformedEvaluation,
  type ScrubEvaluator,
} from './scrub-evaluator.js'
import { type EvaluatedRow, toScrubRow } from './scrub-row.js'

export interface ScrubDeps {
  readonly projects: ScopeResolver
  readonly internalDnc: Pick<InternalDncEntrySource, 'findEntries'>
  readonly ebrRecords: Pick<EbrRecordSource, 'findRecords'>
  readonly evaluator: Pick<ScrubEvaluator, 'judge'>
  readonly viewOf: (accountId: string) => Omit<EvaluatedAccount, 'fixedFacts'>
}

export interface ScrubQuery extends ScopeChoice {
  readonly items: readonly ScrubItem[]
  readonly version: ScrubVersion
  /** The instant to evaluate; absent means now. */
  readonly at?: Instant | undefined
  /** The AI flag also respects the windows for recorded voices. */
  readonly aiKeepsVoiceWindows?: boolean | undefined
}

/** About 80 KB of CSV. */
const batchSize = 512

export class Scrub {
  readonly #deps: ScrubDeps

  constructor(deps: ScrubDeps) {
    this.#deps = deps
  }

  /**
   * One row per item, in request order, duplicates kept. A malformed number gets a row with its letter
   * and never fails the batch. Throws `invalid-request` for an unknown project or campaign.
   */
  async listRows(accountId: string, request: ScrubQuery): Promise<readonly EvaluatedRow[]> {
    const { items, version, aiKeepsVoiceWindows } = request
    const { projects, internalDnc, ebrRecords, evaluator, viewOf } = this.#deps
    const account = viewOf(accountId)
    const now = account.clock.now()
    const { at = now } = request
    const scope = await requireScope(projects, accountId, request)
    const numbers = await distinctNumbers(items)
    const [entries, records] = await Promise.all([
      internalDnc.findEntries(accountId, scope.internalDncList, numbers),
      ebrRecords.findRecords(accountId, scope.ebrProject, numbers),
    ])
    return await mapInSlices(items, (item) => {
      const { phone, postalCode } = item
      const number = parsePhoneNumber(phone)
      const entry = entries.get(phone)
      const record = records.get(phone)
      const evaluation = number
        ? evaluator.judge({
            number,
            account,
            scope,
            postalCode,
            now,
            at,
            entry,
            record,
            aiKeepsVoiceWindows,
          })
        : malformedEvaluation
      return toScrubRow(evaluation, { item, version, callingHours: account.hours })
    })
  }

  /** The same rows in batches, all for one instant, so that a long list is never in memory as a whole. */
  async *streamRows(
    accountId: string,
    request: ScrubQuery,
  ): AsyncGenerator<readonly EvaluatedRow[]> {
    const { items, at = this.#deps.viewOf(accountId).clock.now() } = request
    for (let from = 0; from < items.length; from += batchSize) {
      const batch = items.slice(from, from + batchSize)
      yield await this.listRows(accountId, { ...request, at, items: batch })
    }
  }
}

async function distinctNumbers(items: readonly ScrubItem[]): Promise<readonly PhoneNumber[]> {
  const distinct = new Set<PhoneNumber>()
  await forEachInSlices(items, ({ phone }) => {
    const number = parsePhoneNumber(phone)
    if (number) distinct.add(number)
  })
  return [...distinct]
}
