/**
 * Scrubs a list (spec, "Scrub"): one row per item, in request order. The account's entries and records
 * are read for a whole batch in a few queries; each number is then evaluated in memory.
 */

import type { ScopeChoice } from '../../domain/caller.js'
import { type PhoneNumber, parsePhoneNumber } from '../../domain/phone-number.js'
import type { PostalCodes } from '../../domain/place.js'
import type { ScrubItem, ScrubVersion } from '../../domain/scrub-row.js'
import type { Instant } from '../../domain/time/clock.js'
import { createRefusal, evaluateRow } from '../../judge/row.js'
import { malformedReason } from '../../judge/row-words.js'
import { forEachInSlices, mapInSlices } from '../../runtime/yield-to-event-loop.js'
import type { ViewOf } from '../account-view.js'
import type { EbrRecordSource } from '../consent/ebr-record.js'
import type { InternalDncEntrySource } from '../internal-dnc/internal-dnc-entry.js'
import { requireScope, type ScopeResolver } from '../projects/project-scope.js'
import { checkLists, locateNumber } from './number-facts.js'
import { type EvaluatedRow, toScrubRow } from './scrub-row.js'

export interface ScrubDeps {
  readonly projects: ScopeResolver
  readonly internalDnc: Pick<InternalDncEntrySource, 'findEntries'>
  readonly ebrRecords: Pick<EbrRecordSource, 'findRecords'>
  readonly postalCodes: PostalCodes
  readonly viewOf: ViewOf<'clock' | 'lists' | 'numberingPlan' | 'hours' | 'law'>
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
    const { projects, internalDnc, ebrRecords, postalCodes, viewOf } = this.#deps
    const account = viewOf(accountId)
    const { lists, law, hours: callingHours } = account
    const rules = { law, windows: callingHours.windows }
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
      if (!number) return toScrubRow(malformed, { item, version, at, scope, callingHours })
      const located = locateNumber(number, postalCode, { ...account, postalCodes })
      const facts = {
        ...scope,
        lists: checkLists(number, located, { scope, lists }),
        entry: entries.get(phone),
        record: records.get(phone),
      }
      const query = { ...located, facts, postalCode, now, at, aiKeepsVoiceWindows }
      const { number: planned } = located
      const terms = { item, version, at, scope, callingHours, planned }
      return toScrubRow(evaluateRow(query, rules), terms)
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

const malformed = createRefusal('M', malformedReason, [])

async function distinctNumbers(items: readonly ScrubItem[]): Promise<readonly PhoneNumber[]> {
  const distinct = new Set<PhoneNumber>()
  await forEachInSlices(items, ({ phone }) => {
    const number = parsePhoneNumber(phone)
    if (number) distinct.add(number)
  })
  return [...distinct]
}
