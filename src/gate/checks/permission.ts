/** Whether lists, consent and the kind of line permit a kind of call, and what the call is for. */
import type { ResultLetter, ScrubVerdict } from '../../domain/compliance.js'
import type { CallKind, ReasonCode } from '../../domain/decision.js'
import type { Relationship } from '../../domain/mandate.js'
import type { AnsweredCall, Check, CheckResult } from './check.js'
import { type ConsentProblem, findConsentProblem } from './consent-evidence.js'

/**
 * Lists, consent and line type, as a scrub row of version 8 reports them. Only letters known to permit
 * the kind of call permit it, and only if the row's own flag does too.
 */
export const permissionCheck: Check<'scrub'> = {
  name: 'permission',
  question: 'scrub',
  judge({ value: row }, call) {
    const { callKind, purpose } = call
    const { letter, ebrType, lists, opensAt, facts } = row
    const problem = findConsentProblem(row, call)
    const hasPermission =
      ebrType === 'P' && relatedLetters.has(letter) && !problem ? true : undefined
    const relationship = ebrType === '' ? undefined : findRelationship(row, hasPermission)
    if (purpose.purpose !== 'telemarketing') {
      const judgment = judgeWithoutLists(row, { ...call, hasPermission, problem })
      return { ...judgment, lists, facts, hasPermission }
    }
    const detail = formatLetterDetail(row)
    if (!permittingLetters[callKind].has(letter)) {
      return { verdict: 'deny', reason: getLetterReason(row), detail, lists, facts }
    }
    const isWireless = letter === 'G' || letter === 'H'
    const needsPermission = callKind === 'ai' || (callKind === 'autodialed' && isWireless)
    if (needsPermission && ebrType !== 'P') {
      return { verdict: 'deny', reason: 'no-consent', detail, lists, facts }
    }
    const rests = needsPermission || letter === 'O' || letter === 'H'
    if (rests && problem) {
      const { reason, text } = problem
      return { verdict: 'deny', reason, detail: `${detail}; ${text}`, lists, facts }
    }
    if (row.doNotCallToday) {
      const reason = 'restricted-day'
      return { verdict: 'deny', reason, detail, lists, opensAt, facts, relationship }
    }
    if (!row.allowed[callKind]) {
      const notNow = `${detail}; not at this hour`
      const reason = 'outside-calling-hours'
      return { verdict: 'deny', reason, detail: notNow, lists, opensAt, facts, relationship }
    }
    return {
      verdict: 'pass',
      reason: 'permitted',
      ...{ detail, lists, facts, hasPermission, relationship },
    }
  },
}

/** Of a record that is not ended by an opt-out, whatever its age is. */
function findRelationship(
  { ebrType: type, contactOn, optOut }: ScrubVerdict,
  hasPermission: true | undefined,
): Relationship | undefined {
  if (contactOn === undefined || optOut !== undefined) return undefined
  if (type === 'P') return hasPermission && { type, contactOn }
  return type === 'S' || type === 'I' ? { type, contactOn } : undefined
}

/** Letters of numbers with a relationship or consent on file that is current. */
export const relatedLetters: ReadonlySet<ResultLetter> = new Set(['E', 'O', 'G', 'H', 'F', 'V'])

/** Letters that forbid calls for every purpose. */
const forbiddenLetters: ReadonlySet<ResultLetter> = new Set(['P', 'I', 'M', 'S'])

/** Of a call that is not for telemarketing, whose hours and days the calling hours check alone judges. */
function judgeWithoutLists(
  row: ScrubVerdict,
  call: Pick<AnsweredCall, 'callKind' | 'purpose'> &
    Pick<CheckResult, 'hasPermission'> & { readonly problem: ConsentProblem | undefined },
): Pick<CheckResult, 'verdict' | 'reason' | 'detail'> {
  const { purpose, hasPermission, problem } = call
  const detail = `${formatLetterDetail(row)}; do-not-call lists do not forbid ${purpose.purpose} calls`
  if (forbiddenLetters.has(row.letter) || row.listedOn === 'litigator') {
    return { verdict: 'deny', reason: getLetterReason(row), detail: formatLetterDetail(row) }
  }
  if (hasPermission || !needsPermission(row, call))
    return { verdict: 'pass', reason: 'permitted', detail }
  const { reason = 'no-consent', text } = problem ?? {}
  return { verdict: 'deny', reason, detail: text ? `${detail}; ${text}` : detail }
}

