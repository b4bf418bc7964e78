/** Findings about voice platforms: unclear opt-outs that wait for a person, and platforms that send no events or words. */
import type { Instant } from '../../domain/time/clock.js'
import { readPlatformFigures } from '../../service/platform-events/platform-figures.js'
import { readHeldNumbers } from '../../storage/platform-events/held-numbers.js'
import type { Db } from '../../storage/tables.js'
import type { HealthFinding } from './finding.js'

/** */
export async function findPlatformFindings(
  db: Db,
  now: Instant,
): Promise<readonly HealthFinding[]> {
  return [...(await findUnclear(db)), ...(await findDeaf(db, now))]
}

async function findUnclear(db: Db): Promise<readonly HealthFinding[]> {
  const rows = await db
    .selectFrom('unclear_opt_outs')
    .select(['account_id', (row) => row.fn.countAll().as('count')])
    .where('resolved_at', 'is', null)
    .groupBy('account_id')
    .orderBy('account_id')
    .execute()
  const held = await readHeldNumbers(db)
  return rows.map(({ account_id: account, count }) => {
    const numbers = new Set(
      held.flatMap(({ accountId, number }) => (accountId === account ? [number] : [])),
    ).size
    const holds = numbers === 0 ? '' : `; numbers blocked until then: ${numbers}`
    const problem = `account ${account}: unclear opt-outs that wait for a person to confirm or dismiss them: ${count}${holds}`
    const fix = `callgate opt-outs list --unclear --account ${account}, then confirm or dismiss them on the console page Opt-outs, Unclear`
    return { level: 'soon', subject: 'opt-outs', account, problem, fix }
  })
}

async function findDeaf(db: Db, now: Instant): Promise<readonly HealthFinding[]> {
  const figures = await readPlatformFigures(db, now)
  return figures.flatMap(({ accountId: account, platform, problem, canFetch }) => {
    const found: HealthFinding[] = []
    const about = { subject: 'platforms', account }
    if (problem !== undefined) {
      const fix = `check that ${platform} sends its events to the proxy and transcribes calls (docs/platforms.md)`
      found.push({
        level: 'soon',
        ...about,
        problem: `account ${account}: ${platform}: ${problem}`,
        fix,
      })
    }
    if (canFetch === false) {
      const lost = `account ${account}: the proxy cannot fetch the words of calls from ${platform}, so one lost event is one lost opt-out`
      const fix =
        'set CALLGATE_PLATFORM_READ_KEY of the proxy to a key that can read calls (docs/platforms.md)'
      found.push({ level: 'note', ...about, problem: lost, fix })
    }
    return found
  })
}
