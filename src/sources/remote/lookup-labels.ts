/**
 * Labels as a provider's reputation monitor tells them: a number has to be on the monitor first, and
 * is told of as soon as the provider has looked (spec, "Reputation monitor API").
 */
import { reputationAdd, reputationGetPost } from '../../api/reputation-monitor.js'
import { type NumberRecord, wireRecord } from '../../api/reputation-record.js'
import type { Question } from '../../domain/compliance.js'
import type { LabelSource, NumberLabels } from '../../domain/labels.js'
import type { BatchQuestion, NotUnderstood, OutgoingRequest, Understood } from './batch-question.js'
import type { LookupName } from './lookup-options.js'
import { firstOfBatch, keyOf, outgoing } from './outgoing-request.js'
import { readByNumber } from './read-rows.js'

export interface LabelQuestion extends Question {
  readonly act: 'get' | 'add'
}

export interface Watched {
  /** The provider looks at the number. */
  readonly isWatched: boolean
  /** Sources it has heard from. */
  readonly labels: NumberLabels
}

/** A number may have hundreds of complaints, which come along. */
const rowBytes = 262_144

export type LabelBatch = BatchQuestion<LabelQuestion, Watched, LookupName>

export function labelQuestion(): LabelBatch {
  return { name: 'labels', rowBytes, refusal: () => undefined, identity, group, compose, read }
}

function identity({ act, number }: LabelQuestion): string {
  return keyOf(act, number)
}

function group({ act }: LabelQuestion): string {
  return act
}

function compose(questions: readonly LabelQuestion[]): OutgoingRequest {
  const { act } = firstOfBatch({ name: 'labels', group }, questions)
  const numbers = questions.map(({ number }) => number)
  if (act === 'get') return outgoing(reputationGetPost, { numbers })
  const [path = ''] = reputationAdd.paths
  return { method: 'POST', path, wire: { json: numbers.map((number) => ({ Phone: number })) } }
}

const missing: NotUnderstood = { notUnderstood: 'there is no row for the number' }
const notWatched = understood({ isWatched: false, labels: {} })

const read: LabelBatch['read'] = (reply, questions) => {
  const isGet = questions[0]?.act === 'get'
  return readByNumber(reply, questions, {
    schema: wireRecord,
    numberOf: ({ phone }: NumberRecord) => phone,
    understand: ({ scores }) =>
      understood({
        isWatched: !isGet || scores !== undefined,
        labels: scores ? labelsIn(scores.labels) : {},
      }),
    absent: isGet ? notWatched : missing,
  })
}

function understood(value: Watched): Understood<Watched> {
  return { value, holdsUntil: Number.POSITIVE_INFINITY }
}

/** A source that is still `Processing` has said nothing. */
function labelsIn(statuses: Readonly<Partial<Record<LabelSource, string>>>): NumberLabels {
  const heard = Object.entries(statuses).filter(([, status]) => status !== 'Processing')
  return Object.fromEntries(heard.map(([source, status]) => [source, status === 'Flagged']))
}
