/** Keeps a running server's view of its data current, and tells what is not ready. */
import type { Callgate } from '../compose.js'
import { litigatorListName, nationalListNames } from '../data/number-list/list-names.js'
import type { ListStore } from '../data/number-list/list-store.js'
import { formatInstant } from '../domain/clock.js'
import type { Country } from '../domain/place.js'
import type { ReadinessCheck } from '../http/ops.js'

const lookEveryMs = 1_000

/**
 * Looks every second for lists and prefixes that another process has imported and for rows it has
 * written, and drops what was kept of the old. Gives the function that ends it.
 */
export function watchData(callgate: Callgate): () => void {
  reportData(callgate)
  reportFacts(callgate)
  let looking = false
  const timer = setInterval(() => {
    if (looking) return
    looking = true
    void look(callgate).finally(() => {
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

const expectedLists = [...Object.values(nationalListNames), litigatorListName]

/** A missing list is no fault of the program, but its numbers are blocked where we scrub. */
function missingLists(lists: ListStore, remote: Callgate['remote']): string {
  if (remote) return ''
  const missing = expectedLists.filter((name) => lists.get(name) === undefined)
  return missing.length > 0
    ? `; not imported, so real accounts are blocked: ${missing.join(', ')}`
    : ''
}

/** What `/readyz` asks: a list that cannot be read and a record that cannot be written are faults. */
export function dataReadiness({
  data,
  journal,
  storage,
  remote,
}: Callgate): readonly ReadinessCheck[] {
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
    {
      name: 'lists',
      check: () => {
        const problems = data.lists.problems()
        const names = data.lists
          .all()
          .map(({ name, version, asOf }) => `${name} ${version} as of ${formatInstant(asOf)}`)
        return problems.length === 0
          ? {
              ready: true,
              detail: `${names.join(', ') || 'none'}${missingLists(data.lists, remote)}`,
            }
          : { ready: false, detail: problems.map(({ detail }) => detail).join('; ') }
      },
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
