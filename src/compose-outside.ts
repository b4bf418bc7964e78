/** Builds the ways to facts from outside: imported files, a provider, the sandbox's fixed facts. */
import { credentialsOf } from './compose-credentials.js'
import type { ReferenceData } from './compose-service.js'
import type { Settings } from './config.js'
import { FeedFacts } from './data/facts/feed-facts.js'
import type { ComplaintBook, LabelBook } from './domain/labels.js'
import type { LookupBook } from './domain/lookups.js'
import type { Metrics } from './metrics.js'
import { JoinedComplaints, JoinedLabels } from './service/lookups/joined-labels.js'
import { JoinedLookups } from './service/lookups/joined-lookups.js'
import { SandboxFacts } from './service/sandbox/sandbox-facts.js'
import { type LookupProvider, openLookupProvider } from './sources/remote/lookup-provider.js'
import type { World } from './world.js'

/** Who is asked for facts about the numbers of one account. */
export interface Books {
  readonly lookups: LookupBook
  readonly labels: LabelBook
  readonly complaints: ComplaintBook
}

export interface OutsideFacts {
  readonly booksOf: (accountId: string) => Books
  /** The provider of `lookups.baseUrl`. */
  readonly provider: LookupProvider | undefined
  close(): Promise<void>
}

interface OutsideParts {
  readonly settings: Settings
  readonly world: World
  readonly data: Pick<ReferenceData, 'facts' | 'sandbox'>
  readonly metrics: Metrics
}

/**
 * The provider goes before the files: it says what is so today. The sandbox is answered by its fixed
 * facts alone, so that nothing real is asked for a try.
 */
export function openOutsideFacts({ settings, world, data, metrics }: OutsideParts): OutsideFacts {
  const { log, clock } = world
  const provider = openProvider({ settings, world, metrics })
  const feeds = new FeedFacts(data.facts, clock)
  const failed = (what: string, cause: unknown) =>
    log.warn('facts could not be had; others are asked, if any', { what, err: cause })
  const files = { name: 'imported files', book: feeds }
  const both = provider ? [{ name: settings.lookups.name, book: provider }, files] : [files]
  const real: Books = {
    lookups: new JoinedLookups(both, failed),
    labels: new JoinedLabels(both, failed),
    complaints: new JoinedComplaints([files], failed),
  }
  const fixed = new SandboxFacts(data.sandbox)
  const sandbox: Books = { lookups: fixed, labels: fixed, complaints: fixed }
  return {
    booksOf: (accountId) => (data.sandbox.isSandbox(accountId) ? sandbox : real),
    provider,
    close: async () => {
      await provider?.close()
      data.facts.close()
    },
  }
}

function openProvider({
  settings: { lookups },
  world,
  metrics,
}: Omit<OutsideParts, 'data'>): LookupProvider | undefined {
  const { name, baseUrl, authUrl, timeoutMs, requestsPerMinute, keepMs } = lookups
  if (baseUrl === undefined) return undefined
  const { clock, timers, random, log } = world
  return openLookupProvider({
    ...{ name, baseUrl, authUrl, timeoutMs, requestsPerMinute, keepMs },
    ...{ clock, timers, random, log },
    credentials: credentialsOf(lookups, 'lookups'),
    watch: {
      requested: (question, outcome, seconds) =>
        metrics.lookupAsked({ source: name, question, outcome, seconds }),
      circuit: (question, open) => metrics.lookupCircuit(name, question, open),
    },
  })
}
