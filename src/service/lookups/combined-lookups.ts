/**
 * Combines several sources of lookups. The first fact found is the answer; sources that fail are skipped
 * and reported. Never rejects.
 */

import type {
  LineIdentity,
  LineStatus,
  LineStatusAnswer,
  LookupSource,
  ReassignedAnswer,
  ResOrBusiness,
} from '../../domain/lookups.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { mapInSlices } from '../../runtime/yield-to-event-loop.js'
import { combineReassignedAnswers } from './reassigned-answer.js'
import { CombinedSources, isTimeout, type SourceResult } from './source-failures.js'

type ReassignedQuestions = Parameters<LookupSource['reassigned']>[0]

/** The source has no result or not yet, so another source may have one. */
const retryableStatuses: ReadonlySet<LineStatus> = new Set([
  'pending',
  'serverunavailable',
  'ERROR',
])

/** The number may still be in service, and another source may confirm it. */
const tentativeStatuses: ReadonlySet<LineStatus> = new Set([
  'invalid-phone',
  'invalid phone',
  'invalid-format',
])

const pendingAnswer: LineStatusAnswer = { status: 'pending', errorText: '' }

const unavailableAnswer: LineStatusAnswer = {
  status: 'serverunavailable',
  errorText: 'the provider of line-status data is unavailable',
}

export class CombinedLookups extends CombinedSources<LookupSource> implements LookupSource {
  identity(number: PhoneNumber): Promise<LineIdentity | undefined> {
    return this.#findFirst('identity', (source) => source.identity(number))
  }

  async resOrBusiness(number: PhoneNumber): Promise<ResOrBusiness | undefined> {
    return this.#findFirst('res-or-business', async (source) => {
      const answer = await source.resOrBusiness(number)
      return answer === 'U' ? undefined : answer
    })
  }

  /** If no source has a fact, a failure is reported with the spec's `pending` or `serverunavailable`. */
  async lineStatus(number: PhoneNumber): Promise<LineStatusAnswer | undefined> {
    let tentative: LineStatusAnswer | undefined
    let retryable: LineStatusAnswer | undefined
    const ask = (source: LookupSource) => source.lineStatus(number)
    for (const asked of this.askInTurn('line-status', ask)) {
      const answer = toLineStatus(await asked)
      if (!answer) continue
      if (retryableStatuses.has(answer.status)) retryable ??= answer
      else if (tentativeStatuses.has(answer.status)) tentative ??= answer
      else return answer
    }
    return tentative ?? retryable
  }

  /** Asks all sources, since a disconnect recorded by any of them makes the number reassigned. */
  async reassigned(items: ReassignedQuestions): Promise<readonly (ReassignedAnswer | undefined)[]> {
    const results = await this.askAll('reassigned', (source) => source.reassigned(items))
    return await mapInSlices(items, (_item, index) => {
      const known = results.flatMap((one) => (one.failed ? [] : (one.value[index] ?? [])))
      return known.length === 0 ? undefined : known.reduce(combineReassignedAnswers)
    })
  }

  async #findFirst<Fact>(
    what: string,
    ask: (source: LookupSource) => Promise<Fact | undefined>,
  ): Promise<Fact | undefined> {
    for (const asked of this.askInTurn(what, ask)) {
      const result = await asked
      if (!result.failed && result.value !== undefined) return result.value
    }
    return undefined
  }
}

function toLineStatus(
  result: SourceResult<LineStatusAnswer | undefined>,
): LineStatusAnswer | undefined {
  if (!result.failed) return result.value
  return isTimeout(result.cause) ? pendingAnswer : unavailableAnswer
}
