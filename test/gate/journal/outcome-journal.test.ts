import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import type { CallOutcome } from '../../../src/domain/call-outcome.js'
import type { Decision } from '../../../src/domain/decision.js'
import { Journal } from '../../../src/gate/journal/journal.js'
import { mergeOutcome } from '../../../src/gate/journal/merge-outcome.js'
import { OutcomeJournal } from '../../../src/gate/journal/outcome-journal.js'
import { openDatabase } from '../../../src/storage/engine.js'
import { useDatabase } from '../../support/database.js'
import { fakeCompliance } from '../../support/fake-compliance.js'
import { aCall, testGate } from '../../support/test-gate.js'

const leg = (name: string, dialledAt: number) => ({ leg: name, dialledAt })
const dialled = (name: string, at: number) => ({ state: 'dialled', ...leg(name, at) }) as const
const answered = (name: string, began: number, answeredAt: number) =>
  ({ state: 'answered', ...leg(name, began), answeredAt, dialStatus: 'ANSWER' }) as const
const failed = (name: string, began: number, failedAt: number) =>
  ({ state: 'failed', ...leg(name, began), failedAt, dialStatus: 'BUSY' }) as const
const handedOver = { state: 'handed-over', handedOverAt: 1 } as const
const timedOut = {
  ...({ state: 'not-carried-out', notCarriedOut: 'timed-out' } as const),
  notCarriedOutAt: 2,
}
const bothHandOvers = { handedOverAt: 1, notCarriedOutAt: 2, notCarriedOut: 'timed-out' } as const

type Notes = readonly Partial<CallOutcome>[]

const orders: readonly (readonly [string, Notes, Partial<CallOutcome>])[] = [
  ['handed over', [handedOver], handedOver],
  ['handed over, dialled', [handedOver, dialled('a', 3)], { ...dialled('a', 3), handedOverAt: 1 }],
  [
    'dialled, and then the late word that it was handed over',
    [dialled('a', 3), handedOver],
    { ...dialled('a', 3), handedOverAt: 1 },
  ],
  [
    'answered, and then the late word that it was handed over',
    [dialled('a', 3), answered('a', 3, 4), handedOver],
    { ...answered('a', 3, 4), handedOverAt: 1 },
  ],
  [
    'the hand-over timed out, and yet it is dialled',
    [timedOut, dialled('a', 3)],
    { ...timedOut, ...dialled('a', 3) },
  ],
  [
    'dialled, and then the word that the hand-over timed out',
    [dialled('a', 3), timedOut],
    { ...timedOut, ...dialled('a', 3) },
  ],
  [
    'timed out, then handed over after all',
    [timedOut, handedOver],
    { state: 'handed-over', ...bothHandOvers },
  ],
  [
    'handed over, then not carried out',
    [handedOver, timedOut],
    { state: 'not-carried-out', ...bothHandOvers },
  ],
  [
    'answered, ended',
    [dialled('a', 3), answered('a', 3, 4), { ...answered('a', 3, 4), endedAt: 5, cause: 16 }],
    { ...answered('a', 3, 4), endedAt: 5, cause: 16 },
  ],
  [
    'the beginning of a leg told after its answer',
    [answered('a', 3, 4), dialled('a', 3)],
    answered('a', 3, 4),
  ],
  [
    'the beginning of a leg told after it failed',
    [failed('a', 3, 4), dialled('a', 3)],
    failed('a', 3, 4),
  ],
  [
    'a second trunk after the first has failed',
    [handedOver, dialled('a', 3), { ...failed('a', 3, 4), endedAt: 4, cause: 17 }, dialled('b', 5)],
    { ...dialled('b', 5), handedOverAt: 1 },
  ],
  [
    'the second trunk fails too',
    [failed('a', 3, 4), dialled('b', 5), { ...failed('b', 5, 6), cause: 34 }],
    { ...failed('b', 5, 6), cause: 34 },
  ],
  [
    'another leg after one has answered',
    [answered('a', 3, 4), dialled('b', 5), failed('b', 5, 6), answered('c', 7, 8)],
    answered('a', 3, 4),
  ],
  ['nothing but the end of a leg', [{ endedAt: 5, cause: 16 }], { endedAt: 5, cause: 16 }],
  [
    'what a later note does not bring stays',
    [
      { ...answered('a', 3, 4), cause: 16 },
      { state: 'answered', leg: 'a', endedAt: 5 },
    ],
    { ...answered('a', 3, 4), cause: 16, endedAt: 5 },
  ],
]

