/** Keeps the data of a running server current and reports its readiness. */
import type { Callgate } from '../../app/callgate.js'
import type { MaybePromise } from '../../domain/compliance.js'
import type { Country } from '../../domain/place.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { Readiness, ReadinessCheck } from '../../http/health.js'
import { monotonicSeconds } from '../../runtime/runtime.js'
import { createCallReadiness, describeMissingList } from './call-readiness.js'
import { ClockMonitor, checkClockReadiness } from './clock-monitor.js'
import {
  findListAgeProblem,
  findMissingLists,
  isAskedFor,
  ListAgeMonitor,
  measureListAges,
  readUnneeded,
} from './list-age-monitor.js'
import type { ListFetcher } from './list-fetcher.js'
import { createDatabaseCheck, createRecordsCheck } from './write-probe.js'

const checkIntervalMs = 1_000

/**
 * Checks every second for lists, prefixes and rows that another process has imported or written, and
 * invalidates the caches. Also reports lists that become too old. Returns a function that stops the
 * watch.
 */
export function watchData(callgate: Callgate): () => void {
  reportData(callgate)
  reportFacts(callgate)
  callgate.metrics.setListAgesReader(() => measureListAges(callgate))
  const ages = new ListAgeMonitor(callgate)
  ages.check()
  const fetcher = callgate.storage.feed && openListFetcher(callgate)
  const reportFault = createFaultReporter(callgate)
  const clock = new ClockMonitor(callgate)
  void clock.check()
  // Changes that a command has stored must not wait until a large list has been read.
  const refreshes = [
    skipWhileRunning(() => Promise.all([refreshRows(callgate), clock.check()])),
    skipWhileRunning(() => refreshFiles(callgate).finally(() => ages.check())),
  ]
  const timer = setInterval(() => {
    void reportFault()
    void fetcher?.then((opened) => opened.check())
    for (const refresh of refreshes) refresh()
  }, checkIntervalMs)
  timer.unref()
  return () => {
    clearInterval(timer)
    void fetcher?.then((opened) => opened.stop())
  }
}

/** Loaded only where servers share lists. */
async function openListFetcher(callgate: Callgate): Promise<ListFetcher> {
  const { ListFetcher } = await import('./list-fetcher.js')
  return new ListFetcher(callgate)
}

/** Logs a database fault once when it begins and once when it ends. */
function createFaultReporter({ storage, runtime: { log } }: Callgate): () => Promise<void> {
  let reported: string | undefined
  return async () => {
    const fault = await storage.checkFault()
    if (fault === reported) return
    reported = fault
    if (fault === undefined) log.info('the database is reliable again')
    else log.error('the database is not reliable; no call is allowed', { detail: fault })
  }
}

/** `run` must never reject. */
function skipWhileRunning(run: () => Promise<unknown>): () => void {
  let isRunning = false
  return () => {
    if (isRunning) return
    isRunning = true
    void run().finally(() => {
      isRunning = false
    })
  }
}

/** What {@link watchData} does every second. Never rejects. */
export async function refreshData(callgate: Callgate): Promise<void> {
  await refreshRows(callgate)
  await refreshFiles(callgate)
}

async function refreshRows(callgate: Callgate): Promise<void> {
  const { storage, changes } = callgate
  const hasChanged = () => storage.hasExternalChanges()
  if (await probe(callgate, 'rows of other processes', hasChanged)) changes.everythingChanged()
}

/**
 * Refreshes each kind of file even if another one fails, so that a damaged file does not keep a new
 * list from being loaded. Reads large lists in pieces, so that decisions are not delayed.
 */
async function refreshFiles(callgate: Callgate): Promise<void> {
  const { data, changes, factSources } = callgate
  const prefixes = await probe(callgate, 'new prefixes', () => data.plan.reloadIfChanged())
  if (await probe(callgate, 'new facts', () => data.facts.refreshInBackground())) {
    factSources.factsChanged()
    reportFacts(callgate)
  }
  const lists = await probe(callgate, 'new lists', () => data.lists.refreshInBackground())
  if (!lists && !prefixes) return
  changes.everythingChanged()
  reportData(callgate)
}

/** Whether `what` has changed. Returns false if it cannot be read. */
async function probe(
  { runtime }: Callgate,
  what: string,
  hasChanged: () => MaybePromise<boolean>,
): Promise<boolean> {
  try {
    return await hasChanged()
  } catch (cause) {
    runtime.log.error(`${what} could not be read; the previous data stays in use`, { err: cause })
    return false
  }
}

function reportFacts({ data, metrics, runtime }: Callgate): void {
  metrics.setFacts(data.facts.all())
  for (const { feed, path, detail, olderInUse } of data.facts.problems()) {
    runtime.log.error('imported facts cannot be used', { feed, path, detail, olderInUse })
  }
}

