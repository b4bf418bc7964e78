/** Retries deliveries that the gate could not store, since platforms rarely send an event again. */
import type { Timers } from '../domain/time/clock.js'
import type { Logger } from '../observability/log.js'
import { describeFailure } from './gate-client.js'

export interface Delivery {
  /** For the log: what was lost, with the details that a person needs to repair the loss. */
  readonly what: string
  readonly details: object
  /** Size in memory while it waits. */
  readonly bytes: number
  /** Rejects if it was not stored. */
  readonly send: () => Promise<void>
}

export interface DeliveryQueueOptions {
  readonly timers: Pick<Timers, 'after'>
  readonly log: Logger
}

const maxAttempts = 25
const firstDelayMs = 1_000
const maxDelayMs = 60_000
const maxWaiting = 10_000
const maxWaitingBytes = 64_000_000

export class DeliveryQueue {
  readonly #options: DeliveryQueueOptions
  /** Each with a function that cancels the wait for its next attempt. */
  readonly #waiting = new Map<Delivery, () => void>()
  readonly #running = new Set<Promise<void>>()
  #bytes = 0

  constructor(options: DeliveryQueueOptions) {
    this.#options = options
  }

  /** Sends it now, and retries for about twenty minutes if that fails. */
  add(delivery: Delivery): void {
    if (this.#waiting.size >= maxWaiting || this.#bytes + delivery.bytes > maxWaitingBytes) {
      this.#logLoss(delivery, 'too many deliveries are waiting')
      return
    }
    this.#bytes += delivery.bytes
    this.#waiting.set(delivery, () => undefined)
    this.#start(delivery, 1)
  }

  /** Tries every waiting delivery once more, and logs those that fail as lost. */
  async close(): Promise<void> {
    await Promise.all(this.#running)
    for (const [delivery, cancel] of this.#waiting) {
      cancel()
      this.#start(delivery, maxAttempts)
    }
    await Promise.all(this.#running)
  }

  #start(delivery: Delivery, attempt: number): void {
    const running = this.#attempt(delivery, attempt).finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  async #attempt(delivery: Delivery, attempt: number): Promise<void> {
    const { timers, log } = this.#options
    try {
      await delivery.send()
      this.#remove(delivery)
    } catch (cause) {
      const problem = describeFailure(cause)
      if (attempt >= maxAttempts) {
        this.#remove(delivery)
        this.#logLoss(delivery, problem)
        return
      }
      if (attempt === 1)
        log.warn('not stored by the gate; trying again', { what: delivery.what, problem })
      const delayMs = Math.min(firstDelayMs * 2 ** (attempt - 1), maxDelayMs)
      const cancel = timers.after(delayMs, () => this.#start(delivery, attempt + 1))
      this.#waiting.set(delivery, cancel)
    }
  }

  #remove(delivery: Delivery): void {
    if (this.#waiting.delete(delivery)) this.#bytes -= delivery.bytes
  }

  #logLoss({ what, details }: Delivery, problem: string): void {
    this.#options.log.error('lost, because the gate did not store it', {
      what,
      problem,
      ...details,
    })
  }
}
