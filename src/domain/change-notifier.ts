/**
 * Notifies caches of changed facts. The service announces a change after it is on disk and before it
 * acknowledges the write, so the next decision already uses it.
 */

import type { MaybePromise } from './compliance.js'
import type { PhoneNumber } from './phone-number.js'

export interface ChangeObserver {
  /**
   * Internal list or relationship records of these numbers changed for one account. Resolves once those in
   * another thread have been told.
   */
  numbersChanged(accountId: string, numbers: readonly PhoneNumber[]): MaybePromise<void>
  /** A list, the numbering plan or an account's settings changed, so all cached answers are invalid. */
  everythingChanged(): void
}

export class ChangeNotifier implements ChangeObserver {
  readonly #listeners = new Set<ChangeObserver>()

  /** Returns a function that ends the subscription. */
  subscribe(listener: ChangeObserver): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  numbersChanged(accountId: string, numbers: readonly PhoneNumber[]): void {
    for (const listener of this.#listeners) listener.numbersChanged(accountId, numbers)
  }

  everythingChanged(): void {
    for (const listener of this.#listeners) listener.everythingChanged()
  }
}
