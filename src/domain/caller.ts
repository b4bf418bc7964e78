/**
 * The caller of a request: the account, role and limits of an API key. Also parses the project codes
 * and campaign ids of requests.
 */

import type { CallKind, Mandate, ProjectLimit, TokenGrant } from './mandate.js'
import type { Instant } from './time/clock.js'

/** Id of the operator's account, which is created on the first start. */
export const mainAccountId = 'main'

/** Id of the sandbox account, which is created on the first start. */
export const sandboxAccountId = 'sandbox'

/** Roles of the spec ("Authentication", role rules). */
export const roles = ['Agent', 'Supervisor', 'Administrator'] as const
export type Role = (typeof roles)[number]

/**
 * The rights of keys (ADR 0073): decide on calls, look up facts, write opt-outs, write consent,
 * manage the account or spend its credits, copy the account to an edge, and pass on events of voice platforms. Each endpoint lists the rights it needs.
 */
export const rights = [
  'decide',
  'look-up',
  'records',
  'consent',
  'manage',
  'edge',
  'platform',
] as const
export type Right = (typeof rights)[number]

export interface KeyLimits {
  readonly rights: ReadonlySet<Right>
  readonly projects: ProjectLimit | 'any'
  /** The kinds of call that it may request decisions for. */
  readonly callKinds: readonly CallKind[] | 'any'
  /** The key is refused before this instant; absent when it was valid from its creation. */
  readonly notBefore?: Instant | undefined
  /** The key is refused at and after this instant; infinity when it does not expire. */
  readonly expiresAt: Instant
  /** Everything that limits its calls; absent when nothing does. */
  readonly mandate?: Mandate | undefined
}

/** An account's scrub settings beyond the published ones. */
export interface ScrubLimits {
  /** Maximum numbers of one request. */
  readonly maxNumbers: number
  /** `IsCallAllowedAI` also respects the windows for recorded voices. */
  readonly aiKeepsVoiceWindows: boolean
}

/** Who does something, for the audit table, and where it came in. */
export interface Author {
  /**
   * `key:<id>`, `person:<name>` of a session without a key, `user:<user of the system>` at the command line, with
   * `/<name>` if one was given with `--person`, or `system`.
   */
  readonly who: string
  /** `api <path>`, `console <path of the API>`, `command <words>` or `server`. */
  readonly door: string
  /** What they have approved of another person, and now carry out. */
  readonly change?: Pick<ApprovedChange, 'id' | 'askedBy'> | undefined
}

export const serverAuthor: Author = Object.freeze({ who: 'system', door: 'server' })

/** The published maximum numbers of a scrub, and the highest maximum an account can get. */
export const defaultMaxScrubNumbers = 10_000
export const maxScrubNumbers = 100_000

export const defaultScrubLimits: ScrubLimits = Object.freeze({
  maxNumbers: defaultMaxScrubNumbers,
  aiKeepsVoiceWindows: false,
})

export interface Caller {
  readonly accountId: string
  readonly role: Role
  /**
   * Identifies the key without revealing it; `person:<issuer> <subject>` of somebody who has signed in without one. Empty only for
   * the operator at the command line and for requests that need no key.
   */
  readonly keyId: string
  readonly limits: KeyLimits
  /** The account's limits; absent means {@link defaultScrubLimits}. */
  readonly scrub?: ScrubLimits | undefined
  /** The first path of the endpoint, of requests that do not ask for a decision. */
  readonly path?: string | undefined
  /** Of a session of the console. */
  readonly session?: ConsoleSession | undefined
  /** What the caller has approved, while it is carried out. */
  readonly change?: ApprovedChange | undefined
}

/** A change that another person has asked for. */
interface ApprovedChange {
  readonly id: string
  /** As in the audit table. */
  readonly askedBy: string
  /** Number of the newest change of an opt-out or consent at that time. */
  readonly askedSeq: number
  /** SHA-256 of exactly what was approved, in hex. */
  readonly requestHash: string
}

interface ConsoleSession {
  /** Who has signed in at an identity provider, and as what; absent with a key. */
  readonly person?: string | undefined
  readonly personRole?: PersonRole | undefined
  /** In lower case; absent unless the issuer says that it is verified. */
  readonly email?: string | undefined
}

/** What people who sign in at an identity provider may be, the one who may do the least first. */
export const personRoles = ['viewer', 'operator', 'officer', 'admin'] as const
export type PersonRole = (typeof personRoles)[number]

interface PersonRights {
  readonly role: Role
  /** All endpoints that need them may be used. */
  readonly rights: readonly Right[]
  /** Further rights, with which these endpoints alone may be used. */
  readonly only: Readonly<Partial<Record<Right, readonly string[]>>>
}

const readsDecisions = ['decisions', 'decisions-stream', 'decision', 'decision-proof', 'journal']
const pauses = ['pauses', 'pause', 'keys']
const changes = ['changes', 'change', 'change-approve', 'change-refuse']

