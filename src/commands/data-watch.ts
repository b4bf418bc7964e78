/** Keeps a running server's view of its data current, and tells what is not ready. */
import type { Callgate } from '../compose.js'
import { formatInstant } from '../domain/clock.js'
import type { Country } from '../domain/place.js'
import type { Readiness, ReadinessCheck } from '../http/ops.js'
import { ClockReport, clockReadiness } from './clock-watch.js'
import { ageRemarks, ListAgeNews, listAgesNow, missingLists } from './list-age-watch.js'

const lookEveryMs = 1_000

/**
 * Looks every second for lists and prefixes that another process has imported and for rows it has
 * written, and drops what was kept of the old; also tells which lists become too old. Gives the
 * function that ends it.
 */
export function watchData(callgate: Callgate): () => void {
  reportData(callgate)
  reportFacts(callgate)
  callgate.metrics.listAges(() => listAgesNow(callgate))
  const ages = new ListAgeNews(callgate)
  ages.look()
  const clock = new ClockReport(callgate)
  void clock.look()
  let looking = false
  const timer = setInterval(() => {
    if (looking) return
    looking = true
    void Promise.all([look(callgate), clock.look()]).finally(() => {
      ages.look()
      looking = false
    })
  }, lookEveryMs)
  timer.unref()
  return () => clearInterval(timer)
}

/**
 * Each is looked at whatever became of the others, or one damaged file would hide a new list.
 * Large lists are read in pieces, so that decisions go on meanwhile. Never rejects.
 */
export async function look(callgate: Callgate): Promise<void> {
  const { data, storage, changes, world } = callgate
  const changed = async (what: string, probe: () => boolean | Promise<boolean>) => {
    try {
      return await probe()
    } catch (cause) {
      world.log.error(`${what} could not be read; what was there stays in use`, { err: cause })
      return false
    }
  }
  const rows = await changed('rows of other processes', () => storage.changedElsewhere())
  if (rows) changes.everythingChanged()
  const prefixes = await changed('new prefixes', () => data.plan.reloadIfChanged())
  if (await changed('new facts', () => data.facts.refresh())) reportFacts(callgate)
  const lists = await changed('new lists', () => data.lists.refreshInBackground())
  if (!lists && !prefixes) return
  changes.everythingChanged()
  reportData(callgate)
}

function reportFacts({ data, metrics, world }: Callgate): void {
  metrics.facts(data.facts.all())
  for (const { feed, path, detail, olderInUse } of data.facts.problems()) {
    world.log.error('imported facts cannot be used', { feed, path, detail, olderInUse })
  }
}

function reportData({ data, metrics, world }: Callgate): void {
  metrics.lists(data.lists.all().map(({ name, size, asOf }) => ({ name, entries: size, asOf })))
  for (const { path, detail, olderInUse } of data.lists.problems()) {
    world.log.error('a list cannot be used', { path, detail, olderInUse })
  }
  for (const [country, coverage] of Object.entries(data.plan.coverage())) {
    const { mode, prefixes, asOf } = coverage
    metrics.areaCodeMode(country as Country, mode === 'area-code')
    const day = asOf === undefined ? undefined : formatInstant(asOf)
    const fields = { country, mode, prefixes, asOf: day }
    if (mode === 'imported') world.log.info('prefixes are known', fields)
    else world.log.warn('prefixes are not imported (callgate import numbering)', fields)
  }
}

/** A missing list is no fault of the program, but its numbers are blocked where we scrub. */
function missingRemark(callgate: Callgate): string {
  const missing = missingLists(callgate)
  return missing.length > 0
    ? `; not imported, so real accounts are blocked: ${missing.join(', ')}`
    : ''
}

/**
 * A list that is too old is as good as a missing one: real accounts are blocked and the program
 * works, so it is told and is no reason to send calls elsewhere.
 */
function listReadiness(callgate: Callgate): Readiness {
  const { lists } = callgate.data
  const problems = lists.problems()
  if (problems.length > 0) {
    const details = problems.map(({ detail }) => detail).join('; ')
    return { ready: false, detail: `${details}${ageRemarks(callgate)}` }
  }
  const names = lists
    .all()
    .map(({ name, version, asOf }) => `${name} ${version} as of ${formatInstant(asOf)}`)
  const remarks = ageRemarks(callgate) + missingRemark(callgate)
  return { ready: true, detail: `${names.join(', ') || 'none'}${remarks}` }
}

/** What `/readyz` asks: a list that cannot be read and a record that cannot be written are faults. */
export function dataReadiness(callgate: Callgate): readonly ReadinessCheck[] {
  const { data, journal, storage } = callgate
  return [
    {
      name: 'records',
      check: () =>
        journal.healthy
          ? { ready: true }
          : { ready: false, detail: 'the last decisions could not be written to disk' },
    },
    {
      name: 'database',
      check: async () => {
        await storage.db.selectFrom('accounts').select('id').limit(1).execute()
        return { ready: true }
      },
    },
    { name: 'clock', check: () => clockReadiness(callgate) },
    {
      name: 'lists',
      check: () => listReadiness(callgate),
    },
    {
      name: 'facts',
      check: () => {
        const problems = data.facts.problems()
        const feeds = data.facts
          .all()
          .map(({ name, asOf }) => `${name} as of ${formatInstant(asOf)}`)
        // No call waits for them: what they cannot say is told as unknown.
        const details = [...feeds, ...problems.map(({ detail }) => `not usable: ${detail}`)]
        return { ready: true, detail: details.join(', ') || 'none' }
      },
    },
    {
      name: 'numbering',
      check: () => {
        const modes = Object.entries(data.plan.coverage()).map(
          ([country, { mode, prefixes }]) => `${country} ${mode} (${prefixes} prefixes)`,
        )
        return { ready: true, detail: modes.join(', ') }
      },
    },
  ]
}
