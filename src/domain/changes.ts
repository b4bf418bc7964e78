/**
 * Tells whoever keeps answers that facts have changed. The service announces a change after it is
 * on disk and before it acknowledges the write, so the very next decision sees it.
 */
import type { PhoneNumber } from './phone-number.js'

export interface ChangeListener {
  /** Internal list or relationship records of these numbers changed for one account. */
  numbersChanged(accountId: string, numbers: readonly PhoneNumber[]): void
  /** A list, the numbering plan or an account's settings changed: nothing kept is sure any more. */
  everythingChanged(): void
}

export class Changes implements ChangeListener {
  readonly #listeners = new Set<ChangeListener>()

  /** Gives the function that ends the subscription. */
  subscribe(listener: ChangeListener): () => void {
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
