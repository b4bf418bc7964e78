/** Routes for proxies, which report calls and events of voice platforms. They also run in service threads. */
import {
  duePlatformCallsEndpoint,
  platformCallsEndpoint,
  platformEventEndpoint,
} from '../../api/gate/platform-events.js'
import { createRoute, type Route } from '../../api/route.js'
import { resolveShippedFile } from '../../config/load.js'
import type { Settings } from '../../config/settings.js'
import { readCallOutcomes } from '../../data/files/call-outcomes.js'
import { loadOptOutReader } from '../../data/files/opt-out-phrases.js'
import { readOptOutSignals } from '../../data/files/opt-out-signals.js'
import { createEventReader } from '../../platform-events/read-event.js'
import type { EventInbox, EventInboxDeps } from '../../service/platform-events/event-inbox.js'

export function createEventRoutes(inbox: EventInbox): readonly Route[] {
  return [
    createRoute(platformCallsEndpoint, async (caller, { platform, calls }) => {
      await inbox.registerCalls(caller, platform, calls)
      return { recorded: true } as const
    }),
    createRoute(duePlatformCallsEndpoint, async ({ accountId }, { platform }) => ({
      calls: await inbox.listDue(accountId, platform),
    })),
    createRoute(platformEventEndpoint, async (caller, event) => {
      await inbox.add(caller, event)
      return { recorded: true } as const
    }),
  ]
}

/** Throws a `DataFileError` for a mistake in one of the files. */
export const createEventReaders = ({
  optOuts,
}: Settings): Pick<EventInboxDeps, 'readEvent' | 'readOptOut'> => ({
  readEvent: createEventReader({
    outcomes: readCallOutcomes(resolveShippedFile('config/call-outcomes.yaml')),
    signals: readOptOutSignals(resolveShippedFile('config/opt-out-signals.yaml')),
  }),
  readOptOut: loadOptOutReader(resolveShippedFile(optOuts.phrasesFile)),
})
