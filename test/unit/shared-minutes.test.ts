/** Limits that several servers share: what each admits, together and without the database. */
import { describe, expect, test } from 'vitest'
import { AppError } from '../../src/errors.js'
import { SharedMinutes, type TakeShared } from '../../src/http/limits/shared-minutes.js'
import { virtualTime } from '../support/virtual-time.js'

/** Servers over one table, with how often they asked it, and what it does instead of answering. */
function openServers(count: number) {
  const time = virtualTime()
  const table = new Map<string, number>()
  const database = { asked: 0, instead: undefined as (() => Promise<number>) | undefined }
  const take: TakeShared = async ({ key, limit }, amount) => {
    database.asked += 1
    if (database.instead) return await database.instead()
    const before = table.get(key) ?? 0
    const taken = Math.min(amount, Math.max(0, limit - before))
    table.set(key, before + taken)
    return taken
  }
  const servers = Array.from(
    { length: count },
    () => new SharedMinutes({ clock: time, timers: time, take }),
  )
  const admit = async (server: number, most: number, amount = 1, key = 'scrub main') =>
    (await servers[server]?.take(key, most, amount))?.retryAfterSeconds === undefined
  return { time, table, database, servers, admit }
}

const countTrue = (all: readonly boolean[]) => all.filter(Boolean).length

describe('in a minute', () => {
  test.each([1, 2, 19, 20, 21, 100, 119, 1_000])(
    'of %i, three servers admit all and no more',
    async (most) => {
      const { admit } = openServers(3)
      const admitted = await Promise.all(
        Array.from({ length: 3 * most + 30 }, (_, index) => admit(index % 3, most)),
      )
      expect(countTrue(admitted)).toBe(most)
    },
  )

  test('random amounts on random servers are never more than the limit', async () => {
    const most = 5_000
    const { admit } = openServers(4)
    let sum = 0
    for (let round = 0; round < 400; round += 1) {
      const requests = Array.from({ length: 5 }, (_, index) => ({
        amount: 1 + ((round * 7919 + index * 104_729) % 60),
        server: (round * 31 + index) % 4,
      }))
      await Promise.all(
        requests.map(async ({ server, amount }) => {
          if (await admit(server, most, amount)) sum += amount
        }),
      )
    }
    expect(sum).toBeLessThanOrEqual(most)
    // Each may be left with less than what was wanted last.
    expect(sum).toBeGreaterThan(most - 4 * 60)
  })

  test('the database is asked once for a twentieth', async () => {
    const { admit, database } = openServers(1)
    for (let sent = 0; sent < 1_000; sent += 1) expect(await admit(0, 1_000)).toBe(true)
    expect(database.asked).toBe(20)
    for (let sent = 0; sent < 100; sent += 1) expect(await admit(0, 1_000)).toBe(false)
    expect(database.asked).toBe(20)
  })

  test('a server that has none left asks once more at most', async () => {
    const { admit, database } = openServers(2)
    for (let sent = 0; sent < 100; sent += 1) await admit(0, 100)
    const before = database.asked
    for (let sent = 0; sent < 100; sent += 1) expect(await admit(1, 100)).toBe(false)
    expect(database.asked).toBe(before + 1)
  })

  test('more than the limit is refused, and takes nothing', async () => {
    const { admit, table } = openServers(1)
    expect(await admit(0, 10, 11)).toBe(false)
    expect(table.size).toBe(0)
    expect(await admit(0, 10, 10)).toBe(true)
  })

  test('accounts do not share', async () => {
    const { admit } = openServers(1)
    expect(await admit(0, 1, 1, 'scrub main')).toBe(true)
    expect(await admit(0, 1, 1, 'scrub other')).toBe(true)
    expect(await admit(0, 1, 1, 'scrub main')).toBe(false)
  })
})

test('the next minute has the whole limit again, as the refusal said', async () => {
  const { servers, time } = openServers(2)
  const [here, there] = servers
  await time.advance(17_500)
  expect(await here?.take('scrub main', 2)).toEqual({ left: 1 })
  expect(await there?.take('scrub main', 2)).toEqual({ left: 1 })
  expect(await there?.take('scrub main', 2)).toEqual({ retryAfterSeconds: 43, left: 0 })
  await time.advance(42_499)
  expect(await here?.take('scrub main', 2)).toEqual({ retryAfterSeconds: 1, left: 0 })
  await time.advance(1)
  expect(await here?.take('scrub main', 2)).toEqual({ left: 1 })
})

describe('without the database', () => {
  test('the last share is used up, and then requests are refused until it answers', async () => {
    const { admit, database } = openServers(1)
    expect(await admit(0, 100)).toBe(true)
    database.instead = () => Promise.reject(new AppError('not-available', 'away'))
    for (let sent = 0; sent < 4; sent += 1) expect(await admit(0, 100)).toBe(true)
    for (let sent = 0; sent < 4; sent += 1) await expect(admit(0, 100)).rejects.toThrow('away')
    database.instead = undefined
    expect(await admit(0, 100)).toBe(true)
  })

  test('nobody waits longer than a second, and what it grants later admits nothing', async () => {
    const { admit, database, time } = openServers(1)
    let grant: (taken: number) => void = () => undefined
    database.instead = () =>
      new Promise((resolve) => {
        grant = resolve
      })
    const waiting = Promise.allSettled([admit(0, 100), admit(0, 100)])
    await time.advance(1_000)
    for (const one of await waiting) {
      expect(one).toMatchObject({ reason: { kind: 'not-available', retryAfterSeconds: 1 } })
    }
    grant(5)
    database.instead = () => Promise.resolve(0)
    expect(await admit(0, 100)).toBe(false)
  })
})
