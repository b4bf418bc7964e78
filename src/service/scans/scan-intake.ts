/** Writes new scan jobs: what they cost, and their numbers. */
import type { Instant } from '../../domain/clock.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { yieldToEventLoop } from '../../domain/slices.js'
import { AppError } from '../../errors.js'
import type { EngineTraits } from '../../storage/engine.js'
import type { Db } from '../../storage/tables.js'
import { chunksOf } from '../sql/chunks.js'
import type { ScanType } from './scan-result.js'

export interface NewScan {
  readonly id: string
  readonly accountId: string
  readonly scanType: ScanType
  readonly notificationUrl: string
  readonly notificationKey: string | undefined
  readonly numbers: readonly PhoneNumber[]
  readonly createdAt: Instant
}

/** Refuses an account that may not scan (spec, OneTimeScan); gives its credits, `null` for no limit. */
export async function scanCredits(db: Db, accountId: string): Promise<number | null> {
  const account = await db
    .selectFrom('accounts')
    .select(['may_scan', 'scan_credits'])
    .where('id', '=', accountId)
    .executeTakeFirst()
  if (account?.may_scan === 1) return account.scan_credits
  throw new AppError('forbidden', 'the account is not authorized for one-time scans')
}

/** Takes the credits and writes the job, both or nothing, when `transaction` ends. */
export async function insertScan(
  transaction: Db,
  scan: NewScan,
  traits: Pick<EngineTraits, 'maxParameters'>,
): Promise<void> {
  const { id, accountId, numbers, createdAt } = scan
  const creditsTaken = await takeCredits(transaction, accountId, numbers.length)
  await transaction
    .insertInto('scan_jobs')
    .values({
      ...{ id, account_id: accountId, status: 'Submitted', scan_type: scan.scanType },
      notification_url: scan.notificationUrl,
      notification_key: scan.notificationKey ?? null,
      ...{ phone_count: numbers.length, processed_count: 0, credits_taken: creditsTaken },
      ...{ idle_passes: 0, due_at: createdAt, created_at: createdAt },
    })
    .execute()
  const rows = numbers.map((number, position) => ({ job_id: id, position, number }))
  for (const chunk of chunksOf(rows, traits, 3)) {
    await yieldToEventLoop()
    await transaction.insertInto('scan_numbers').values(chunk).execute()
  }
}

async function takeCredits(transaction: Db, accountId: string, wanted: number): Promise<number> {
  const credits = await scanCredits(transaction, accountId)
  if (credits === null) return 0
  if (credits < wanted) {
    const had = `the scan needs ${wanted}, the account has ${Math.max(0, credits)}`
    throw new AppError('forbidden', `insufficient credits: ${had}`)
  }
  await transaction
    .updateTable('accounts')
    .set({ scan_credits: credits - wanted })
    .where('id', '=', accountId)
    .execute()
  return wanted
}
