/**
 * What counting an attempt takes, in a database with few attempts and in one with many. The rest of a decision does not depend on
 * them, so decisions differ by less.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { loadCallingRules } from '../src/data/calling-rules/calling-rules-schema.js'
import type { Attempt } from '../src/domain/mandate.js'
import { Attempts } from '../src/service/accounts/attempts.js'
import { openDatabase } from '../src/storage/engine.js'
import { migrateSchema } from '../src/storage/migrate.js'
import type { OpenDatabase } from '../src/storage/open-database.js'
import { compare, figure } from './rounds.js'

const taken = 2_000
/** Calls that are counted at the same time, as on a busy server. */
const atOnce = 64
const dayMs = 86_400_000
const webhooks = { add: async () => '', wake: () => undefined }

export async function benchAttempts({
  small,
  full,
}: {
  readonly small: boolean
  readonly full: boolean
}): Promise<void> {
  const many = small ? 100_000 : full ? 10_000_000 : 1_000_000
  const folder = mkdtempSync(join(tmpdir(), 'callgate-bench-attempts-'))
  const [few, large] = [await open(join(folder, 'few')), await open(join(folder, 'many'))]
  try {
    await fill(large, many)
    const [base = 0, filled = 0] = await compare(
      'calls counted a second',
      [
        { name: 'no attempts before', run: () => count(few) },
        { name: `${many.toLocaleString('en-US')} attempts before`, run: () => count(large) },
      ],
      small ? 3 : 10,
    )
    process.stdout.write(`takes ${figure(base / filled)} times as long\n`)
  } finally {
    await few.close()
    await large.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function open(dataDir: string): Promise<OpenDatabase> {
  mkdirSync(dataDir)
  const storage = await openDatabase({
    dataDir,
    lockWaitMs: 10_000,
    blockForLockMs: 0,
    inThread: true,
  })
  await migrateSchema(storage)
  return storage
}

/** In the last 30 days, each number in Florida ten times. */
async function fill({ db }: OpenDatabase, rows: number): Promise<void> {
  const now = Date.now()
  const batch = 100_000
  for (let first = 0; first < rows; first += batch) {
    await sql`with recursive n (i) as (
        select ${first} union all select i + 1 from n where i < ${first + batch - 1})
      insert into attempts (decision_id, key_id, account_id, number, at, purpose)
      select printf('filled%d', i), '', 'main', printf('305%07d', 2000000 + i % ${rows / 10}),
        ${now} - (i * 7919) % ${30 * dayMs}, 'telemarketing' from n`.execute(db)
  }
  await sql`analyze`.execute(db)
}

let ids = 0

async function count(storage: OpenDatabase): Promise<number> {
  const attempts = new Attempts(storage, webhooks)
  const at = Date.now()
  const frequency = loadCallingRules('config/calling-rules.yaml').frequency.find(
    {
      callKind: 'manual',
      purpose: 'telemarketing',
      number: '3055550100',
      places: [],
      hasPermission: false,
    },
    at,
  )
  const counted: Attempt[] = Array.from({ length: taken }, () => {
    ids += 1
    const number = `305${2_000_000 + ids * 37}`
    return {
      decisionId: `bench${ids}`,
      keyId: '',
      accountId: 'main',
      call: { number, callKind: 'manual' },
      at,
    }
  })
  const began = performance.now()
  const lane = async () => {
    for (let next = counted.pop(); next; next = counted.pop()) {
      await attempts.take(next, { frequency, isShadowed: false })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return taken / ((performance.now() - began) / 1000)
}