describe('what is known of an outcome', () => {
  for (const [what, notes, expected] of orders) {
    it(`after: ${what}`, () => {
      expect(notes.reduce(mergeOutcome, {})).toEqual(expected)
    })

    it(`is the same wherever the notes were merged first: ${what}`, () => {
      for (let split = 0; split <= notes.length; split += 1) {
        const [before, after] = [notes.slice(0, split), notes.slice(split)]
        const waiting = after.reduce(mergeOutcome, {})
        expect(mergeOutcome(before.reduce(mergeOutcome, {}), waiting)).toEqual(expected)
      }
    })

    it(`is the same when what was written is noted again: ${what}`, () => {
      for (let written = 1; written <= notes.length; written += 1) {
        const row = notes.slice(0, written).reduce(mergeOutcome, {})
        expect(mergeOutcome(row, notes.reduce(mergeOutcome, {}))).toEqual(expected)
      }
    })
  }
})

const database = useDatabase()
const failures: unknown[] = []
const lost: number[] = []
const watch = {
  onFailure: (cause: unknown) => void failures.push(cause),
  onLoss: (count: number) => void lost.push(count),
}

let decision: Decision

beforeEach(async () => {
  failures.length = 0
  lost.length = 0
  decision = await testGate(fakeCompliance()).gate.decide(aCall())
})

const decisions = () =>
  new Journal(database.storage, {
    onPending: () => undefined,
    onFailure: () => undefined,
    onLoss: () => undefined,
  })
const record = (id: string) => decisions().append({ ...decision, id })
const outcomeOf = async (id: string, account = 'main') =>
  (await decisions().find(account, id))?.outcome
const rows = async () => {
  const found = await database.db.selectFrom('call_outcomes').select('decision_id').execute()
  return found.map((row) => row.decision_id)
}
const open = () => new OutcomeJournal(database.storage, watch)

const at = (second: number) => Date.UTC(2026, 10, 23, 17, 0, second)

