/** What keys are given within their limits, also when two servers are asked at the same time. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AttemptLimits } from '../../src/domain/mandate.js'
import { Attempts } from '../../src/service/accounts/attempts.js'
import { openDatabase } from '../../src/storage/engine.js'
import type { OpenDatabase } from '../../src/storage/open-database.js'
import { useDatabase } from '../support/database.js'
import { engineOf } from '../support/test-engine.js'

const database = useDatabase()
let elsewhere: OpenDatabase

beforeEach(async () => {
  elsewhere = await openDatabase({
    ...engineOf(database.folder),
    lockWaitMs: 5_000,
    blockForLockMs: 0,
    dataDir: database.folder,
  })
  const { db } = database.storage
  const account = { kind: 'real', name: '', agents_may_remove: 0, created_at: 0 } as const
  await db
    .insertInto('accounts')
    .values({ id: 'main', ...account })
    .execute()
  await db
    .insertInto('api_keys')
    .values({
      id: 'key-1',
      account_id: 'main',
      key_hash: '',
      label: '',
      role: 'Agent',
      created_at: 0,
    })
    .execute()
})

afterEach(() => elsewhere.close())

const start = Date.UTC(2026, 10, 23, 17)
const hour = 3_600_000
const number = '2125550100'
let ids = 0

function take(limits: AttemptLimits, at: number, { to = number, on = database.storage } = {}) {
  ids += 1
  const attempt = { decisionId: `d${ids}`, keyId: 'key-1', accountId: 'main', number: to, at }
  return new Attempts(on).take(attempt, limits)
}

describe('a limit on attempts', () => {
  it('is not passed by questions on two servers at the same time', async () => {
    const takings = Array.from({ length: 30 }, (_, index) =>
      take({ attemptsPerHour: 7 }, start + index, {
        on: index % 2 === 0 ? database.storage : elsewhere,
        to: `21255501${index + 10}`,
      }),
    )
    const results = await Promise.all(takings)
    expect(results.filter(({ refused }) => refused === undefined)).toHaveLength(7)
    const { n } = await database.storage.db
      .selectFrom('attempts')
      .select(({ fn }) => fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow()
    expect(Number(n)).toBe(7)
  })

  it('is that of the last hour and the last 24 hours, and says when there is room', async () => {
    const limits = { attemptsPerHour: 2, attemptsPerDay: 3 }
    expect(await take(limits, start)).toEqual({ remaining: { hour: 1, day: 2 } })
    expect(await take(limits, start + 1_000)).toEqual({ remaining: { hour: 0, day: 1 } })
    expect(await take(limits, start + 2_000)).toEqual({
      refused: { reason: 'key-attempts', detail: '2 in an hour', opensAt: start + hour },
    })
    expect(await take(limits, start + hour)).toEqual({ remaining: { hour: 0, day: 0 } })
    expect(await take(limits, start + 3 * hour)).toEqual({
      refused: { reason: 'key-attempts', detail: '3 in 24 hours', opensAt: start + 24 * hour },
    })
    expect(await take(limits, start + 24 * hour)).toMatchObject({ remaining: { day: 0 } })
  })

  it('of one number has its own count and cool-down', async () => {
    const limits = { attemptsPerNumberPerDay: 2, coolDownSeconds: 600 }
    expect(await take(limits, start)).toMatchObject({ remaining: {} })
    expect(await take(limits, start + 599_999)).toMatchObject({
      refused: { reason: 'key-cool-down', opensAt: start + 600_000 },
    })
    expect(await take(limits, start + 1, { to: '2125550101' })).toMatchObject({ remaining: {} })
    expect(await take(limits, start + 600_000)).toMatchObject({ remaining: {} })
    expect(await take(limits, start + 2 * hour)).toMatchObject({
      refused: { reason: 'key-attempts', opensAt: start + 24 * hour },
    })
  })

  it('on calls in progress ends with a call, or two hours after it', async () => {
    const limits = { concurrent: 1 }
    expect(await take(limits, start)).toMatchObject({ remaining: {} })
    const first = `d${ids}`
    expect(await take(limits, start + 1)).toMatchObject({ refused: { reason: 'key-concurrent' } })
    await new Attempts(elsewhere).end(first, start + 2)
    expect(await take(limits, start + 3)).toMatchObject({ remaining: {} })
    expect(await take(limits, start + 2 * hour)).toMatchObject({ refused: {} })
    expect(await take(limits, start + 2 * hour + 3)).toMatchObject({ remaining: {} })
  })

  it('gives back what is released', async () => {
    const limits = { attemptsPerHour: 1 }
    expect(await take(limits, start)).toMatchObject({ remaining: { hour: 0 } })
    await new Attempts(elsewhere).release(`d${ids}`)
    expect(await take(limits, start + 1)).toMatchObject({ remaining: { hour: 0 } })
  })

  it('counts attempts of a clock that was ahead', async () => {
    expect(await take({ attemptsPerHour: 1 }, start + 10 * hour)).toMatchObject({ remaining: {} })
    expect(await take({ attemptsPerHour: 1 }, start)).toMatchObject({ refused: {} })
  })

  it('is forgotten after the longest cool-down', async () => {
    await take({ attemptsPerHour: 1 }, start)
    await new Attempts(database.storage).deleteOld(start + 7 * 24 * hour)
    expect(await take({ coolDownSeconds: 604_800 }, start + 1)).toMatchObject({ refused: {} })
    await new Attempts(database.storage).deleteOld(start + 7 * 24 * hour + 1)
    expect(await take({ coolDownSeconds: 604_800 }, start + 1)).toMatchObject({ remaining: {} })
  })
})
