/**
 * Tells of fields that published calls passed over: the counter each time, the log once a day (UTC) for
 * each key, since a client sends the same fields with every request.
 */
import type { Clock } from '../domain/clock.js'
import type { Logger } from '../log.js'
import type { IgnoredFields } from './bind.js'

export interface IgnoredFieldsOptions {
  readonly count: (endpoint: string, fields: number) => void
  readonly clock: Clock
  readonly log: Logger
}

const dayMs = 86_400_000

export function reportIgnoredFields({ count, clock, log }: IgnoredFieldsOptions) {
  const toldKeys = new Set<string>()
  let toldOn = Number.NEGATIVE_INFINITY
  return ({ endpoint, caller, names }: IgnoredFields): void => {
    count(endpoint, names.length)
    const today = Math.floor(clock.now() / dayMs)
    if (today !== toldOn) toldKeys.clear()
    toldOn = today
    if (toldKeys.has(caller.keyId)) return
    toldKeys.add(caller.keyId)
    const { accountId, keyId } = caller
    log.warn('fields that a call does not know were ignored; told once a day for each key', {
      ...{ accountId, keyId, endpoint, fields: names },
    })
  }
}
