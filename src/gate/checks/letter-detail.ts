/** What a scrub row says, for people. */
import type { ResultLetter, ScrubVerdict } from '../../domain/compliance.js'

const letterTexts: Readonly<Record<ResultLetter, string>> = {
  C: 'clean: on no list, no consent on file',
  X: 'list match overridden by an industry exemption',
  E: 'relationship or consent on file, on no list',
  O: 'relationship or consent overrides a list match',
  R: 'relationship has expired, on no list',
  W: 'wireless, on no list, no consent on file',
  Y: 'VoIP, on no list, no consent on file',
  G: 'wireless or VoIP with a relationship or consent, on no list',
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

export function formatLetterDetail(row: ScrubVerdict): string {
  const { letter, reason, detail, isListStale, optOut } = row
  let text = letter === 'R' && optOut === 'ended' ? 'on no list' : letterTexts[letter]
  if (isListStale) text = 'the list that covers it is too old'
  const because = /^;*$/.test(reason) ? '' : `, reason '${reason}'`
  const more = detail === undefined ? '' : `; ${detail}`
  return `result ${letter}: ${text}${because}${more}`
}
