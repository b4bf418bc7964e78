import type { ChangeObserver } from '../domain/change-notifier.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import { yieldToEventLoop } from '../runtime/yield-to-event-loop.js'

/** Numbers announced in well below a millisecond. */
const notifyBatchSize = 256

/** Tells of changed numbers, of many in slices; all of them have been told of when it resolves. */
export async function notifyNumbersChanged(
  changes: ChangeObserver,
  accountId: string,
  numbers: readonly PhoneNumber[],
): Promise<void> {
  for (let from = 0; from < numbers.length; from += notifyBatchSize) {
    const turn = numbers.length > notifyBatchSize ? yieldToEventLoop() : undefined
    if (turn) await turn
    changes.numbersChanged(accountId, numbers.slice(from, from + notifyBatchSize))
  }
}
