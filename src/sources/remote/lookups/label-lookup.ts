/**
 * Reads labels from a provider's reputation monitor, without caching. A number must be monitored first,
 * and has labels once the provider has checked it (spec, "Reputation monitor API").
 */
import { reputationAdd, reputationGetPost } from '../../../api/reputation/monitor.js'
import { wireRecord } from '../../../api/reputation/monitored-number.js'
import type { Answer, Question } from '../../../domain/compliance.js'
import type { PhoneNumber } from '../../../domain/phone-number.js'
import type { LabelIssuer, NumberLabels } from '../../../domain/spam-labels.js'
import { type InvalidRow, withoutExpiry } from '../batch-question.js'
import type { BatchClient } from '../batching/batch-client.js'
import { createEndpointRequest, defineQuestion } from '../questions/define-question.js'
import { parseRowsByNumber } from '../questions/parse-rows.js'
import type { LookupName } from './lookup-options.js'
import { collectValues } from './single-lookup.js'

interface LabelQuestion extends Question {
  readonly action: 'get' | 'add'
}

interface MonitoredNumber {
  readonly isMonitored: boolean
  /** Labels of the sources that have answered. */
  readonly labels: NumberLabels
}

/** A record includes the number's complaints, of which there may be hundreds. */
const maxRowBytes = 262_144

export const labelQuestion = defineQuestion<LabelQuestion, MonitoredNumber, LookupName>({
  name: 'labels',
  maxRowBytes,
  group: ({ action }) => [action],
  item: ({ number }) => [number],
  buildRequest({ action }, questions) {
    const numbers = questions.map(({ number }) => number)
    if (action === 'get') return createEndpointRequest(reputationGetPost, { numbers })
    const [path = ''] = reputationAdd.paths
    return { method: 'POST', path, wire: { json: numbers.map((number) => ({ Phone: number })) } }
  },
  parseReply(reply, questions) {
    const isGet = questions[0]?.action === 'get'
    return parseRowsByNumber(reply, questions, {
      schema: wireRecord,
      getNumber: ({ phone }) => phone,
      interpret: ({ scores }) =>
        withoutExpiry({
          isMonitored: !isGet || scores !== undefined,
          labels: scores ? parseLabels(scores.labels) : {},
        }),
      missing: isGet ? notMonitored : missingRow,
    })
  },
})

const missingRow: InvalidRow = { problem: 'there is no row for the number' }
const notMonitored = withoutExpiry<MonitoredNumber>({ isMonitored: false, labels: {} })

/** A source that is still `Processing` has not answered. */
function parseLabels(statuses: Readonly<Partial<Record<LabelIssuer, string>>>): NumberLabels {
  const answered = Object.entries(statuses).filter(([, status]) => status !== 'Processing')
  return Object.fromEntries(answered.map(([source, status]) => [source, status === 'Flagged']))
}

export class LabelLookup {
  readonly #client: BatchClient<LabelQuestion, MonitoredNumber>

  constructor(client: BatchClient<LabelQuestion, MonitoredNumber>) {
    this.#client = client
  }

  /**
   * Finds the labels of numbers, adding those that the provider does not monitor yet. Numbers that it
   * has not checked and numbers that failed are left out; rejects if all failed.
   */
  async find(
    numbers: readonly PhoneNumber[],
    issuers: readonly LabelIssuer[],
    accountId: string,
  ): Promise<ReadonlyMap<PhoneNumber, NumberLabels>> {
    const distinct = [...new Set(numbers)]
    const monitor = (number: PhoneNumber) => this.#monitor({ accountId, number })
    const found = collectValues(await Promise.all(distinct.map(monitor)))
    return new Map(
      distinct.flatMap((number, index) => {
        const labels = found[index]?.labels ?? {}
        const answered = issuers.filter((issuer) => labels[issuer] !== undefined)
        if (answered.length === 0) return []
        return [[number, Object.fromEntries(answered.map((issuer) => [issuer, labels[issuer]]))]]
      }),
    )
  }

  async #monitor(asked: Question): Promise<Answer<MonitoredNumber>> {
    const known = await this.#ask(asked, 'get')
    if (!known.ok || known.value.isMonitored) return known
    return await this.#ask(asked, 'add')
  }

  /** Asks in the background, since label checks come in large numbers and no caller waits for them. */
  async #ask(asked: Question, action: LabelQuestion['action']): Promise<Answer<MonitoredNumber>> {
    return await this.#client.ask({ ...asked, action, inBackground: true })
  }
}
