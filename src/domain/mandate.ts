/**
 * What limits calls beyond the checks: keys, the number of attempts to one person, the own numbers that are shown, and the pauses that an
 * operator may order.
 */
import type { PhoneNumber } from './phone-number.js'
import type { CandidatePlace, Country } from './place.js'
import type { Instant, LocalDay } from './time/clock.js'
import type { Said } from './words/words.js'

/** A person dials; a machine dials (ATDS, predictive, prerecorded); an AI agent speaks. */
export const callKinds = ['manual', 'autodialed', 'ai'] as const
export type CallKind = (typeof callKinds)[number]

/** What a call is for, which chooses the rules that are asked of it. Telemarketing unless somebody says otherwise. */
export const callPurposes = [
  'telemarketing',
  'informational',
  'debt-collection',
  'political',
  'charity',
  'healthcare',
  'emergency',
] as const
export type CallPurpose = (typeof callPurposes)[number]

/** The projects that a limited key may use. */
export interface ProjectLimit {
  /** As stored; the Master Project's code is the account's id. */
  readonly codes: readonly string[]
  /** The campaigns of these projects. */
  readonly campaignIds: readonly number[]
}

/** Each call, or one to a number for which the key was given no call in the last seven days. */
export const approvalRules = ['always', 'first-contact'] as const
export type ApprovalRule = (typeof approvalRules)[number]

/** How many calls a key is given; only allows count, and no what-ifs. Absent means no limit. */
export interface AttemptLimits {
  readonly attemptsPerHour?: number | undefined
  readonly attemptsPerDay?: number | undefined
  /** For each number, in 24 hours. */
  readonly attemptsPerNumberPerDay?: number | undefined
  /** Between two calls to the same number. */
  readonly coolDownSeconds?: number | undefined
  /** Calls in progress: each is taken to be for two hours, since its end is not reported. */
  readonly concurrent?: number | undefined
  /** Which calls a person must approve. */
  readonly approval?: ApprovalRule | undefined
  /** Of an access token: in all, until it expires. */
  readonly inAll?: { readonly limit: number; readonly token: string; readonly expiresAt: Instant }
}

/** What else limits the calls of a key; absent means no limit. */
export interface CallLimits extends AttemptLimits {
  readonly campaigns?: readonly number[] | undefined
  /** Ten digits each. `valid`: any number of the North American plan, but there must be one. */
  readonly callerIds?: readonly string[] | 'valid' | undefined
  /** Codes of states and provinces. */
  readonly regions?: readonly string[] | undefined
}

/** What an access token is limited to, beyond its key (RFC 9396): it can only be less. */
export interface TokenGrant extends Pick<CallLimits, 'campaigns' | 'callerIds' | 'regions'> {
  readonly kinds?: readonly CallKind[] | undefined
  /** Calls in all, until the token expires. */
  readonly attempts?: number | undefined
}

export interface Mandate {
  /** Of the key; grows by one with each change of its limits. */
  readonly version: number
  readonly callKinds: readonly CallKind[] | 'any'
  readonly projects: ProjectLimit | 'any'
  readonly campaigns: readonly number[] | 'any'
  /** See {@link CallLimits}. */
  readonly callerIds: readonly string[] | 'valid' | 'any'
  readonly regions: readonly string[] | 'any'
  /** Absent when attempts are not counted. */
  readonly attempts?: AttemptLimits | undefined
}

/** What is left after an allow; absent for what is not limited. */
interface RemainingAttempts {
  readonly hour?: number | undefined
  readonly day?: number | undefined
}

/** The call of an attempt. */
interface AttemptedCall {
  /** Ten digits. */
  readonly number: string
  readonly callKind: CallKind
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  readonly callerId?: string | undefined
}

/** Exactly what a person approves. */
export interface ApprovalSubject
  extends AttemptedCall,
    Pick<Attempt, 'purpose' | 'subject' | 'personId'> {}

export const approvalStates = ['waiting', 'approved', 'refused', 'used', 'expired'] as const
export type ApprovalState = (typeof approvalStates)[number]

export const maxNoteLength = 500

/** What an operator may demand a second person for (`twoPeople.for`). */
export const changeKinds = [
  'remove-opt-outs',
  'lift-opt-out',
  'widen-hours',
  'export',
  'erase',
  'allow-unknown',
] as const
export type ChangeKind = (typeof changeKinds)[number]

export const changeStates = [
  'waiting',
  'approved',
  'running',
  'done',
  'failed',
  'refused',
  'expired',
] as const
export type ChangeState = (typeof changeStates)[number]

/** The approval that an allow rests on, or that a blocked call waits for. */
interface UsedApproval {
  readonly id: string
  /** When the waiting one expires, as ISO 8601. */
  readonly expiresAt?: string | undefined
  readonly approvedBy?: string | undefined
  readonly approvedAt?: string | undefined
}

