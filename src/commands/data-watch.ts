/** Keeps a running server's view of its data current, and tells what is not ready. */
import type { Callgate } from '../compose.js'
import type { Country } from '../domain/place.js'
import type { ReadinessCheck } from '../http/ops.js'

const lookEveryMs = 1_000

/**
 * Looks every second for lists and prefixes that another process has imported and for rows it has
 * written, and drops what was kept of the old. Gives the function that ends it.
 */
export function watchData(callgate: Callgate): () => void {
  reportData(callgate)
  const timer = setInterval(() => look(callgate), lookEveryMs)
  timer.unref()
  return () => clearInterval(timer)
}

function look(callgate: Callgate): void {
  const { data, storage, changes, world } = callgate
  try {
    const lists = data.lists.refresh()
    const prefixes = data.plan.reloadIfChanged()
    const rows = storage.changedElsewhere()
    if (lists || prefixes || rows) changes.everythingChanged()
    if (lists || prefixes) reportData(callgate)
  } catch (cause) {
    world.log.error('new data could not be read; the old data stays in use', { err: cause })
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
    const fields = { country, mode, prefixes, asOf }
    if (mode === 'imported') world.log.info('prefixes are known', fields)
    else world.log.warn('prefixes are not imported (callgate import numbering)', fields)
  }
}

/** What `/readyz` asks: a list that cannot be read and a record that cannot be written are faults. */
export function dataReadiness({ data, journal, storage }: Callgate): readonly ReadinessCheck[] {
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
        const names = data.lists.all().map(({ name, version }) => `${name} ${version}`)
        return problems.length === 0
          ? { ready: true, detail: names.length > 0 ? names.join(', ') : 'none imported' }
          : { ready: false, detail: problems.map(({ detail }) => detail).join('; ') }
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
