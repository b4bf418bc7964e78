/** What is asked of a call: of its calling hours beyond the plain API by its kind, and by what it is for. */
import { parseCampaignId, parseProjectCode } from '../domain/caller.js'
import type { LegalTimeQuestion } from '../domain/compliance.js'
import {
  type CallKind,
  type CallPurpose,
  type CallRequest,
  type PurposeRules,
  type StatedPurpose,
  telemarketing,
} from '../domain/decision.js'
import type { Said } from '../domain/words/words.js'

/** Of an account, a project and a campaign, or of any. */
export interface CallScope {
  readonly account?: string | undefined
  readonly project?: string | undefined
  readonly campaign?: number | undefined
}

/** `undefined` when only the campaign is named, whose project is not known here. */
export function isInScope(
  { accountId, projectId = '', campaignId = '' }: CallRequest,
  { account = accountId, project, campaign }: CallScope,
): boolean | undefined {
  if (account !== accountId) return false
  if (campaign !== undefined && campaign !== parseCampaignId(campaignId)) return false
  if (project === undefined) return true
  const named = parseProjectCode(accountId, projectId)
  if (named === undefined && campaignId.trim() !== '') return undefined
  return (named ?? accountId) === parseProjectCode(accountId, project)
}

/** What the calls of a scope are for. */
export interface PurposeSettings extends CallScope {
  readonly purpose: CallPurpose
  /** What else a request may say that it is for. */
  readonly requestsMay: readonly CallPurpose[]
  readonly setBy: string
}

/** A row of the settings: who has decided to use an exception of the calling rules, and for which calls. */
export interface ExceptionInUse extends CallScope {
  readonly id: string
  readonly decidedBy: string
  /** The first day, in UTC, on which it is used. */
  readonly on: number
}

const unstated: { readonly stated?: StatedPurpose | undefined; readonly refusal?: undefined } = {}

/**
 * What a call is for: what the first row that fits it says, unless the request may say it. Without a row, it is for
 * telemarketing.
 */
export function findPurpose(
  request: CallRequest,
  rows: readonly PurposeSettings[],
  purposes: { find(purpose: CallPurpose): PurposeRules },
): typeof unstated | { readonly stated?: undefined; readonly refusal: Said } {
  const { purpose } = request
  if (rows.length === 0 && purpose === undefined) return unstated
  const row = rows.find((one) => isInScope(request, one) !== false)
  if (row && isInScope(request, row) === undefined) {
    return { refusal: { code: 'purpose-needs-project' } }
  }
  const allowed = row ? [row.purpose, ...row.requestsMay] : ['telemarketing']
  if (purpose !== undefined && !allowed.includes(purpose)) {
    const params = { purposes: allowed, purpose }
    return { refusal: { code: 'purpose-not-among', params } }
  }
  const stated = purpose
    ? { purpose, setBy: 'request' }
    : row && { purpose: row.purpose, setBy: row.setBy }
  if (stated && purposes.find(stated.purpose).purpose !== stated.purpose) {
    const params = { purpose: stated.purpose }
    return { refusal: { code: 'purpose-without-rules', params } }
  }
  return { stated }
}

export interface LegalTimeSettings {
  readonly recordedVoiceWindows: boolean
  readonly projectMayWiden: boolean
  readonly strictestPlace: Readonly<Record<CallKind, boolean>>
}

export type LegalTimeOptions = Pick<
  LegalTimeQuestion,
  'recordedVoice' | 'requireStatutoryWindow' | 'strictestPlace'
>

export function prepareLegalTimeOptions(
  settings: LegalTimeSettings,
): Readonly<Record<CallKind, LegalTimeOptions>> {
  return {
    manual: selectLegalTimeOptions(settings, 'manual'),
    autodialed: selectLegalTimeOptions(settings, 'autodialed'),
    ai: selectLegalTimeOptions(settings, 'ai'),
  }
}

/** What a question about legal time holds for a kind of call. */
export function selectLegalTimeOptions(
  { recordedVoiceWindows, projectMayWiden, strictestPlace }: LegalTimeSettings,
  callKind: CallKind,
  { machines }: Pick<PurposeRules, 'machines'> = telemarketing,
): LegalTimeOptions {
  return {
    recordedVoice: recordedVoiceWindows && callKind !== 'manual' && machines !== 'unlimited',
    requireStatutoryWindow: !projectMayWiden,
    strictestPlace: strictestPlace[callKind],
  }
}