/** Attempts are kept as long; a limit for a longer period would forget some. */
export const maxFrequencyHours = 31 * 24

/** How far a call got, in ascending order: 0 rang out, 1 was answered, 2 a person talked; -1 was busy, or not in service. */
export type CallReach = -1 | 0 | 1 | 2

/** What a limit counts, and how far a call must have got for it. One whose outcome is not known may have got anywhere. */
export const countedReach = { all: -1, connected: 0, completed: 1, conversation: 2 } as const

/** At most so many calls in a period before a call, by law or by an own rule. Only allows count, and no what-ifs. */
export interface FrequencyLimit {
  readonly id: string
  readonly calls: number
  /** Elapsed; not used with `days`. */
  readonly periodMs: number
  /** Whole days in a time zone, of which the day of the call is the last. */
  readonly days?: { readonly count: number; readonly zone: string } | undefined
  /** Whose calls count together: those to all numbers of a person, if the requests name one, or those to one number. */
  readonly per: 'person' | 'number'
  /** Calls about another subject are not counted; those without a subject may be about any. */
  readonly isPerSubject: boolean
  readonly counts: keyof typeof countedReach
  /** Of the calls that are counted; any when absent. */
  readonly purposes?: readonly CallPurpose[] | undefined
  readonly citation: string
}

/** What a relationship may lift by an exception of the law: the hours of a region, or how often it lets somebody be called. */
export const liftedRules = ['hours', 'cap'] as const
export type LiftedRule = (typeof liftedRules)[number]

/** A sale, an inquiry or a permission on file that no opt-out has ended; a permission is one that permits the call. */
export interface Relationship {
  readonly type: 'S' | 'I' | 'P'
  /** The day of the sale, the inquiry or the consent. */
  readonly contactOn: LocalDay
}

/** An exception of the law that a call rests on, and who has decided to use it. */
export interface AppliedException {
  readonly id: string
  readonly region: string
  readonly citation: string
  readonly decidedBy: string
  readonly relationship: Relationship
}

/** What decides which laws count a call. */
export interface CallToCount {
  readonly callKind: CallKind
  readonly purpose: CallPurpose
  readonly number: string
  /** Where the person may be. */
  readonly places: readonly CandidatePlace[]
  /** A permission record on file allows the call. */
  readonly hasPermission: boolean
}

/** The calls that a frequency limit counted. */
export interface FrequencyCount {
  readonly limit: FrequencyLimit
  /** The decisions that allowed them, or the references of imported ones; the newest first, at most as many as the limit. */
  readonly attempts: readonly string[]
  /** When there is room; absent if there is. */
  readonly opensAt?: Instant | undefined
}

/** What limits one attempt. */
export interface LimitsOfAttempt {
  readonly key?: AttemptLimits | undefined
  readonly frequency: readonly FrequencyLimit[]
  /** A full frequency limit does not refuse the call; it is counted all the same. */
  readonly isShadowed: boolean
}

/** A call to be counted. */
export interface Attempt {
  readonly decisionId: string
  /** Empty for calls without a key. */
  readonly keyId: string
  readonly accountId: string
  readonly call: AttemptedCall
  /** What the call is about, in a word of the account. */
  readonly subject?: string | undefined
  /** The caller's name for the person called. */
  readonly personId?: string | undefined
  /** Absent for telemarketing. */
  readonly purpose?: CallPurpose | undefined
  /** That the request names. */
  readonly approvalId?: string | undefined
  readonly at: Instant
}

/** What came of an attempt, as the decision says it. */
export interface CountedCall {
  readonly remaining?: RemainingAttempts | undefined
  readonly approval?: UsedApproval | undefined
}

export type AttemptResult = CountedCall & { readonly refused?: AttemptRefusal | undefined }

export type CountedAttempt = AttemptResult & {
  readonly isCounted: boolean
  /** Of each frequency limit. */
  readonly counts: readonly FrequencyCount[]
}

export interface AttemptRefusal {
  readonly reason: 'key-attempts' | 'key-cool-down' | 'key-concurrent' | 'approval-needed'
  readonly says: readonly Said[]
  /** When there is room again; absent when that depends on a person. */
  readonly opensAt?: Instant | undefined
}

/** Counts attempts, for all servers of a database. */
export interface AttemptCounter {
  /** Counts the attempt unless a limit is reached. Rejects if it cannot be counted. */
  take(attempt: Attempt, limits: LimitsOfAttempt): Promise<CountedAttempt>
  /** Those that count at the instant of the attempt, which is not counted itself. */
  readCounts(
    attempt: Attempt,
    limits: readonly FrequencyLimit[],
  ): Promise<readonly FrequencyCount[]>
  /** Takes an attempt back whose allow did not leave, or was not used. */
  release(attempt: Pick<Attempt, 'decisionId' | 'accountId'>): Promise<void>
}