export const rightsOfPeople: Readonly<Record<PersonRole, PersonRights>> = {
  viewer: { role: 'Agent', rights: ['look-up'], only: { decide: readsDecisions } },
  operator: {
    // Only a supervisor may pause calls.
    role: 'Supervisor',
    rights: ['look-up'],
    only: { decide: [...readsDecisions, 'preview'], manage: pauses },
  },
  officer: {
    role: 'Supervisor',
    rights: ['look-up', 'decide', 'records', 'consent'],
    only: { manage: [...pauses, 'approvals', 'approval-verdict', ...changes] },
  },
  admin: {
    role: 'Administrator',
    rights: ['look-up', 'decide', 'records', 'consent', 'manage'],
    only: {},
  },
}

export interface Person {
  readonly accountId: string
  /** See {@link identifyPerson}. */
  readonly id: string
  /** For people, in the audit table too. */
  readonly name: string
  readonly role: PersonRole
  /** In lower case; absent unless the issuer says that it is verified. */
  readonly email?: string | undefined
}

/** A subject is unique at its issuer alone (OpenID Connect Core 1.0, section 2). An issuer has no space. */
export function identifyPerson(issuer: string, subject: string): string {
  return `person:${issuer} ${subject}`
}

/** Of a session of somebody who has no key. */
export function createPersonCaller({ accountId, id, name, role, email }: Person): Caller {
  const { role: keyRole, rights: whole, only } = rightsOfPeople[role]
  const held = rights.filter((one) => whole.includes(one) || only[one] !== undefined)
  return {
    ...{ accountId, role: keyRole, keyId: id },
    limits: { ...noLimits, rights: new Set(held) },
    session: { person: name, personRole: role, ...(email !== undefined && { email }) },
  }
}

/** Who a caller is, in messages and in what is stored for people: `key key-1f2e` or `person jane@example.com`. */
export function nameCaller({ keyId, session }: Pick<Caller, 'keyId' | 'session'>): string {
  return session?.person === undefined ? `key ${keyId}` : `person ${session.person}`
}

/** What an audit row needs to know of a caller. */
export type Requester = Pick<Caller, 'accountId' | 'keyId' | 'path' | 'session' | 'change'>

/** The limits of a key that may do everything its role may. */
export const noLimits: KeyLimits = Object.freeze({
  rights: new Set(rights),
  projects: 'any',
  callKinds: 'any',
  expiresAt: Number.POSITIVE_INFINITY,
})

/** Whether what concerns the whole server, and the lists of all accounts, is the caller's business. */
export function isOperator({
  accountId,
  role,
  limits,
}: Pick<Caller, 'accountId' | 'role' | 'limits'>): boolean {
  return accountId === mainAccountId && role === 'Administrator' && limits.projects === 'any'
}

/** The caller for the operator at the command line, who may do everything and has no key. */
export function createOperatorCaller(accountId: string): Caller {
  return { accountId, role: 'Administrator', keyId: '', limits: noLimits }
}

/** The caller of requests that need no key; has no rights. */
export const anonymousCaller: Caller = Object.freeze({
  accountId: '',
  role: 'Agent',
  keyId: '',
  limits: { ...noLimits, rights: new Set<Right>() },
})

/** The project and campaign of a request; blank means none. */
export interface ScopeChoice {
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
}

/** Campaign ids are numbers of at most eight digits. */
const campaignPattern = /^\d{1,8}$/

/** Parses a campaign id; `undefined` for text that cannot be one. */
export function parseCampaignId(text: string): number | undefined {
  const id = text.trim()
  return campaignPattern.test(id) ? Number(id) : undefined
}

/**
 * Whether a key may use a project and campaign. A campaign alone implies its project; without either,
 * the Master Project applies (spec, "Resources and their fields").
 */
export function canUseScope(
  {
    accountId,
    limits: { projects },
  }: Pick<Caller, 'accountId'> & { readonly limits: Pick<KeyLimits, 'projects'> },
  { projectId = '', campaignId = '' }: ScopeChoice,
): boolean {
  if (projects === 'any') return true
  const code = parseProjectCode(accountId, projectId)
  if (campaignId.trim() === '') return projects.codes.includes(code ?? accountId)
  const id = parseCampaignId(campaignId)
  if (id === undefined || !projects.campaignIds.includes(id)) return false
  return code === undefined || projects.codes.includes(code)
}

/** The request for an access token (spec, "Authentication"; RFC 6749, section 4.4). */

export interface TokenRequest {
  /** As sent; validated by the service. */
  readonly grantType: string
  readonly clientId: string
  readonly clientSecret: string
  /** What the token is to be limited to. */
  readonly grant?: TokenGrant | undefined
}

export interface TokenResponse {
  /** Appears only in this answer; stored hashed. */
  readonly token: string
  readonly expiresInSeconds: number
  /** As in the request. */
  readonly grant?: TokenGrant | undefined
}

/**
 * Project codes are trimmed and in upper case, except the Master Project's code, which is the account's
 * id as stored. `undefined` for blank text.
 */
export function parseProjectCode(accountId: string, text: string): string | undefined {
  const code = normalizeProjectCode(text)
  if (code === '') return undefined
  return code === accountId.toUpperCase() ? accountId : code
}

/** Only ASCII text is changed: the upper case of letters such as `ſ` or `ß` could be another code. */
export function normalizeProjectCode(text: string): string {
  const trimmed = text.trim()
  return /^[\x20-\x7e]*$/.test(trimmed) ? trimmed.toUpperCase() : trimmed
}
