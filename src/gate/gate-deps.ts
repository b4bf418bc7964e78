/** What the gate is made of: its settings, and the ports through which it asks, records and counts. */
import type { AbandonmentCounts } from '../domain/call-outcome.js'
import type { Compliance, ConsentEvidence, MaybePromise } from '../domain/compliance.js'
import type { CallToConsent, RequiredConsent } from '../domain/consent/consent-records.js'
import type {
  CallKind,
  CallPurpose,
  Decision,
  Disclosure,
  Policy,
  PurposeRules,
} from '../domain/decision.js'
import type { ReassignedSource } from '../domain/lookups.js'
import type {
  AppliedException,
  AttemptCounter,
  CallerIdRegister,
  CallToCount,
  FrequencyLimit,
  LiftedRule,
  Pauses,
  Relationship,
} from '../domain/mandate.js'
import type { Clock, ClockReading, Instant, Timers } from '../domain/time/clock.js'
import type { JudgeSettings, Law } from '../judge/judged.js'
import type { RegionDay } from '../judge/places.js'
import type { PurposeSettings } from '../judge/rules/purpose.js'
import type { CallScope, ExceptionInUse } from '../judge/scope.js'
import type { Logger } from '../observability/log.js'
import type { Metrics } from '../observability/metrics.js'
import type { LegalTimeSettings } from './call-terms.js'
import type { Check } from './checks/check.js'
import type { Journal } from './journal/journal.js'
import type { StalenessRules } from './staleness.js'

/** An own limit on the calls to a number. */
export interface HouseLimit extends CallScope {
  readonly calls: number
  readonly seconds: number
}

export interface GateSettings extends LegalTimeSettings, StalenessRules, JudgeSettings {
  readonly deadlineMs: number
  readonly maxPending: number
  readonly nonNanp: 'block' | 'allow'
  readonly serviceCodes: ReadonlySet<string>
  /** Accounts and trunks for whose calls every check is in shadow mode. */
  readonly shadow: { readonly accounts: readonly string[]; readonly trunks: readonly string[] }
  readonly houseLimits: readonly HouseLimit[]
  readonly purposes: readonly PurposeSettings[]
  readonly exceptions: readonly ExceptionInUse[]
  readonly aiConsentEvidence: ConsentEvidence
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

/** For decisions that are not recorded, as in `callgate check`. */
export const withoutJournal: GateJournal = {
  append: (_, onWritten) => onWritten?.(),
  amend: () => undefined,
}

/** What the gate needs of the account a call belongs to. */
export interface GateAccount {
  /** Now as the account sees it; the sandbox's clock may be fixed. */
  readonly clock: Clock
  /** Answers the questions about its calls. */
  readonly compliance: Compliance
  /** Whether numbers are still those of the persons who gave consent. */
  readonly reassigned: ReassignedSource
}

/** What a reload replaces. */
export interface GateRules {
  readonly policy: Policy
  readonly settings: GateSettings
  /** Of the calling rules; kept beside the journal. */
  readonly rulesVersion: string
  readonly callingRules: Law & {
    /** What must be said in a call allowed at `at`, in order; `findPlaces` gives all where the called person may be. */
    listDisclosures(
      call: { readonly callKind: CallKind; readonly purpose?: CallPurpose | undefined },
      at: Instant,
      findPlaces: () => readonly RegionDay[],
    ): readonly Disclosure[]
    readonly purposes: {
      /** The same object each time. */
      find(purpose: CallPurpose): PurposeRules
    }
    readonly frequency: {
      /** The laws on the number of calls that count one to this number, whose person may be in any of the places. */
      find(call: CallToCount, at: Instant): readonly FrequencyLimit[]
    }
    readonly exceptions: {
      /** Those in force at an instant whose conditions a relationship meets. */
      find(
        lifted: LiftedRule,
        relationship: Relationship,
        at: Instant,
      ): readonly Omit<AppliedException, 'decidedBy' | 'relationship'>[]
      /** Whether an exception that lifts caps lifts a frequency rule. */
      liftsCap(exception: { readonly region: string }, ruleId: string): boolean
    }
    readonly requiredConsents: {
      /** Finds the state consent laws for a call to a person who may be in any of the places. */
      find(call: CallToConsent, at: Instant): readonly RequiredConsent[]
    }
  }
}

export interface GateDeps extends GateRules {
  readonly checks: readonly Check[]
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
  /** Absent for decisions that are no attempts. */
  readonly attempts?: AttemptCounter | undefined
  /** Whether a provider answers its questions after those of other gates. */
  readonly asksInBackground?: boolean
  readonly newId: (at: number) => string
  readonly metrics: Pick<Metrics, 'recordDecision'>
  /** Told of each decision as it leaves. */
  readonly recentCalls?: { note(decision: Decision): void } | undefined
  readonly log: Logger
}
