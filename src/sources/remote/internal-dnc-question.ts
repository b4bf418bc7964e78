/** The internal do-not-call list of a provider: `pdnc`, action `status` (spec, "Internal DNC list"). */
import {
  type InternalDncItem,
  type InternalDncRequest,
  internalDncGet,
  wireInternalDncItem,
} from '../../api/internal-dnc.js'
import { parseDay } from '../../domain/clock.js'
import type { InternalDncStatus, Question } from '../../domain/compliance.js'
import type { BatchQuestion, NotUnderstood, Understood } from './batch-question.js'
import { firstOfBatch, given, keyOf, outgoing } from './outgoing-request.js'
import { readEach } from './read-rows.js'

/**
 * Answered as the list stands now, whatever the question's instant. A list belongs to a project, so
 * a campaign without its project cannot be asked.
 */
export function internalDncQuestion(): BatchQuestion<Question, InternalDncStatus> {
  return { name: 'internal-dnc', refusal, identity, group, compose, read }
}

function refusal({ projectId, campaignId }: Question): string | undefined {
  if (given(campaignId) === undefined || given(projectId) !== undefined) return undefined
  return 'the internal list takes a project and no campaign; name the project as well'
}

function identity({ number, projectId }: Question): string {
  return keyOf(number, projectId)
}

function group({ projectId }: Question): string {
  return keyOf(projectId)
}

function compose(questions: readonly Question[]) {
  const { projectId } = firstOfBatch({ name: 'internal-dnc', group }, questions)
  const request: InternalDncRequest = {
    action: 'status',
    numbers: questions.map(({ number }) => number),
    projectId: given(projectId),
    ignoreInvalid: false,
  }
  return outgoing(internalDncGet, request)
}

const read: BatchQuestion<Question, InternalDncStatus>['read'] = (reply, questions) =>
  readEach(reply, questions, {
    schema: wireInternalDncItem,
    numberOf: (item) => item.phone,
    understand,
  })

/** "`null` when not on the list" (spec, "Internal DNC status item"). */
function understand(item: InternalDncItem): Understood<InternalDncStatus> | NotUnderstood {
  const { onList, addedOn, lastModifiedOn, invalid } = item
  if (invalid === true) {
    return { notUnderstood: 'invalid is true: the number is exactly 10 digits' }
  }
  if (!onList && (addedOn !== null || lastModifiedOn !== null)) {
    return { notUnderstood: 'onList is false, but addedOn or lastModifiedOn is not null' }
  }
  const value = { onList, addedAt: onList ? startOf(addedOn) : undefined }
  return { value, holdsUntil: Number.POSITIVE_INFINITY }
}

/** The API tells the day alone; its start in UTC stands for it. */
function startOf(day: string | null): number | undefined {
  const found = day === null ? undefined : parseDay(day)
  return found === undefined ? undefined : found * 86_400_000
}
