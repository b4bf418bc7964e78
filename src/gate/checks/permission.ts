/** Whether lists, consent and the kind of line permit a kind of call, and what the call is for. */
import type { ResultLetter, ScrubVerdict } from '../../domain/compliance.js'
import type { CallKind, ReasonCode } from '../../domain/decision.js'
import type { Relationship } from '../../domain/mandate.js'
import type { Said } from '../../domain/words/words.js'
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
    const says = sayLetter(row)
    if (!permittingLetters[callKind].has(letter)) {
      return { verdict: 'deny', reason: getLetterReason(row), says, lists, facts }
    }
    const isWireless = letter === 'G' || letter === 'H'
    const needsPermission = callKind === 'ai' || (callKind === 'autodialed' && isWireless)
    if (needsPermission && ebrType !== 'P') {
      return { verdict: 'deny', reason: 'no-consent', says, lists, facts }
    }
    const rests = needsPermission || letter === 'O' || letter === 'H'
    if (rests && problem) {
      const { reason } = problem
      return { verdict: 'deny', reason, says: [...says, problem.says], lists, facts }
    }
    if (row.doNotCallToday) {
      const reason = 'restricted-day'
      return { verdict: 'deny', reason, says, lists, opensAt, facts, relationship }
    }
    if (!row.allowed[callKind]) {
      const notNow: readonly Said[] = [...says, { code: 'not-at-this-hour' }]
      const reason = 'outside-calling-hours'
      return { verdict: 'deny', reason, says: notNow, lists, opensAt, facts, relationship }
    }
    return {
      verdict: 'pass',
      reason: 'permitted',
      ...{ says, lists, facts, hasPermission, relationship },
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
): Pick<CheckResult, 'verdict' | 'reason' | 'says'> {
  const { purpose, hasPermission, problem } = call
  const ofLetter = sayLetter(row)
  const { purpose: name } = purpose
  const says: readonly Said[] = [
    ...ofLetter,
    { code: 'lists-do-not-forbid', params: { purpose: name } },
  ]
  if (forbiddenLetters.has(row.letter) || row.listedOn === 'litigator') {
    return { verdict: 'deny', reason: getLetterReason(row), says: ofLetter }
  }
  if (hasPermission || !needsPermission(row, call))
    return { verdict: 'pass', reason: 'permitted', says }
  const { reason = 'no-consent' } = problem ?? {}
  return { verdict: 'deny', reason, says: problem ? [...says, problem.says] : says }
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

function sayLetter(row: ScrubVerdict): readonly Said[] {
  const { letter, reason, listProblem: problem, optOut } = row
  const params = {
    letter,
    // Its empty parts say nothing, and `W` alone is in the letter.
    match: reason.replace(/^;*W?$|^;+|;+$/g, '') || undefined,
    problem,
    recordEnded: optOut === 'ended' || undefined,
  }
  return [{ code: 'scrub-letter', params }, ...row.says]
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
