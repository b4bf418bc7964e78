/** The litigator check as it is put to a provider (spec, "Litigator check"). */
import { type LitigatorRequest, litigatorPost, wireLitigatorRow } from '../../api/litigator.js'
import type { LitigatorStatus, Question } from '../../domain/compliance.js'
import type { BatchQuestion } from './batch-question.js'
import { firstOfBatch, given, keyOf, outgoing } from './outgoing-request.js'
import { readEach } from './read-rows.js'

/** Answered as the list stands now, whatever the question's instant. */
export function litigatorQuestion(): BatchQuestion<Question, LitigatorStatus> {
  return { name: 'litigator', refusal: () => undefined, identity, group, compose, read }
}

/** How strict the match is can be set per project and campaign. */
function identity({ number, projectId, campaignId }: Question): string {
  return keyOf(number, projectId, campaignId)
}

function group({ projectId, campaignId }: Question): string {
  return keyOf(projectId, campaignId)
}

function compose(questions: readonly Question[]) {
  const { projectId, campaignId } = firstOfBatch({ name: 'litigator', group }, questions)
  const request: LitigatorRequest = {
    numbers: questions.map(({ number }) => number),
    projectId: given(projectId),
    campaignId: given(campaignId),
    outputFormat: 'JsonArray',
  }
  return outgoing(litigatorPost, request)
}

const read: BatchQuestion<Question, LitigatorStatus>['read'] = (reply, questions) =>
  readEach(reply, questions, {
    schema: wireLitigatorRow,
    numberOf: (row) => row.phone,
    understand: ({ isLitigator }) => ({
      value: { isLitigator },
      holdsUntil: Number.POSITIVE_INFINITY,
    }),
  })
