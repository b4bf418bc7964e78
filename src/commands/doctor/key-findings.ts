/** Keys that expire, accounts that have no key left for their calls, and what a person has paused. */
import { sandboxAccountId } from '../../domain/caller.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant, msPerDay } from '../../domain/time/dates.js'
import type { Db } from '../../storage/tables.js'
import type { HealthFinding } from './finding.js'

const keyExpiryMs = 7 * msPerDay
/** An account that has asked for nothing for longer is taken to be out of use. */
const keyUseMs = 30 * msPerDay

/** An expired key is reported until it is revoked. */
export async function findKeyFindings(db: Db, now: Instant): Promise<readonly HealthFinding[]> {
  const keys = await db
    .selectFrom('api_keys')
    .select(['id', 'label', 'account_id', 'expires_at'])
    .where('revoked_at', 'is', null)
    .where('expires_at', '<', now + keyExpiryMs)
    .orderBy('expires_at')
    .execute()
  return keys.map(({ id, label, account_id: account, expires_at: at }) => {
    const isExpired = (at ?? 0) <= now
    const verb = isExpired ? 'expired' : 'expires'
    const problem = `key ${id} (${label}) of account ${account} ${verb} at ${formatInstant(at ?? 0)}`
    const create = `callgate keys create --account ${account}`
    const fix = `${create}, then: callgate keys revoke ${id}`
    return { level: isExpired ? 'now' : 'soon', subject: 'keys', account, problem, fix }
  })
}

/** Accounts that asked for decisions lately and have no key left that may. */
export async function findKeylessAccounts(db: Db, now: Instant): Promise<readonly HealthFinding[]> {
  const inForce = db
    .selectFrom('api_keys')
    .select('account_id')
    .where('revoked_at', 'is', null)
    .where('rights', 'like', '%decide%')
    .where((row) => row.or([row('expires_at', 'is', null), row('expires_at', '>', now)]))
    .where((row) => row.or([row('not_before', 'is', null), row('not_before', '<=', now)]))
  const rows = await db
    .selectFrom('key_uses')
    .innerJoin('api_keys', 'api_keys.id', 'key_uses.key_id')
    .leftJoin('key_versions', 'key_versions.key_id', 'key_uses.key_id')
    .select('account_id')
    .distinct()
    .where('used_at', '>', now - keyUseMs)
    .where((row) => row.or([row('rights', 'like', '%decide%'), row('limits', 'like', '%decide%')]))
    .where('account_id', '!=', sandboxAccountId)
    .where('account_id', 'not in', inForce)
    .orderBy('account_id')
    .execute()
  return rows.map(({ account_id: account }) => {
    const problem = `account ${account}: none of its keys in force has the right decide, so each of its requests for a decision is refused`
    const fix = `callgate keys create --account ${account} --can decide --label <dialer>`
    return { level: 'now', subject: 'keys', account, problem, fix }
  })
}

/** Pauses of calls, and checks that only report for an account. */
export async function findPauseFindings(db: Db): Promise<readonly HealthFinding[]> {
  const rows = await db
    .selectFrom('pauses')
    .leftJoin('api_keys', (join) =>
      join.on((row) => row('subject', '=', row(row.val('key:'), '||', row.ref('id')))),
    )
    .select(['subject', 'pauses.account_id', 'paused_at', 'paused_by', 'reason'])
    .where('revoked_at', 'is', null)
    // A country that an account does not call is a lasting choice, not a pause to end.
    .where('subject', 'not like', 'country:%')
    .orderBy('subject')
    .execute()
  return rows.map(({ subject, account_id: account, paused_at: at, paused_by: by, reason }) => {
    const { what, fix } = describePause(subject)
    const where = account === '' ? '' : `account ${account}: `
    const problem = `${where}${what} since ${formatInstant(at)} (${by}: ${reason})`
    return { level: 'note', subject: 'policy', ...(account && { account }), problem, fix }
  })
}

function describePause(subject: string): { readonly what: string; readonly fix: string } {
  const [kind, id = '', account = ''] = subject.split(':')
  if (kind === 'check') {
    const enforce = `callgate accounts enforce ${account} --check ${id}`
    return {
      what: `the check ${id} is in shadow and blocks nothing`,
      fix: `look at callgate report shadow, then: ${enforce}`,
    }
  }
  const resume = 'callgate keys resume'
  if (kind === 'key') return { what: `key ${id} is paused`, fix: `${resume} ${id}` }
  if (kind === 'agents')
    return { what: 'all keys for AI calls alone are paused', fix: `${resume} --agents-of ${id}` }
  const which = id === '' ? '--ai' : `--ai-of ${id}`
  return { what: 'all AI calls are paused', fix: `${resume} ${which}` }
}
