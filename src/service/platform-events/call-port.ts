/** The inbox's access to the deciding thread. */
import type { CallOutcome } from '../../domain/call-outcome.js'
import type { OptOutReport } from '../../domain/consent/consent-records.js'

/** The proxy that sent something. */
export interface Sender {
  readonly accountId: string
  readonly keyId: string
}

/** Operations that only the deciding thread can perform. */
export interface CallPort {
  /** The number of a decision of the account; `undefined` if it is not known here. */
  findCalledNumber(call: {
    readonly accountId: string
    readonly decisionId: string
  }): Promise<string | undefined>
  /** False if the decision is not known here yet. */
  noteOutcome(
    report: Sender & { readonly decisionId: string; readonly outcome: Partial<CallOutcome> },
  ): Promise<boolean>
  /** Resolves when it is on disk and in force. */
  recordOptOut(report: Sender & { readonly report: OptOutReport }): Promise<void>
  /** Called when the held numbers may have changed. */
  forgetHeldNumbers(account: { readonly accountId: string }): void
  reportPlatformEvent(event: {
    readonly platform: string
    readonly result: EventResult
    readonly cause?: string | undefined
  }): void
}

type EventResult = 'stored' | 'opt-out' | 'unclear' | 'unreadable' | 'failed'
