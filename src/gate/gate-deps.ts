/** What the gate is made of: its settings, and the ports through which it asks, records and counts. */
import type { AbandonmentCounts } from '../domain/call-outcome.js'
import type { MaybePromise } from '../domain/compliance.js'
import type { Decision, Policy } from '../domain/decision.js'
import type { ReassignedSource } from '../domain/lookups.js'
import type { AttemptCounter, CallerIdRegister, Pauses } from '../domain/mandate.js'
import type { Clock, ClockReading, Instant, Timers } from '../domain/time/clock.js'
import type { LawInForce } from '../judge/judge.js'
import type { JudgeSettings } from '../judge/judged.js'
import type { Law } from '../judge/law.js'
import type { PurposeSettings } from '../judge/rules/purpose.js'
import type { Logger } from '../observability/log.js'
import type { Metrics } from '../observability/metrics.js'
import type { Journal } from './journal/journal.js'
import type { FactSources } from './look-up.js'
import type { StalenessRules } from './staleness.js'

export interface GateSettings extends StalenessRules, Omit<JudgeSettings, 'policy'> {
  readonly deadlineMs: number
  readonly maxPending: number
  readonly nonNanp: 'block' | 'allow'
  readonly serviceCodes: ReadonlySet<string>
  readonly purposes: readonly PurposeSettings[]
  readonly allowValidMs: number
  readonly blockValidMs: number
}

/** The newest instant at which anything was stored, by the machine's clock. */
interface StorageWatermark {
  /** Milliseconds that the clock, which shows `now`, is behind it; negative if it is ahead of the database's, 0 while plausible. */
  getLagMs(now: Instant): number
}

type GateJournal = Pick<Journal, 'append' | 'amend'>

/** What other servers have stored. */
interface StoredElsewhere {
  /** Everything until then is known here. */
  readonly currentAt: ClockReading
}

/** What the gate needs of the account a call belongs to. */
export interface GateAccount {
  /** Now as the account sees it; the sandbox's clock may be fixed. */
  readonly clock: Clock
  readonly sources: FactSources
  /** Whether numbers are still those of the persons who gave consent. */
  readonly reassigned: ReassignedSource
}

/** What a reload replaces. */
export interface GateRules {
  readonly policy: Policy
  readonly settings: GateSettings
  /** Of the calling rules; kept beside the journal. */
  readonly rulesVersion: string
  /** The hours that they give, with the days and emergencies that the operator has entered. */
  readonly windows: LawInForce['windows']
  readonly callingRules: Law
}

export interface GateDeps extends GateRules {
  /** Why nothing that is stored can be relied on, and no decision be recorded; for people. */
  readonly shut?: { readonly problem: string | undefined } | undefined
  readonly journal: GateJournal
  readonly clock: Clock
  readonly watermark: StorageWatermark
  /** Absent if no other server stores anything. */
  readonly feed?: StoredElsewhere | undefined
  readonly timers: Timers
  readonly accounts: { readonly real: GateAccount; readonly sandbox: GateAccount }
  /** The pauses in force, at most a second old. */
  readonly pauses: { read(): MaybePromise<Pauses> }
  /** The own numbers of an account, and whether anybody may show the one that a call shows; at most a second old. */
  readonly callerIds: {
    read(accountId: string, shown: string | undefined): MaybePromise<CallerIdRegister>
  }
  /** How many calls of an account's campaigns were abandoned, at most a second ago. */
  readonly abandonment: { read(accountId: string): MaybePromise<AbandonmentCounts> }
  /** Absent if nothing counts attempts. */
  readonly attempts?: AttemptCounter | undefined
  readonly newId: (at: number) => string
  readonly metrics: Pick<Metrics, 'recordDecision'>
  /** Told of each decision as it leaves. */
  readonly recentCalls?: { note(decision: Decision): void } | undefined
  readonly log: Logger
}
