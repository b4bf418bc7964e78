/** Whether unanswered calls ring as long as the calling rules want: by the dialplan of each Asterisk, and by what was reported. */
import { AriHttpClient, type AriServer } from '../../asterisk/ari/ari-http-client.js'
import { resolveAriServers } from '../../asterisk/ari/ari-servers.js'
import { resolveShippedFile } from '../../config/load.js'
import type { Settings } from '../../config/settings.js'
import { loadCallingRules } from '../../data/calling-rules/calling-rules-schema.js'
import type { Instant } from '../../domain/time/clock.js'
import type { Db } from '../../storage/tables.js'
import type { HealthFinding } from './finding.js'

const maxWaitMs = 2_000
/** In `config/asterisk/globals.conf`. */
const variable = 'CALLGATE_DIAL_SECONDS'

/** Of Asterisk servers that answer and have the recipes. What else is wrong, also with the files, is found elsewhere. */
export function findShortDialTimes(settings: Settings): Promise<readonly HealthFinding[]> {
  return findShortTimes(settings).catch(() => [])
}

async function findShortTimes(settings: Settings): Promise<readonly HealthFinding[]> {
  const { abandonment } = loadCallingRules(resolveShippedFile(settings.callingHours.rulesFile))
  const minSeconds = Math.max(0, ...abandonment.limits.map(({ ringMs = 0 }) => ringMs)) / 1_000
  const servers = resolveAriServers(settings.asterisk)
  const found = await Promise.all(
    servers.map(async (server): Promise<readonly HealthFinding[]> => {
      const seconds = await readDialSeconds(server).catch(() => undefined)
      if (seconds === undefined || seconds >= minSeconds) return []
      const problem = `${server.name}: ${variable} is ${seconds}, so unanswered calls are ended before they have rung for ${minSeconds} seconds`
      return [{ level: 'soon', subject: 'asterisk', problem, fix: ringFix(minSeconds) }]
    }),
  )
  return found.flat()
}

const ringFix = (seconds: number) =>
  `set it to ${seconds} or more in the [globals] of extensions.conf, and reload the dialplan`

async function readDialSeconds(server: AriServer): Promise<number | undefined> {
  const client = new AriHttpClient(server)
  try {
    const path = `/ari/asterisk/variable?variable=${variable}`
    const signal = AbortSignal.timeout(maxWaitMs)
    const { value } = JSON.parse(await client.request({ method: 'GET', path, signal })) as {
      readonly value?: unknown
    }
    const isNumber = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value.trim())
    return isNumber ? Number(value) : undefined
  } finally {
    client.destroy()
  }
}

/** In the current periods. */
export async function findEarlyDisconnects(
  db: Db,
  now: Instant,
): Promise<readonly HealthFinding[]> {
  const rows = await db
    .selectFrom('abandonment_counts')
    .select((row) => [
      'account_id',
      'campaign',
      row.fn.max('unanswered').as('unanswered'),
      row.fn.max('disconnected_early').as('early'),
    ])
    .where('period_end', '>', now)
    .where('disconnected_early', '>', 0)
    .groupBy(['account_id', 'campaign'])
    .orderBy('account_id')
    .orderBy('campaign')
    .execute()
  return rows.map(({ account_id: account, campaign, unanswered, early }) => ({
    level: 'note',
    subject: 'ring time',
    problem: `account ${account}, ${campaign}: of ${unanswered} unanswered calls, the caller ended ${early} too early`,
    fix: 'let the dialer ring for 15 seconds or four rings; callgate report abandonment shows the rules',
  }))
}
