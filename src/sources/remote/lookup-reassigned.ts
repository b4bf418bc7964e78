/** The reassigned-number check as it is put to a provider (spec, "Reassigned-number check"). */
import {
  enhancedRndPost,
  rndBasicPost,
  wireNationalRow,
  wireReassignedRow,
} from '../../api/reassigned.js'
import type { LocalDay } from '../../domain/clock.js'
import type { Question } from '../../domain/compliance.js'
import type { Reassigned, ReassignedAnswer } from '../../domain/lookups.js'
import type { NationalRow, ReassignedRequest, ReassignedRow } from '../../domain/reassigned.js'
import type { BatchQuestion, NotUnderstood, Understood } from './batch-question.js'
import type { LookupName } from './lookup-options.js'
import { firstOfBatch, keyOf, outgoing } from './outgoing-request.js'
import { readEach } from './read-rows.js'

export interface ReassignedQuestion extends Question {
  readonly consentOn: LocalDay
  /** Both bodies of data, or the national database alone. */
  readonly of: 'both' | 'national'
}

export interface SaidOfReassigned {
  readonly isReassigned: Reassigned
  readonly hasSafeHarbor: boolean
  /** Of both bodies of data only. */
  readonly own: Reassigned
}

export type ReassignedBatch = BatchQuestion<ReassignedQuestion, SaidOfReassigned, LookupName>

export function reassignedQuestion(): ReassignedBatch {
  return { name: 'reassigned', refusal: () => undefined, identity, group, compose, read }
}

function identity(question: ReassignedQuestion): string {
  return keyOf(question.of, question.number, question.consentOn)
}

function group(question: ReassignedQuestion): string {
  return question.of
}

function compose(questions: readonly ReassignedQuestion[]) {
  const first = firstOfBatch({ name: 'reassigned', group }, questions)
  const request: ReassignedRequest = {
    items: questions.map(({ number, consentOn }) => ({ number, consentOn })),
    useSandbox: false,
    projectId: undefined,
  }
  return first.of === 'both' ? outgoing(enhancedRndPost, request) : outgoing(rndBasicPost, request)
}

const read: ReassignedBatch['read'] = (reply, questions) => {
  const numberOf = (row: NationalRow) => row.phoneNumber
  if (questions[0]?.of === 'national') {
    return readEach(reply, questions, {
      schema: wireNationalRow,
      numberOf,
      understand: (row) => understood(row, null),
    })
  }
  return readEach(reply, questions, {
    schema: wireReassignedRow,
    numberOf,
    understand: (row: ReassignedRow) => {
      const own = row.ownIsReassigned
      if (isContradiction(row.isReassigned, own)) {
        return { notUnderstood: 'IsReassigned and OwnIsReassigned contradict each other' }
      }
      return understood(row, own)
    },
  })
}

/** What is said of a row that is test data, which is no fact. */
export const testDataDetail = 'the row is test data'

function understood(
  row: NationalRow,
  own: Reassigned,
): Understood<SaidOfReassigned> | NotUnderstood {
  if (row.isSandbox) return { notUnderstood: testDataDetail }
  if (row.hasSafeHarbor && row.isReassigned === true) {
    return { notUnderstood: 'a reassigned number has no safe harbor' }
  }
  const { isReassigned, hasSafeHarbor } = row
  return {
    value: { isReassigned, hasSafeHarbor, own },
    holdsUntil: Number.POSITIVE_INFINITY,
  }
}

/** The one is combined of the other and the national answer, and a yes of either is a yes. */
function isContradiction(isReassigned: Reassigned, own: Reassigned): boolean {
  return own === true ? isReassigned !== true : own === false && isReassigned === null
}

/**
 * The national answer within a combined one, or `unclear` where the own data alone may have made
 * it: then the national database has to be asked for itself.
 */
export function nationalIn(said: SaidOfReassigned): Reassigned | 'unclear' {
  const { isReassigned, own, hasSafeHarbor } = said
  if (isReassigned === null) return null
  if (isReassigned) return own === true ? 'unclear' : true
  return own === null || hasSafeHarbor ? false : 'unclear'
}

/** `undefined` where it tells nothing. */
export function factIn(
  { own, hasSafeHarbor }: SaidOfReassigned,
  national: Reassigned,
): ReassignedAnswer | undefined {
  if (national === null && own === null && !hasSafeHarbor) return undefined
  return { national, own, hasSafeHarbor }
}
