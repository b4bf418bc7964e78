/** What the program tells a remote provider's client. */
import type { Clock, Timers } from '../../domain/clock.js'
import type { QuestionName, UnansweredReason } from '../../domain/compliance.js'
import type { Logger } from '../../log.js'
import type { Transport } from './transport.js'

/** Spec, "Addresses": none ends with a slash. */
export interface ProviderAddresses {
  /** Paths that begin with `/v1.4/` or `/v1.5/`. */
  readonly baseUrl: string
  /** `/app/main/rpc/` */
  readonly rpcUrl: string
  /** `/v1.4/reputation` */
  readonly monitorUrl: string
  /** The token endpoint, path included. */
  readonly authUrl: string
}

/** Spec, "Authentication". */
export type ProviderCredentials =
  | { readonly kind: 'login-id'; readonly loginId: string }
  | { readonly kind: 'oauth'; readonly clientId: string; readonly clientSecret: string }

export interface QuestionLimits {
  readonly requestsPerMinute: number
  readonly numbersPerRequest: number
  /** From the question to its answer, waiting and retries included. */
  readonly deadlineMs: number
}

/** Of every question of one provider. */
export interface ProviderLimits {
  readonly coalesceMs: number
  readonly maxQueued: number
  readonly maxRequests: number
  readonly retries: number
  readonly circuitFailures: number
  readonly circuitOpenMs: number
}

/** How one HTTP request to a provider ended. */
export type RequestOutcome = 'answered' | UnansweredReason

export interface ProviderWatch<Name extends string = QuestionName> {
  /** One HTTP request, not one question. */
  requested(question: Name, outcome: RequestOutcome, seconds: number): void
  circuit(question: Name, open: boolean): void
}

/** What does not depend on what is asked of the provider. */
export interface ProviderBasics {
  /** As findings, logs and metrics name it. */
  readonly name: string
  readonly addresses: ProviderAddresses
  readonly credentials: ProviderCredentials
  readonly limits: ProviderLimits
  /** The provider's time, for what answers rest on. */
  readonly clock: Clock
  readonly timers: Timers
  /** From 0 up to, not including, 1. */
  readonly random: () => number
  readonly log: Logger
  /** HTTP when absent. */
  readonly transport?: Transport | undefined
}

/** `Name` is each question that may be asked, as settings, logs and metrics name it. */
export interface ProviderOptions<Name extends string = QuestionName> extends ProviderBasics {
  readonly questions: Readonly<Record<Name, QuestionLimits>>
  readonly watch: ProviderWatch<Name>
}
