/** Whether lists, consent and the kind of line permit a kind of call, and what the call is for. */
import type { CallRow, ResultLetter } from '../../domain/compliance.js'
import type { RequiredConsent } from '../../domain/consent/consent-records.js'
import type { CallKind, Finding, ReasonCode } from '../../domain/decision.js'
import type { Relationship } from '../../domain/mandate.js'
import type { CandidatePlace } from '../../domain/place.js'
import type { Said } from '../../domain/words/words.js'
import { combineSources, requireFinding } from '../combine-findings.js'
import type { CallWithFacts, Derived, Judged, OwnRow, Rule } from '../judged.js'
import { findOwn, type Judgment, judgeAnswer, judgeFact } from '../make-finding.js'
import {
  type CallWithConsent,
  type ConsentProblem,
  findConsentProblem,
  needsPermission,
  relatedLetters,
} from './consent-evidence.js'
import { withoutPermission } from './reassigned.js'
import { requireConsent } from './required-consent.js'

export const permissionRule = {
  id: 'permission',
  check: 'permission',
  judge: (about: Judged) => withoutPermission(about.derived.permission, about),
} as const satisfies Rule

/** Ignores the time of day: only the row's letter and records decide. */
export function judgeAtAnyTime(
  about: CallWithFacts,
  derived: Pick<Derived, 'places' | 'row' | 'deriveRow'>,
): Finding {
  const { places, row } = derived
  const deriveRow: Derived['deriveRow'] = (facts) => withoutTime(derived.deriveRow(facts))
  return judgePermission(about, { places, row: row && withoutTime(row), deriveRow })
}

function withoutTime(found: OwnRow): OwnRow {
  const allowed = { manual: true, autodialed: true, ai: true }
  return { ...found, row: { ...found.row, doNotCallToday: false, allowed, opensAt: undefined } }
}

/** A provider's letter combines its own lists and consent records, so ours are not asked. */
export function judgePermission(
  about: CallWithFacts,
  derived: Pick<Derived, 'places' | 'row' | 'deriveRow'>,
): Finding {
  const { own, provider } = about.sources
  const now = about.times.accountNow
  const laws = findLaws(about, derived.places)
  if (provider) {
    const asked = { answer: provider.scrub, isBesideProvider: true }
    return combineSources(undefined, asked, (answer) => {
      const finding = judgeAnswer('permission', answer, {
        now,
        judge: (row) => judgeRow(row, about),
      })
      return answer.ok ? requireConsent(finding, answer.value, about, laws) : finding
    })
  }
  const mine = judgeFact('permission', own.permission, {
    now,
    judge: (facts) => {
      const { row, holdsUntil } = derived.row ?? derived.deriveRow(facts)
      const judgment = { ...judgeRow(row, about), holdsUntil }
      return requireConsent(findOwn('permission', own, judgment), row, about, laws)
    },
  })
  return requireFinding(mine)
}

/** State consent laws that apply to the call. */
function findLaws(
  { law, call, purpose, number, at }: CallWithFacts,
  places: readonly CandidatePlace[],
): readonly RequiredConsent[] {
  const { callKind } = call
  return law.requiredConsents.find({ callKind, purpose: purpose.purpose, number, places }, at)
}

/**
 * Lists, consent and line type, as a scrub row of version 8 reports them. Only letters known to permit
 * the kind of call permit it, and only if the row's own flag does too.
 */
export function judgeRow(row: CallRow, about: CallWithConsent): Judgment {
  const {
    call: { callKind },
    purpose,
  } = about
  const { letter, ebrType, lists, opensAt } = row
  const problem = findConsentProblem(row, about)
  const hasPermission = ebrType === 'P' && relatedLetters.has(letter) && !problem ? true : undefined
  const relationship = ebrType === '' ? undefined : findRelationship(row, hasPermission)
  if (purpose.purpose !== 'telemarketing') {
    return { ...judgeWithoutLists(row, { about, hasPermission, problem }), lists, hasPermission }
  }
  const says = sayLetter(row)
  if (!permittingLetters[callKind].has(letter)) {
    return { verdict: 'deny', reason: getLetterReason(row), says, lists }
  }
  const isWireless = letter === 'G' || letter === 'H'
  const needs = callKind === 'ai' || (callKind === 'autodialed' && isWireless)
  if (needs && ebrType !== 'P') return { verdict: 'deny', reason: 'no-consent', says, lists }
  const rests = needs || letter === 'O' || letter === 'H'
  if (rests && problem) {
    return { verdict: 'deny', reason: problem.reason, says: [...says, problem.says], lists }
  }
  if (row.doNotCallToday) {
    return { verdict: 'deny', reason: 'restricted-day', says, lists, opensAt, relationship }
  }
  if (!row.allowed[callKind]) {
    const notNow: readonly Said[] = [...says, { code: 'not-at-this-hour' }]
    const reason = 'outside-calling-hours'
    return { verdict: 'deny', reason, says: notNow, lists, opensAt, relationship }
  }
  return { verdict: 'pass', reason: 'permitted', says, lists, hasPermission, relationship }
}

/** Of a record that is not ended by an opt-out, whatever its age is. */
function findRelationship(
  { ebrType: type, contactOn, optOut }: CallRow,
  hasPermission: true | undefined,
): Relationship | undefined {
  if (contactOn === undefined || optOut !== undefined) return undefined
  if (type === 'P') return hasPermission && { type, contactOn }
  return type === 'S' || type === 'I' ? { type, contactOn } : undefined
}

/** Letters that forbid calls for every purpose. */
const forbiddenLetters: ReadonlySet<ResultLetter> = new Set(['P', 'I', 'M', 'S'])

/** Of a call that is not for telemarketing, whose hours and days the calling hours check alone judges. */
function judgeWithoutLists(
  row: CallRow,
  {
    about,
    hasPermission,
    problem,
  }: Pick<Finding, 'hasPermission'> & {
    readonly about: CallWithConsent
    readonly problem: ConsentProblem | undefined
  },
): Judgment {
  const { purpose } = about
  const ofLetter = sayLetter(row)
  const { purpose: name } = purpose
  const says: readonly Said[] = [
    ...ofLetter,
    { code: 'lists-do-not-forbid', params: { purpose: name } },
  ]
  if (forbiddenLetters.has(row.letter) || row.listedOn === 'litigator') {
    return { verdict: 'deny', reason: getLetterReason(row), says: ofLetter }
  }
  if (hasPermission || !needsPermission(row, about))
    return { verdict: 'pass', reason: 'permitted', says }
  const { reason = 'no-consent' } = problem ?? {}
  return { verdict: 'deny', reason, says: problem ? [...says, problem.says] : says }
}

/** Letters that may permit a kind of call; for `G` and `H` a machine also needs a permission record. */
const permittingLetters: Readonly<Record<CallKind, ReadonlySet<ResultLetter>>> = {
  manual: new Set<ResultLetter>(['C', 'X', 'E', 'O', 'R', 'W', 'Y', 'G', 'H']),
  autodialed: new Set<ResultLetter>(['C', 'X', 'E', 'O', 'R', 'G', 'H']),
  ai: new Set<ResultLetter>(['E', 'O', 'G', 'H']),
}

function sayLetter(row: CallRow): readonly Said[] {
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

function getLetterReason(row: CallRow): ReasonCode {
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
