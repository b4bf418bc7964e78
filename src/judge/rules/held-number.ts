/** Whether a platform reported an opt-out that nobody has reviewed yet. */
import { formatDay, toUtcDay } from '../../domain/time/dates.js'
import type { Judged, Rule } from '../judged.js'

/** Replaces the internal-list finding, since the number may belong on that list. */
export const heldNumberRule = {
  id: 'held-number',
  check: 'internal-dnc',
  replaces: true,
  judge({ call: { accountId }, number, stored: { pauses }, times: { now } }: Judged) {
    if (pauses === undefined || pauses === 'unread') return undefined
    const held = pauses.find(({ subject }) => subject === `held:${accountId}:${number}`)
    if (held === undefined) return undefined
    const { pausedAt, pausedBy: platform } = held
    const params = { on: formatDay(toUtcDay(pausedAt)), platform }
    return {
      ...{ check: 'internal-dnc', source: 'platform-events' },
      ...{ verdict: 'deny', reason: 'internal-dnc' },
      ...{ says: [{ code: 'held-by-event', params }] },
      ...{ asOf: now, holdsUntil: Number.POSITIVE_INFINITY },
    } as const
  },
} as const satisfies Rule