describe('the journal of outcomes', () => {
  it('shows an outcome with the record of its decision, after a restart too', async () => {
    await record('d1')
    const journal = open()
    journal.record('d1', { state: 'handed-over', handedOverAt: at(0) }, true)
    journal.record('d1', { ...dialled('PJSIP/a-1', at(1)) }, false)
    await journal.drain()
    journal.record('d1', { ...answered('PJSIP/a-1', at(1), at(2)) }, false)
    journal.record('d1', { state: 'answered', leg: 'PJSIP/a-1', endedAt: at(3), cause: 16 }, false)
    await journal.close()
    await database.reopen()
    expect(await outcomeOf('d1')).toEqual({
      state: 'answered',
      handedOverAt: '2026-11-23T17:00:00Z',
      leg: 'PJSIP/a-1',
      dialledAt: '2026-11-23T17:00:01Z',
      answeredAt: '2026-11-23T17:00:02Z',
      endedAt: '2026-11-23T17:00:03Z',
      dialStatus: 'ANSWER',
      cause: 16,
    })
  })

  for (const [what, notes, expected] of orders) {
    it(`keeps what is known after: ${what}`, async () => {
      await record('d1')
      for (const wait of [true, false]) {
        const journal = open()
        await database.db.deleteFrom('call_outcomes').execute()
        for (const note of notes) {
          journal.record('d1', note, false)
          if (wait) await journal.drain()
        }
        await journal.close()
        const kept = await outcomeOf('d1')
        expect([kept?.state, kept?.leg, kept?.cause]).toEqual(
          expected.state === undefined
            ? [undefined, undefined, undefined]
            : [expected.state, expected.leg, expected.cause],
        )
      }
    })
  }

  it('shows why a decision was not carried out, and to its own account only', async () => {
    await record('d1')
    const journal = open()
    const notCarriedOut = 'channel-left'
    journal.record('d1', { state: 'not-carried-out', notCarriedOut, notCarriedOutAt: at(0) }, true)
    await journal.drain()
    expect(await outcomeOf('d1')).toEqual({
      state: 'not-carried-out',
      notCarriedOut,
      notCarriedOutAt: '2026-11-23T17:00:00Z',
    })
    expect(await outcomeOf('d1', 'other')).toBeUndefined()
  })

  it('shows none where nothing is known', async () => {
    await record('d1')
    expect(await decisions().find('main', 'd1')).not.toHaveProperty('outcome')
  })

  it('keeps the outcome of another’s decision only where its record or a row is', async () => {
    await record('here')
    const journal = open()
    for (const id of ['here', 'elsewhere']) journal.record(id, dialled('a', at(1)), false)
    journal.record('own', handedOver, true)
    await journal.drain()
    journal.record('own', dialled('a', at(1)), false)
    await journal.drain()
    expect((await rows()).toSorted()).toEqual(['here', 'own'])
    await record('own')
    expect((await outcomeOf('own'))?.state).toBe('dialled')
  })

  it('writes many, in batches, and loses none', async () => {
    const journal = open()
    const ids = Array.from({ length: 1_301 }, (_, index) => `d${index}`)
    for (const id of ids) journal.record(id, handedOver, true)
    await journal.drain()
    expect(new Set(await rows())).toEqual(new Set(ids))
    expect([failures, lost]).toEqual([[], []])
  })

  it('writes by itself what nobody asks it to write', async () => {
    const journal = open()
    journal.record('d1', handedOver, true)
    await expect.poll(rows, { interval: 5, timeout: 5_000 }).toEqual(['d1'])
    await journal.close()
  })

  const rename = (from: string, to: string) =>
    database.db.schema.alterTable(from).renameTo(to).execute()

  it('tries again what could not be written, with what was noted since', async () => {
    await rename('call_outcomes', 'elsewhere')
    const journal = open()
    journal.record('d1', handedOver, true)
    const drained = journal.drain()
    await expect.poll(() => failures.length, { interval: 5 }).toBe(1)
    journal.record('d1', dialled('a', at(1)), false)
    await rename('elsewhere', 'call_outcomes')
    await drained
    await record('d1')
    expect((await outcomeOf('d1'))?.state).toBe('dialled')
    expect(lost).toEqual([])
  })

  it('keeps a bounded number, gives up the oldest and tells how many', async () => {
    const journal = open()
    for (let index = 0; index < 20_010; index += 1) journal.record(`d${index}`, handedOver, true)
    await journal.close()
    const kept = await rows()
    expect(kept).toHaveLength(20_000)
    expect(kept).not.toContain('d9')
    expect(kept).toContain('d10')
    expect(lost).toEqual([10])
  })

  it('closes though another process holds the lock, and tells what is lost', async () => {
    const journal = open()
    const elsewhere = openDatabase({
      ...({ engine: 'sqlite', dataDir: database.folder } as const),
      lockWaitMs: 1,
      blockForLockMs: 0,
    })
    await elsewhere.db.connection().execute(async (connection) => {
      await sql`begin immediate`.execute(connection)
      for (const id of ['d1', 'd2']) journal.record(id, handedOver, true)
      await journal.close()
      await sql`rollback`.execute(connection)
    })
    await elsewhere.close()
    expect(failures).toHaveLength(1)
    expect(lost).toEqual([2])
  })
})
