/** What a search of decisions looks at, and the columns of an index for it. */
import { canUseScope, parseProjectCode } from '../../../domain/caller.js'
import type { CallKind } from '../../../domain/decision.js'
import type { DecisionHead, SearchedFields } from '../../record/read-head.js'
import type { DecisionFilter, SearchRequest } from './decision-search.js'

/** Whether a decision meets a filter, and is one that the caller's key may use; its account, time and id aside. */
export function isSearched(
  fields: SearchedFields,
  { filter, caller }: Pick<SearchRequest, 'filter' | 'caller'>,
): boolean {
  const { callKinds } = caller.limits
  const { projectId } = filter
  return (
    meetsTexts(fields, filter) &&
    (projectId === undefined || projectId === findProjectCode(caller.accountId, fields)) &&
    canUseScope(caller, fields) &&
    (callKinds === 'any' || callKinds.includes(fields.callKind as CallKind))
  )
}

/** Without a project and a campaign it is the Master Project; that of a campaign alone is not known here. */
function findProjectCode(
  accountId: string,
  { projectId = '', campaignId = '' }: Pick<SearchedFields, 'projectId' | 'campaignId'>,
): string | undefined {
  return (
    parseProjectCode(accountId, projectId) ?? (campaignId.trim() === '' ? accountId : undefined)
  )
}

function meetsTexts(fields: SearchedFields, filter: DecisionFilter): boolean {
  return (
    isSame(filter.number, fields.number) &&
    isSame(filter.decision, fields.decision) &&
    isSame(filter.reason, fields.reason) &&
    isSame(filter.callKind, fields.callKind) &&
    isSame(filter.via, fields.via) &&
    isSame(filter.keyId, fields.keyId) &&
    isSame(filter.reference, fields.reference)
  )
}

const isSame = (wanted: string | undefined, found: string | undefined): boolean =>
  wanted === undefined || wanted === found

/** Columns of the fields in an index. */
export const fieldColumns = [
  'number',
  'decision',
  'reason',
  'call_kind',
  'via',
  'project_code',
  'campaign_id',
  'key_id',
  'reference',
] as const

/** In the order of {@link fieldColumns}. */
export function toColumns(head: DecisionHead): readonly (string | null)[] {
  const { accountId, number, decision, reason, callKind, via, campaignId, keyId, reference } = head
  const code = findProjectCode(accountId, head)
  const texts = [number, decision, reason, callKind, via, code, campaignId, keyId, reference]
  return texts.map((text) => text ?? null)
}
