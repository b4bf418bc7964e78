/** An account as a row: what is stored of it, and what may be. */
import type { Selectable, Updateable } from 'kysely'
import { mostScrubNumbers, publishedScrubNumbers } from '../../domain/caller.js'
import { invalidRequest } from '../../errors.js'
import type { AccountRow, Db } from '../../storage/tables.js'
import type { Account, AccountSwitches } from './accounts.js'

const mostCredits = 1_000_000_000

export function accountOf(row: Selectable<AccountRow>): Account {
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    agentsMayRemove: row.agents_may_remove === 1,
    repeatedAdd: row.ignores_repeated_add === 1 ? 'ignored' : 'ends-consent',
    country: row.country,
    mayScan: row.may_scan === 1,
    scanCredits: row.scan_credits ?? 'unlimited',
    autoPrefix: row.auto_prefix === 1,
    numbersPerScrub: row.numbers_per_scrub ?? publishedScrubNumbers,
    aiKeepsVoiceWindows: row.ai_keeps_voice_windows === 1,
    createdAt: row.created_at,
  }
}

/** The account as it stands in `db`, which may be a transaction. */
export async function findAccount(db: Db, id: string): Promise<Account | undefined> {
  const row = await db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst()
  return row && accountOf(row)
}

/** The columns of what is named. Throws `invalid-request` for a number that is out of its bounds. */
export function rowOf(changes: Partial<AccountSwitches>): Updateable<AccountRow> {
  const { repeatedAdd, scanCredits, numbersPerScrub } = changes
  const columns: { [Column in keyof AccountRow]?: Updateable<AccountRow>[Column] | undefined } = {
    agents_may_remove: bitOf(changes.agentsMayRemove),
    ignores_repeated_add: bitOf(repeatedAdd && repeatedAdd === 'ignored'),
    country: changes.country,
    may_scan: bitOf(changes.mayScan),
    scan_credits: scanCredits === undefined ? undefined : creditsOf(scanCredits),
    auto_prefix: bitOf(changes.autoPrefix),
    numbers_per_scrub: numbersPerScrub === undefined ? undefined : scrubNumbersOf(numbersPerScrub),
    ai_keeps_voice_windows: bitOf(changes.aiKeepsVoiceWindows),
  }
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined))
}

function bitOf(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value)
}

function creditsOf(credits: number | 'unlimited'): number | null {
  if (credits === 'unlimited') return null
  if (Number.isInteger(credits) && credits >= 0 && credits <= mostCredits) return credits
  const rule = `must be a whole number up to ${mostCredits}, or unlimited`
  throw invalidRequest([{ field: 'scanCredits', value: String(credits), rule }])
}

/** Never below what is published: a client that keeps to that must not be refused. */
function scrubNumbersOf(numbers: number): number | null {
  if (numbers === publishedScrubNumbers) return null
  const inBounds = numbers > publishedScrubNumbers && numbers <= mostScrubNumbers
  if (Number.isInteger(numbers) && inBounds) return numbers
  const rule = `must be a whole number from ${publishedScrubNumbers} to ${mostScrubNumbers}`
  throw invalidRequest([{ field: 'numbersPerScrub', value: String(numbers), rule }])
}
