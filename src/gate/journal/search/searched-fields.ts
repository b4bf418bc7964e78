/** The fields of a recorded decision that its row in an index needs, read without parsing the whole of it. */
import { canUseScope, parseProjectCode } from '../../../domain/caller.js'
import type { CallKind } from '../../../domain/decision.js'
import type { DecisionDocument } from '../../decision-document.js'
import type { DecisionFilter, SearchRequest } from './decision-search.js'

/** What a search looks at. */
export type SearchedFields = Pick<
  DecisionDocument,
  | 'number'
  | 'decision'
  | 'reason'
  | 'callKind'
  | 'via'
  | 'projectId'
  | 'campaignId'
  | 'keyId'
  | 'reference'
>

export type DecisionHead = Pick<DecisionDocument, 'id' | 'accountId' | 'whatIf'> & SearchedFields

/** In the text of a JSON string: ASCII without escapes. */
const plain = '[ !#-[\\]-~]'
const headPattern = new RegExp(
  `^\\{"id":"(${plain}+)","decision":"(allow|block)","reason":"(${plain}+)","message":"(?:[^"\\\\]|\\\\.)*"` +
    `,"number":"(${plain}*)"(?:,"dial":"[^"]*")?,"callKind":"(${plain}+)"`,
)
const tailPattern = new RegExp(
  `^"accountId":"(${plain}*)"(?:,"keyId":"(${plain}*)")?(?:,"mandate":.+?)?,"via":"(${plain}+)"`,
)
const whatIfPattern = /"whatIf":(true|false)/

/** Where the fields are in most decisions; the findings are between them. */
const usualHeadBytes = 512
const usualTailBytes = 384

/**
 * Parsing the whole of a decision would take longer than storing its row, and decoding it as UTF-8 three times as long as
 * this does: what is not ASCII, and what is not as callgate writes it, is left to that. Within a text of JSON, a quotation
 * mark follows a backslash, so what is found are the fields.
 */
export function readHead(body: Buffer): DecisionHead {
  const usualTail = Math.max(0, body.length - usualTailBytes)
  return (
    findFields(body.toString('latin1', 0, usualHeadBytes), body.toString('latin1', usualTail)) ??
    findFields(body.toString('latin1'), body.toString('latin1')) ??
    (JSON.parse(body.toString()) as DecisionDocument)
  )
}

/** `undefined` if they are not all in the first and the last part of a text. */
function findFields(first: string, last: string): DecisionHead | undefined {
  const head = headPattern.exec(first)
  const whatIf = whatIfPattern.exec(first)?.[1]
  const start = last.lastIndexOf('"accountId":')
  const end = start < 0 ? '' : last.slice(start)
  const tail = tailPattern.exec(end)
  if (head === null || whatIf === undefined || tail === null || !isPlain.test(end)) return undefined
  const [, id = '', decision, reason = '', number = '', callKind = ''] = head
  const [, accountId = '', keyId, via = ''] = tail
  return {
    id,
    accountId,
    whatIf: whatIf === 'true',
    number,
    decision: decision === 'allow' ? 'allow' : 'block',
    reason,
    callKind,
    via,
    projectId: readText(end, 'projectId'),
    campaignId: readText(end, 'campaignId'),
    keyId,
    reference: readText(end, 'reference'),
  }
}

const isPlain = /^[ -[\]-~]*$/

function readText(text: string, name: keyof SearchedFields): string | undefined {
  const before = `,"${name}":"`
  const start = text.indexOf(before)
  if (start < 0) return undefined
  const from = start + before.length
  return text.slice(from, text.indexOf('"', from))
}

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
    (callKinds === 'any' || callKinds.has(fields.callKind as CallKind))
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
