/** One attempt at one event: composes, signs, sends, and says what became of it. */
import type { Clock } from '../../domain/clock.js'
import { composeNotice, type Notice, type NoticeSettings } from './notice.js'
import type { AttemptResult } from './retry-plan.js'
import { SendError, type SendReply, type WebhookSender } from './sender.js'

export interface NotifierOptions {
  readonly sender: WebhookSender
  /** What the account's notifications are signed with. */
  readonly secretOf: (accountId: string) => Promise<string>
  readonly clock: Clock
  readonly settings: NoticeSettings & {
    /** From the look-up of the name to the end of the answer. */
    readonly timeoutMs: number
  }
}

export type Unsent = Omit<Notice, 'sentAt'> & { readonly accountId: string; readonly url: string }

export class Notifier {
  readonly #options: NotifierOptions

  constructor(options: NotifierOptions) {
    this.#options = options
  }

  /**
   * Every way a receiver can fail is a result. Rejects when there is no secret to sign with, and
   * with {@link SendError} `aborted` when `signal` calls the attempt off.
   */
  async attempt(unsent: Unsent, signal?: AbortSignal): Promise<AttemptResult> {
    const { sender, secretOf, clock, settings } = this.#options
    const secret = await secretOf(unsent.accountId)
    const sentAt = clock.now()
    const composed = composeNotice({ ...unsent, sentAt }, secret, settings)
    const { timeoutMs } = settings
    try {
      const reply = await sender.post({ url: unsent.url, ...composed, timeoutMs, signal })
      return { sentAt, ...judge(reply) }
    } catch (cause) {
      if (!(cause instanceof SendError) || cause.failure === 'aborted') throw cause
      return { sentAt, outcome: cause.failure, httpStatus: null, problem: cause.message }
    }
  }
}

function judge({ status, retryAfter }: SendReply): Omit<AttemptResult, 'sentAt'> {
  if (status >= 200 && status < 300) return { outcome: 'delivered', httpStatus: status }
  const problem = `the receiver answered ${status}`
  return { outcome: 'bad-status', httpStatus: status, problem, retryAfter }
}
