/** The litigator check (spec, "Litigator check"). */
import { litigatorPost, wireLitigatorRow } from '../../../api/lookups/litigator.js'
import type { LitigatorStatus, Question } from '../../../domain/compliance.js'
import { withoutExpiry } from '../batch-question.js'
import { createEndpointRequest, defineQuestion, omitEmpty } from './define-question.js'
import { parseRows } from './parse-rows.js'

/** Answered from the current list, regardless of the question's instant. */
export const litigatorQuestion = defineQuestion<Question, LitigatorStatus>({
  name: 'litigator',
  // The strictness of the match is a setting of the project and campaign.
  group: ({ projectId, campaignId }) => [projectId, campaignId],
  item: ({ number }) => [number],
  buildRequest: ({ projectId, campaignId }, questions) =>
    createEndpointRequest(litigatorPost, {
      numbers: questions.map(({ number }) => number),
      projectId: omitEmpty(projectId),
      campaignId: omitEmpty(campaignId),
      outputFormat: 'JsonArray',
    }),
  parseReply: (reply, questions) =>
    parseRows(reply, questions, {
      schema: wireLitigatorRow.schema,
      getNumber: ({ phone }) => phone,
      interpret: ({ isLitigator }) => withoutExpiry({ isLitigator }),
    }),
})
