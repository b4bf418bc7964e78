/** Which calls a row of the settings is about. */
import { parseCampaignId, parseProjectCode } from '../domain/caller.js'
import type { CallRequest } from '../domain/decision.js'

/** Of an account, a project and a campaign, or of any. */
export interface CallScope {
  readonly account?: string | undefined
  readonly project?: string | undefined
  readonly campaign?: number | undefined
}

/** A row of the settings: who has decided to use an exception of the calling rules, and for which calls. */
export interface ExceptionInUse extends CallScope {
  readonly id: string
  readonly decidedBy: string
  /** The first day, in UTC, on which it is used. */
  readonly on: number
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
