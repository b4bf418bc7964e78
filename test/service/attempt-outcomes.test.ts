/** What becomes of an attempt when its call is reported, in whatever order and however often. */
import { describe, expect, it } from 'vitest'
import { AttemptOutcomes } from '../../src/service/accounts/attempt-outcomes.js'
import { Attempts } from '../../src/service/accounts/attempts.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()
const webhooks = { add: async () => '', wake: () => undefined }
const reservedAt = Date.UTC(2026, 10, 23, 17)
const number = '3055550100'

const attempt = { decisionId: 'd1', keyId: 'key-1', accountId: 'main', at: reservedAt, number }

async function reserve(): Promise<AttemptOutcomes> {
  const { number: called, ...rest } = attempt
  const call = { number: called, callKind: 'manual' } as const
  const limits = { frequency: [], isShadowed: false }
  await new Attempts(database.storage, webhooks).take({ ...rest, call }, limits)
  return new AttemptOutcomes(database.storage)
}

const read = async () => {
  const rows = await database.storage.db.selectFrom('attempts').selectAll().execute()
  return rows.map(({ at, reach, placed }) => ({
    after: Number(at) - reservedAt,
    reach,
    placed,
  }))
}

describe('an attempt', () => {
  it('counts from dialing, and never from earlier than before', async () => {
    const outcomes = await reserve()
    await outcomes.notePlaced(attempt, { dialedAt: reservedAt - 5_000 })
    expect(await read()).toEqual([{ after: 0, reach: null, placed: 1 }])
    await outcomes.notePlaced(attempt, { dialedAt: reservedAt + 9_000 })
    await outcomes.notePlaced(attempt, { dialedAt: reservedAt + 4_000 })
    expect(await read()).toEqual([{ after: 9_000, reach: null, placed: 1 }])
  })

  it.each([
    [[2, 0], 2],
    [[2, 1], 1],
    [[1, -1], 1],
    [[0, 1], 1],
    [[0, -1], 0],
    [[-1, 0], 0],
    [[-1, undefined], -1],
    [[0, 0], 0],
    [[0, undefined], 0],
    [[undefined, undefined], null],
  ] as const)('that got as far as %j is stored as %j', async (all, reach) => {
    const outcomes = await reserve()
    for (const one of all) await outcomes.notePlaced(attempt, { reach: one })
    expect(await read()).toEqual([{ after: 0, reach, placed: 1 }])
  })

  it('is released once and again, until its call has left', async () => {
    const outcomes = await reserve()
    expect(await outcomes.noteNotPlaced(attempt)).toBe('released')
    expect(await outcomes.noteNotPlaced(attempt)).toBe('released')
    expect(await read()).toEqual([])
    await outcomes.notePlaced(attempt, { dialedAt: reservedAt + 1_000, reach: 1 })
    expect(await read()).toEqual([{ after: 1_000, reach: 1, placed: 1 }])
    expect(await outcomes.noteNotPlaced(attempt)).toBe('placed')
    expect(await read()).toHaveLength(1)
  })

  it('is there in the end when both are reported at the same time', async () => {
    const outcomes = await reserve()
    for (let again = 0; again < 20; again += 1) {
      const placed = () => outcomes.notePlaced(attempt, {})
      await Promise.all([
        outcomes.noteNotPlaced(attempt),
        placed(),
        outcomes.noteNotPlaced(attempt),
      ])
      expect(await read()).toHaveLength(1)
      await database.storage.db.updateTable('attempts').set({ placed: null }).execute()
    }
  })

  it('of an erased number is updated and not counted again', async () => {
    const outcomes = await reserve()
    const erased = { ...attempt, number: undefined }
    await outcomes.notePlaced(erased, { reach: 0 })
    expect(await read()).toEqual([{ after: 0, reach: 0, placed: 1 }])
    await database.storage.db.deleteFrom('attempts').execute()
    await outcomes.notePlaced(erased, { reach: 1 })
    expect(await read()).toEqual([])
  })

  it('with a permit is released with the permit alone', async () => {
    const outcomes = await reserve()
    const { db } = database.storage
    await db
      .insertInto('permits')
      .values({
        ...{ id: 'p1', account_id: 'main', decision_id: 'd1', key_id: 'key-1', edge: 'edge-a' },
        ...{ number, caller_id: number, call_kind: 'manual', state: 'issued' },
        ...{ issued_at: reservedAt, expires_at: reservedAt + 60_000 },
      })
      .execute()
    expect(await outcomes.noteNotPlaced(attempt)).toBe('has-permit')
    expect(await read()).toHaveLength(1)
  })
})
