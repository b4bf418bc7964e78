/**
 * Tells whoever keeps answers that facts have changed. The service announces a change after it is
 * on disk and before it acknowledges the write, so the very next decision sees it.
 */
import type { PhoneNumber } from './phone-number.js'
import { yieldToEventLoop } from './slices.js'

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

/** Numbers that are told of in well below a millisecond. */
const announcedAtOnce = 256

/** Tells of changed numbers, of many in slices; all of them have been told of when it resolves. */
export async function announceNumbers(
  changes: ChangeListener,
  accountId: string,
  numbers: readonly PhoneNumber[],
): Promise<void> {
  for (let from = 0; from < numbers.length; from += announcedAtOnce) {
    const turn = numbers.length > announcedAtOnce ? yieldToEventLoop() : undefined
    if (turn) await turn
    changes.numbersChanged(accountId, numbers.slice(from, from + announcedAtOnce))
  }
}
