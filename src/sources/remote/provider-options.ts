/** The options of a remote provider's clients. */

import type { AnswerFailureReason, MaybePromise, QuestionName } from '../../domain/compliance.js'
import type { Clock, Timers } from '../../domain/time/clock.js'
import type { TraceContext } from '../../domain/trace/trace-context.js'
import type { Logger } from '../../observability/log.js'
import type { QuestionFailure } from './client/question-failure.js'
import type { Transport } from './client/transport.js'

/** The addresses of a provider (spec, "Addresses"), without trailing slashes. */
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
  /** From the question to its answer, including waiting and retries. */
  readonly deadlineMs: number
}

/** The limits of every question of one provider. */
export interface ProviderLimits {
  readonly coalesceMs: number
  readonly maxQueued: number
  readonly maxRequests: number
  readonly retries: number
  readonly circuitFailures: number
  readonly circuitOpenMs: number
}

/** The outcome of one HTTP request to a provider. */
export type RequestOutcome = 'answered' | AnswerFailureReason

export interface ProviderObserver<Name extends string = QuestionName> {
  /** Called for each HTTP request, not for each question. */
  onRequest(question: Name, outcome: RequestOutcome, seconds: number): void
  onCircuitChange(question: Name, open: boolean): void
}

/** Records a span for each request of traced decisions. */
export interface RequestTracer {
  startRequest(request: {
    /** Name of the provider. */
    readonly source: string
    readonly question: string
    readonly numbers: number
    readonly parent: TraceContext
  }): RequestSpan
}

export interface RequestSpan {
  /** Sent with the request. */
  readonly context: TraceContext
  /** `traces`: those of all callers, the parent included. */
  end(outcome: RequestOutcome, traces: readonly TraceContext[]): void
}

/** What the accounts may ask a provider; counts a number of a question each time it is sent. */
export interface QuestionBudget {
  /** Such an account shares no answers in flight with others. */
  isLimited(accountId: string): boolean
  /** Takes one number from the budget, or gives why it may not be asked. Never rejects. */
  take(
    accountId: string,
    question: string,
    inBackground: boolean,
  ): MaybePromise<BudgetCharge | QuestionFailure>
  close(): Promise<void>
}

/** What one number was charged when it was asked. */
export interface BudgetCharge {
  /** For a number that was not sent. */
  giveBack(): void
}

/** The options that do not depend on the questions. */
export interface ProviderBaseOptions {
  /** Name in findings, logs and metrics. */
  readonly name: string
  readonly addresses: ProviderAddresses
  readonly credentials: ProviderCredentials
  readonly limits: ProviderLimits
  /** Provides the time of answers. */
  readonly clock: Clock
  readonly timers: Timers
  /** Returns 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number
  readonly log: Logger
  /** Absent while traces are not exported. */
  readonly tracer?: RequestTracer | undefined
  /** No account has a limit when absent. */
  readonly budget?: QuestionBudget | undefined
  /** HTTP is used when absent. */
  readonly transport?: Transport | undefined
}

/** `Name` is the name of a question in settings, logs and metrics. */
export interface ProviderOptions<Name extends string = QuestionName> extends ProviderBaseOptions {
  readonly questions: Readonly<Record<Name, QuestionLimits>>
  readonly observer: ProviderObserver<Name>
}
