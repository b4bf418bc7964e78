/**
 * Reports fields that published calls ignored: to the counter each time, to the log once a day (UTC) for
 * each key, since a client sends the same fields with every request.
 */

import type { Clock } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import type { Logger } from '../../observability/log.js'
import type { IgnoredFields } from '../route-handler.js'

export interface IgnoredFieldsOptions {
  readonly count: (endpoint: string, fields: number) => void
  readonly clock: Clock
  readonly log: Logger
}

export function createIgnoredFieldsReporter({ count, clock, log }: IgnoredFieldsOptions) {
  const loggedKeys = new Set<string>()
  let loggedOn = Number.NEGATIVE_INFINITY
  return ({ endpoint, caller, names }: IgnoredFields): void => {
    count(endpoint, names.length)
    const today = Math.floor(clock.now() / msPerDay)
    if (today !== loggedOn) loggedKeys.clear()
    loggedOn = today
    if (loggedKeys.has(caller.keyId)) return
    loggedKeys.add(caller.keyId)
    const { accountId, keyId } = caller
    log.warn('unknown request fields were ignored; logged once a day per API key', {
      accountId,
      keyId,
      endpoint,
      fields: names,
    })
  }
}
