import type { ChangeObserver } from '../domain/change-notifier.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import { yieldToEventLoop } from '../runtime/yield-to-event-loop.js'

/** As many numbers as can be announced in well under a millisecond. */
const notifyBatchSize = 256

/** Announces changed numbers in batches that yield to the event loop; resolves when all are announced. */
export async function notifyNumbersChanged(
  changes: ChangeObserver,
  accountId: string,
  numbers: readonly PhoneNumber[],
): Promise<void> {
  for (let from = 0; from < numbers.length; from += notifyBatchSize) {
    const turn = numbers.length > notifyBatchSize ? yieldToEventLoop() : undefined
    if (turn) await turn
    await changes.numbersChanged(accountId, numbers.slice(from, from + notifyBatchSize))
  }
}
