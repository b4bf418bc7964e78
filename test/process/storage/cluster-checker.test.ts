/**
 * Three servers over one PostgreSQL and an edge, random opt-outs, consents, scans and decisions, and faults meanwhile: a
 * line that is held up, cut or passes one way, a server that is killed or frozen or whose clock is set, PostgreSQL paused,
 * all its connections ended, its primary killed, or only the news of changes held up. Then what the callers saw is compared
 * with the promise. The long form does a thousand rounds, and must find each of five bugs that are planted on purpose.
 */
import { expect, it } from 'vitest'
import { openCluster } from '../../support/cluster.js'
import { shortOrLong } from '../../support/long.js'
import { Checker, needsConsent, randomFrom } from '../../support/opt-out-checker.js'
import { findForbiddenAllows } from '../../support/opt-out-history.js'
import { plantProgram } from '../../support/planted-program.js'
import { openScanReceiver } from '../../support/scan-receiver.js'

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)

interface Checked {
  /** What breaks the promise; `undefined` if nothing did. */
  readonly broken: string | undefined
  readonly counts: { readonly allows: number; readonly byConsent: number; readonly scans: number }
}

async function check(rounds: number, program?: string): Promise<Checked> {
  const cluster = await openCluster({
    count: 3,
    hasEdge: true,
    ...(program !== undefined && { program }),
  })
  const receiver = await openScanReceiver()
  const checker = new Checker(cluster, receiver, randomFrom(seed))
  const counts = { decisions: 0, allows: 0, byConsent: 0, forbidding: 0, permitting: 0, scans: 0 }
  let broken: string | undefined
  let round = 0
  try {
    while (round < rounds && broken === undefined) {
      broken = await checker.runRound(round).catch(String)
      const [forbidden] = findForbiddenAllows(checker.history)
      if (forbidden) broken ??= JSON.stringify(forbidden)
      for (const one of checker.history) {
        if (one.kind === 'decision') counts.decisions += 1
        if (one.kind === 'decision' && one.isAllowed) counts.allows += 1
        if (one.kind === 'decision' && one.isAllowed && needsConsent(one.number))
          counts.byConsent += 1
        if (one.kind === 'forbid') counts.forbidding += 1
        if (one.kind === 'permit') counts.permitting += 1
      }
      counts.scans += checker.scans.length
      round += 1
      if (broken !== undefined) process.stdout.write(`checker: round ${round}: ${broken}\n`)
    }
  } finally {
    await cluster.close()
    await receiver.close()
  }
  const lastFaults = checker.faults.slice(-2).join(', ')
  process.stdout.write(
    `checker: seed ${seed}, ${round} rounds, ${JSON.stringify(counts)}, last: ${lastFaults}; ${broken ?? 'nothing broken'}\n`,
  )
  return { broken, counts }
}

it('no server gives an allow that an opt-out acknowledged by another a second ago forbids, and none is lost', {
  timeout: shortOrLong(600_000, 10_800_000),
}, async () => {
  const { broken, counts } = await check(shortOrLong(6, 1_000))
  expect(broken).toBeUndefined()
  expect(counts.allows).toBeGreaterThan(50)
  expect(counts.byConsent).toBeGreaterThan(0)
  expect(counts.scans).toBeGreaterThan(0)
})

/** Each of them would break the promise. */
const plantedBugs: Readonly<
  Record<string, readonly [file: string, text: string, instead: string]>
> = {
  'changes are not passed on': [
    'storage/postgres/postgres-feed.js',
    'await observer.numbersChanged(',
    'await Promise.resolve(',
  ],
  'a change does not name all of its numbers': [
    'storage/change-head.js',
    "numbers.join(',')",
    "numbers.slice(1).join(',')",
  ],
  'what is cached is kept over a reconnection': [
    'storage/postgres/postgres-feed.js',
    'await observer.everythingChanged();\n            return connection',
    'return connection',
  ],
  'an allow leaves however old the knowledge is': [
    'gate/gate.js',
    'return computeAgeMs(currentAt, reading) <= maxAgeMs;',
    'return true;',
  ],
  'a write that failed is acknowledged': [
    'service/sql/account-transaction.js',
    'return await retryWhileLocked(once);',
    'return await retryWhileLocked(once).catch(() => ({}));',
  ],
}

const bugs = shortOrLong(0, 1) === 1 ? Object.keys(plantedBugs) : []
it.each(bugs)('finds the planted bug: %s', { timeout: 3_600_000 }, async (bug) => {
  const [file, text, instead] = plantedBugs[bug] ?? ['', '', '']
  const planted = plantProgram(file, text, instead)
  try {
    expect((await check(100, planted.program)).broken).toBeDefined()
  } finally {
    planted.remove()
  }
})