/** Whether a call that is not for telemarketing needs a permission record. */
export function needsPermission(
  row: ScrubVerdict,
  { callKind, purpose: { machines } }: Pick<AnsweredCall, 'callKind' | 'purpose'>,
): boolean {
  if (callKind === 'manual' || machines === 'unlimited') return false
  return callKind === 'ai' || machines === 'permission' || row.lineClass !== 'wireline'
}

/** Letters that may permit a kind of call; for `G` and `H` a machine also needs a permission record. */
const permittingLetters: Readonly<Record<CallKind, ReadonlySet<ResultLetter>>> = {
  manual: new Set<ResultLetter>(['C', 'X', 'E', 'O', 'R', 'W', 'Y', 'G', 'H']),
  autodialed: new Set<ResultLetter>(['C', 'X', 'E', 'O', 'R', 'G', 'H']),
  ai: new Set<ResultLetter>(['E', 'O', 'G', 'H']),
}

const letterTexts: Readonly<Record<ResultLetter, string>> = {
  C: 'on no do-not-call list, no consent on file',
  X: 'list match overridden by an industry exemption',
  E: 'relationship or consent on file, on no do-not-call list',
  O: 'relationship or consent overrides a list match',
  R: 'relationship has expired, on no do-not-call list',
  W: 'wireless, on no do-not-call list, no consent on file',
  Y: 'VoIP, on no do-not-call list, no consent on file',
  G: 'wireless or VoIP with a relationship or consent, on no do-not-call list',
  H: 'wireless or VoIP, relationship or consent overrides a list match',
  L: 'wireless in a state that bans sales calls to wireless numbers',
  F: 'wireless in a state that bans sales calls to wireless numbers, relationship on file',
  V: 'wireless in a state that bans sales calls to wireless numbers, relationship and list match',
  D: 'on a do-not-call or litigator list without consent',
  P: 'on the internal do-not-call list',
  B: 'not covered by an imported national list',
  I: 'area code or exchange not in service',
  M: 'not ten digits',
  S: 'disconnected',
  T: 'high-cost telephone company',
}

const listProblemTexts = {
  stale: 'the list that covers it is too old',
  unreadable: 'the list that covers it cannot be read',
} as const

function formatLetterDetail(row: ScrubVerdict): string {
  const { letter, reason, detail, listProblem, optOut } = row
  let text = letter === 'R' && optOut === 'ended' ? 'on no do-not-call list' : letterTexts[letter]
  if (listProblem) text = listProblemTexts[listProblem]
  // Its empty parts say nothing, and `W` alone is in the letter.
  const match = reason.replace(/^;*W?$|^;+|;+$/g, '')
  const more = detail === undefined ? '' : `; ${detail}`
  return `${text} (scrub result ${letter}${match && `: ${match}`})${more}`
}

function getLetterReason(row: ScrubVerdict): ReasonCode {
  const { letter, listedOn = 'national', ebrType, listProblem, optOut } = row
  switch (letter) {
    case 'D':
      return listedOn === 'litigator' ? listedOn : `${listedOn}-dnc`
    case 'P':
      return ebrType === 'P' && optOut !== 'not-lifted' ? 'consent-revoked' : 'internal-dnc'
    case 'B':
      return listProblem ? `list-${listProblem}` : 'list-not-covering'
    case 'I':
      return 'unknown-prefix'
    case 'M':
      return 'invalid-number'
    case 'L':
    case 'F':
    case 'V':
      return 'wireless-state'
    case 'S':
    case 'T':
      return 'not-permitted'
    default:
      return ebrType === 'P' && optOut === 'ended' ? 'consent-revoked' : 'no-consent'
  }
}
