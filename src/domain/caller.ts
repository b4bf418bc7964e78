/** Who is asking: the account, the role and the limits of an API key. */
import type { Instant } from './clock.js'
import type { CallKind } from './decision.js'
import { readCode } from './project-code.js'

/** Roles of the spec ("Authentication", role rules). */
export const roles = ['Agent', 'Supervisor', 'Administrator'] as const
export type Role = (typeof roles)[number]

/**
 * What a key may do (ADR 0073): ask about calls, look up facts, write opt-outs, write consent, and
 * change the account or spend its credits. Each endpoint names the rights it needs.
 */
export const rights = ['decide', 'look-up', 'records', 'consent', 'manage'] as const
export type Right = (typeof rights)[number]

export interface KeyLimits {
  readonly rights: ReadonlySet<Right>
  readonly projects: ProjectLimit | 'any'
  /** The kinds of call it may have decided. */
  readonly callKinds: ReadonlySet<CallKind> | 'any'
  /** The key is refused at and after this instant; infinity when it does not expire. */
  readonly expiresAt: Instant
}

/** The only projects a key may name. */
export interface ProjectLimit {
  /** As stored; the Master Project's code is the account's id. */
  readonly codes: ReadonlySet<string>
  /** The campaigns of these projects. */
  readonly campaignIds: ReadonlySet<number>
}

/** What an account may ask of a scrub beyond what is published. */
export interface ScrubTerms {
  /** Most numbers of one request. */
  readonly mostNumbers: number
  /** `IsCallAllowedAI` keeps the windows of recorded voices too. */
  readonly aiKeepsVoiceWindows: boolean
}

/** The most numbers of a scrub that is published, and the most an account may be given. */
export const publishedScrubNumbers = 10_000
export const mostScrubNumbers = 100_000

export const publishedScrubTerms: ScrubTerms = Object.freeze({
  mostNumbers: publishedScrubNumbers,
  aiKeepsVoiceWindows: false,
})

export interface Caller {
  readonly accountId: string
  readonly role: Role
  /** Identifies the key without revealing it. */
  readonly keyId: string
  readonly limits: KeyLimits
  /** Those of the account; absent means {@link publishedScrubTerms}. */
  readonly scrub?: ScrubTerms | undefined
}

/** Of a key that may do everything its role may. */
export const noLimits: KeyLimits = Object.freeze({
  rights: new Set(rights),
  projects: 'any',
  callKinds: 'any',
  expiresAt: Number.POSITIVE_INFINITY,
})

/** The operator at the command line, who may do everything and has no key. */
export function operator(accountId: string): Caller {
  return { accountId, role: 'Administrator', keyId: '', limits: noLimits }
}

/** Who asks where no key is needed; holds nothing. */
export const nobody: Caller = Object.freeze({
  accountId: '',
  role: 'Agent',
  keyId: '',
  limits: { ...noLimits, rights: new Set<Right>() },
})

/** The project and campaign a request names; blank means none. */
export interface ScopeChoice {
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
}

/** Campaign ids are numbers of at most eight digits. */
const campaignPattern = /^\d{1,8}$/

/** The number of a campaign; `undefined` for text that no campaign has as its id. */
export function readCampaignId(text: string): number | undefined {
  const id = text.trim()
  return campaignPattern.test(id) ? Number(id) : undefined
}

/**
 * Whether a key may name a project and campaign. A campaign alone stands for its project; neither
 * stands for the Master Project, as everywhere (spec, "Resources and their fields").
 */
export function mayName(
  { accountId, limits: { projects } }: Caller,
  { projectId = '', campaignId = '' }: ScopeChoice,
): boolean {
  if (projects === 'any') return true
  const code = readCode(accountId, projectId)
  if (campaignId.trim() === '') return projects.codes.has(code ?? accountId)
  const id = readCampaignId(campaignId)
  if (id === undefined || !projects.campaignIds.has(id)) return false
  return code === undefined || projects.codes.has(code)
}
