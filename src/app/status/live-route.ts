/** The route of the figures of this server. */
import { liveEndpoint } from '../../api/accounts/live.js'
import { createRoute, type Route } from '../../api/route.js'
import { isOperator, nameCaller } from '../../domain/caller.js'
import { formatInstant } from '../../domain/time/dates.js'
import { AppError } from '../../errors.js'
import type { LiveFigures } from '../../observability/live-figures.js'

export function createLiveRoute(figures: Pick<LiveFigures, 'read'>): Route {
  return createRoute(liveEndpoint, async (caller) => {
    if (!isOperator(caller)) {
      const rule =
        'the figures of the server need account main, role Administrator and no limit to projects'
      throw new AppError('forbidden', `${nameCaller(caller)}: ${rule}`)
    }
    const { steps, ...counted } = await figures.read()
    return { ...counted, steps: steps.map((step) => ({ ...step, at: formatInstant(step.at) })) }
  })
}