function reportData({ data, metrics, runtime }: Callgate): void {
  metrics.setLists(data.lists.all().map(({ name, size, asOf }) => ({ name, entries: size, asOf })))
  for (const { path, detail, olderInUse } of data.lists.problems()) {
    runtime.log.error('a list cannot be used', { path, detail, olderInUse })
  }
  for (const { path, detail, olderInUse, blocked } of data.plan.problems()) {
    runtime.log.error('a numbering file cannot be used', { path, detail, olderInUse, blocked })
  }
  for (const [country, coverage] of Object.entries(data.plan.coverage())) {
    const { mode, prefixes, asOf } = coverage
    metrics.setAreaCodeMode(country as Country, mode === 'area-code')
    const day = asOf === undefined ? undefined : formatInstant(asOf)
    const fields = { country, mode, prefixes, asOf: day }
    if (mode === 'imported') runtime.log.info('numbering prefixes are loaded', fields)
    else if (mode === 'damaged')
      runtime.log.error('numbering prefixes cannot be read; calls are blocked', fields)
    else runtime.log.warn('prefixes are not imported (callgate import numbering)', fields)
  }
}

/**
 * A list that is missing or too old blocks real accounts, but the server stays ready, since another server
 * would have the same lists.
 */
async function checkListReadiness(callgate: Callgate): Promise<Readiness> {
  const { lists } = callgate.data
  const damaged = lists.problems().map(({ detail }) => detail)
  const unneeded = await readUnneeded(callgate)
  const asked = lists.all().filter(({ name }) => isAskedFor(name, unneeded))
  const aged = asked.flatMap((list) => findListAgeProblem(list, callgate)?.text ?? [])
  if (damaged.length > 0) return { ready: false, detail: [...damaged, ...aged].join('; ') }
  const names = lists
    .all()
    .map(({ name, version, asOf }) => `${name} ${version} as of ${formatInstant(asOf)}`)
  const missing = findMissingLists(callgate, unneeded).flatMap(
    (name) => describeMissingList(name, callgate) ?? [],
  )
  return { ready: true, detail: [names.join(', ') || 'none', ...aged, ...missing].join('; ') }
}

/** A damaged file is a fault even while the previously read data is still in use. */
export function checkNumberingReadiness({ data: { plan } }: Pick<Callgate, 'data'>): Readiness {
  const modes = Object.entries(plan.coverage()).map(
    ([country, { mode, prefixes }]) => `${country} ${mode} (${prefixes} prefixes)`,
  )
  const problems = plan.problems().map(({ detail, olderInUse, blocked }) => {
    if (olderInUse) return `${detail}; the previous data is in use`
    return blocked.length > 0 ? `${detail}; calls to ${blocked.join(', ')} are blocked` : detail
  })
  const ready = problems.length === 0
  const isFetched = [...plan.findInForce().values()].includes(false)
  const advice =
    ready || isFetched ? [] : ['import it again (callgate import numbering, blocks or ocn)']
  return { ready, detail: [...problems, ...advice, modes.join(', ')].join('; ') }
}

function checkFeedReadiness({
  storage: { feed },
  settings: { cluster },
}: Pick<Callgate, 'storage' | 'settings'>): Readiness {
  if (!feed) return { ready: true }
  const lagMs = Math.round(monotonicSeconds() * 1000 - feed.currentAt.monotonicMs)
  const why = feed.problem === undefined ? '' : `: ${feed.problem}`
  const detail = `what others have stored is known until ${lagMs} ms ago${why}`
  return { ready: lagMs <= cluster.maxStalenessMs, detail }
}

/** The readiness checks of the data; unreadable lists and unwritable records are faults. */
export function listDataReadinessChecks(callgate: Callgate): readonly ReadinessCheck[] {
  const { data, projection, storage, shut } = callgate
  return [
    { name: 'parts', check: () => ({ ready: shut.problem === undefined, detail: shut.problem }) },
    { name: 'records', check: createRecordsCheck(callgate) },
    // Always ready: the journal has them, and goes on.
    ...(projection
      ? [
          {
            name: 'copies',
            check: () => {
              const { problem } = projection
              return { ready: true, impaired: problem !== undefined, detail: problem }
            },
          },
        ]
      : []),
    { name: 'database', check: createDatabaseCheck(callgate) },
    { name: 'calls', check: createCallReadiness(callgate) },
    ...(storage.feed ? [{ name: 'changes', check: () => checkFeedReadiness(callgate) }] : []),
    { name: 'clock', check: () => checkClockReadiness(callgate) },
    {
      name: 'lists',
      check: () => checkListReadiness(callgate),
    },
    {
      name: 'facts',
      check: () => {
        const problems = data.facts.problems()
        const feeds = data.facts
          .all()
          .map(({ name, asOf }) => `${name} as of ${formatInstant(asOf)}`)
        // Always ready: facts that cannot be read are answered as unknown.
        const details = [...feeds, ...problems.map(({ detail }) => `not usable: ${detail}`)]
        return { ready: true, detail: details.join(', ') || 'none' }
      },
    },
    {
      name: 'numbering',
      check: () => checkNumberingReadiness(callgate),
    },
  ]
}
