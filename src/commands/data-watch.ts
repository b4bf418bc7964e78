/** Keeps a running server's view of its data current, and tells what is not ready. */
import type { Callgate } from '../compose.js'
import { formatInstant } from '../domain/clock.js'
import type { Country } from '../domain/place.js'
import type { Readiness, ReadinessCheck } from '../http/ops.js'
import { callReadiness } from './call-readiness.js'
import { ClockReport, clockReadiness } from './clock-watch.js'
import { ageRemarks, ListAgeNews, listAgesNow, missingLists } from './list-age-watch.js'
import { WriteProbe } from './write-probe.js'

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
  const tellFault = faultTeller(callgate)
  const clock = new ClockReport(callgate)
  void clock.look()
  let looking = false
  const timer = setInterval(() => {
    tellFault()
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

/** Logs what is wrong with the database once, and when it is over. */
function faultTeller({ storage, world: { log } }: Callgate): () => void {
  let told: string | undefined
  return () => {
    const fault = storage.fault()
    if (fault === told) return
    told = fault
    if (fault === undefined) log.info('the database can be relied on again')
    else log.error('the database cannot be relied on; no call is allowed', { detail: fault })
  }
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
  for (const { path, detail, olderInUse, blocked } of data.plan.problems()) {
    world.log.error('a numbering file cannot be used', { path, detail, olderInUse, blocked })
  }
  for (const [country, coverage] of Object.entries(data.plan.coverage())) {
    const { mode, prefixes, asOf } = coverage
    metrics.areaCodeMode(country as Country, mode === 'area-code')
    const day = asOf === undefined ? undefined : formatInstant(asOf)
    const fields = { country, mode, prefixes, asOf: day }
    if (mode === 'imported') world.log.info('prefixes are known', fields)
    else if (mode === 'damaged') world.log.error('prefixes are unknown, calls are blocked', fields)
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

/** A damaged file is a fault also while what was read before it is still in use. */
function numberingReadiness({ data: { plan } }: Callgate): Readiness {
  const modes = Object.entries(plan.coverage()).map(
    ([country, { mode, prefixes }]) => `${country} ${mode} (${prefixes} prefixes)`,
  )
  const problems = plan.problems().map(({ detail, olderInUse, blocked }) => {
    if (olderInUse) return `${detail}; what was read before is in use`
    return blocked.length > 0 ? `${detail}; calls to ${blocked.join(', ')} are blocked` : detail
  })
  const ready = problems.length === 0
  const advice = ready ? [] : ['import it again (callgate import numbering, blocks or ocn)']
  return { ready, detail: [...problems, ...advice, modes.join(', ')].join('; ') }
}

/** What `/readyz` asks: a list that cannot be read and a record that cannot be written are faults. */
export function dataReadiness(callgate: Callgate): readonly ReadinessCheck[] {
  const { data, journal, storage } = callgate
  const writes = new WriteProbe(storage)
  return [
    {
      name: 'records',
      check: () => {
        const problem = journal.problem()
        return { ready: problem === undefined, detail: problem }
      },
    },
    {
      name: 'database',
      check: () => writes.readiness(),
    },
    {
      name: 'calls',
      check: callReadiness(callgate),
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
      check: () => numberingReadiness(callgate),
    },
  ]
}
