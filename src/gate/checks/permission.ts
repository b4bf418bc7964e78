/**
 * Lists, consent and line type, as a scrub row of version 8 reports them. Only letters known to permit
 * the kind of call permit it, and only if the row's own flag does too.
 */
import type { ResultLetter, ScrubVerdict } from '../../domain/compliance.js'
import type { CallKind, ReasonCode } from '../../domain/decision.js'
import type { Check } from './check.js'

export const permissionCheck: Check<'scrub'> = {
  name: 'permission',
  question: 'scrub',
  judge({ value: row }, { callKind }) {
    const { letter, ebrType, lists, opensAt } = row
    const detail = formatDetail(row)
    if (!permittingLetters[callKind].has(letter)) {
      return { verdict: 'deny', reason: getLetterReason(row), detail, lists }
    }
    const isWireless = letter === 'G' || letter === 'H'
    const needsPermission = callKind === 'ai' || (callKind === 'autodialed' && isWireless)
    if (needsPermission && ebrType !== 'P') {
      return { verdict: 'deny', reason: 'no-consent', detail, lists }
    }
    if (row.doNotCallToday) {
      return { verdict: 'deny', reason: 'restricted-day', detail, lists, opensAt }
    }
    if (!row.allowed[callKind]) {
      const notNow = `${detail}; not at this hour`
      return { verdict: 'deny', reason: 'outside-calling-hours', detail: notNow, lists, opensAt }
    }
    return { verdict: 'pass', reason: 'permitted', detail, lists }
  },
}

/** Letters that may permit a kind of call; for `G` and `H` a machine also needs a permission record. */
const permittingLetters: Readonly<Record<CallKind, ReadonlySet<ResultLetter>>> = {
  manual: new Set<ResultLetter>(['C', 'X', 'E', 'O', 'R', 'W', 'Y', 'G', 'H']),
  autodialed: new Set<ResultLetter>(['C', 'X', 'E', 'O', 'R', 'G', 'H']),
  ai: new Set<ResultLetter>(['E', 'O', 'G', 'H']),
}

const letterTexts: Readonly<Record<ResultLetter, string>> = {
  C: 'clean: on no list, no consent on file',
  X: 'list match lifted by an industry exemption',
  E: 'relationship or consent on file, on no list',
  O: 'relationship or consent overrides a list match',
  R: 'relationship has expired, on no list',
  W: 'wireless, on no list, no consent on file',
  Y: 'VoIP, on no list, no consent on file',
  G: 'wireless or VoIP with a relationship or consent, on no list',
  H: 'wireless or VoIP, relationship or consent overrides a list match',
  L: 'wireless in a state that bars sales calls to wireless numbers',
  F: 'wireless in a state that bars sales calls to wireless numbers, relationship on file',
  V: 'wireless in a state that bars sales calls to wireless numbers, relationship and list match',
  D: 'on a do-not-call or litigator list without consent',
  P: 'on the internal do-not-call list',
  B: 'not covered by an imported national list',
  I: 'area code or exchange not in service',
  M: 'not ten digits',
  S: 'disconnected',
  T: 'high-cost telephone company',
}

function formatDetail(row: ScrubVerdict): string {
  const { letter, reason, detail, isListStale, optOut } = row
  let text = letter === 'R' && optOut === 'ended' ? 'on no list' : letterTexts[letter]
  if (isListStale) text = 'not covered by a list that is young enough'
  const because = /^;*$/.test(reason) ? '' : `, reason '${reason}'`
  const more = detail === undefined ? '' : `; ${detail}`
  return `result ${letter}: ${text}${because}${more}`
}

function getLetterReason(row: ScrubVerdict): ReasonCode {
  const { letter, reason, ebrType, isListStale, optOut } = row
  switch (letter) {
    case 'D':
      return getListReason(reason)
    case 'P':
      return ebrType === 'P' && optOut !== 'not-lifted' ? 'consent-revoked' : 'internal-dnc'
    case 'B':
      return isListStale ? 'list-stale' : 'list-not-covering'
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

/** The parts of `Reason` tell which list matched (national, then state; or the litigator list). */
function getListReason(reason: string): ReasonCode {
  if (reason === 'Litigator') return 'litigator'
  if (reason.startsWith('National')) return 'national-dnc'
  return reason.split(';')[1]?.startsWith('State') === true ? 'state-dnc' : 'national-dnc'
}