/** A call that a decision allowed, as what was reported of it is counted. */
export interface ReportedAttempt
  extends Pick<
    Attempt,
    'decisionId' | 'keyId' | 'accountId' | 'subject' | 'personId' | 'purpose' | 'at'
  > {
  /** Absent after an erasure. */
  readonly number?: string | undefined
}

/** A call or text of another system. */
export interface ImportedAttempt {
  readonly number: PhoneNumber
  readonly at: Instant
  /** Of the other system, for this one alone. */
  readonly ref: string
  /** Both count alike. */
  readonly channel: 'call' | 'text'
  readonly subject?: string | undefined
  readonly personId?: string | undefined
  readonly purpose?: CallPurpose | undefined
  readonly reach?: CallReach | undefined
}

/** What is known of a call that left. */
export interface PlacedCall {
  readonly dialedAt?: Instant | undefined
  readonly reach?: CallReach | undefined
}

/** Counts attempts by what became of their calls. */
export interface AttemptReports {
  /**
   * Takes the attempt back, unless its call is known to have left, or may still leave by a permit. Says `released` of one
   * that is not counted, too.
   */
  noteNotPlaced(
    attempt: Pick<ReportedAttempt, 'decisionId' | 'accountId'>,
  ): Promise<'released' | 'placed' | 'has-permit'>
  /** Counts a call that was taken back too. It counts from dialing, never earlier than before, and as far as it ever got. */
  notePlaced(attempt: ReportedAttempt, placed: PlacedCall): Promise<void>
}

/**
 * What is paused: one key, all keys of an account that may ask for AI calls alone, all AI calls of an account, all AI calls, one
 * check for the calls of an account, which is in shadow then, or all calls of an account to a country, which it does not call.
 */
export type PauseSubject =
  | `key:${string}`
  | `agents:${string}`
  | `ai:${string}`
  | 'ai'
  | `check:${string}:${string}`
  | `country:${Country}:${string}`

export interface Pause {
  readonly pausedAt: Instant
  readonly pausedBy: string
  readonly because: string
}

export type Pauses = ReadonlyMap<string, Pause>

/** A pause that can apply to a call. */
export interface PauseInForce extends Pause {
  readonly subject: string
}

/** A number that an account has shown to be its own, in the time in which its calls may show it. */
export interface OwnNumber {
  readonly number: string
  /** Code of the project whose calls may show it; empty for all. */
  readonly project: string
  /** Whether the account has shown that it is where the number is. */
  readonly hasPresence: boolean
  /** Start of the registration; absent if it has none. */
  readonly from?: Instant | undefined
  /** End of the registration, exclusive; absent if it has none. */
  readonly until?: Instant | undefined
}

/** A do-not-originate list, and its prefix. */
export interface BarredBy {
  readonly prefix: string
  readonly list: string
}

/** The own numbers of an account, those that have ended too. */
export interface CallerIdRegister {
  readonly numbers: ReadonlyMap<string, readonly OwnNumber[]>
  /** Of the numbers. */
  readonly projects: ReadonlySet<string>
  /** By which nobody may show the number of the call; absent if there is none. */
  readonly barredBy?: BarredBy | undefined
}

export const noCallerIds: CallerIdRegister = { numbers: new Map(), projects: new Set() }

/** Of the carrier that signs the calls (47 CFR 64.6300 and following). */
export const attestations = ['A', 'B', 'C'] as const
export type Attestation = (typeof attestations)[number]

export interface CallerIdInput {
  /** Ten digits, or any other form of a number that may be dialed. */
  readonly number: string
  /** Code of the project whose calls may show it; all may if it is absent. */
  readonly projectId?: string | undefined
  /** To whom the number was given. */
  readonly owner: string
  /** What proves it, such as a contract or an invoice. */
  readonly proof: string
  readonly carrier?: string | undefined
  /** What the carrier is expected to sign. */
  readonly attestation?: Attestation | undefined
  readonly from?: Instant | undefined
  readonly until?: Instant | undefined
  /** When somebody has called it and was answered as the person called would be. */
  readonly callbackTestedAt?: Instant | undefined
  /** What proves that the account is where the number is, such as the address of an office. */
  readonly presence?: string | undefined
}

/** Of a CSV file of caller IDs, at the command line and in the console. */
export const callerIdColumns = [
  'number',
  'project',
  'owner',
  'proof',
  'carrier',
  'attestation',
  'from',
  'until',
  'tested',
  'presence',
] as const

export interface CallerIdEntry extends CallerIdInput {
  readonly addedAt: Instant
  readonly addedBy: string
  readonly endedAt?: Instant | undefined
  readonly endedBy?: string | undefined
}
