/** What an Asterisk reports of a call, as its attempt counts it. */
import { expect, it } from 'vitest'
import { LegOutcomeTracker } from '../../src/asterisk/watch/leg-outcomes.js'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import type { AnswerReport, CallOutcome } from '../../src/domain/call-outcome.js'
import type { AttemptReports } from '../../src/domain/mandate.js'
import { mergeOutcome } from '../../src/gate/journal/merge-outcome.js'
import { CountedOutcomes } from '../../src/gate/outcomes/counted-outcomes.js'
import type { DecisionDocument } from '../../src/gate/record/decision-document.js'
import { createLogger } from '../../src/observability/log.js'
import { AttemptOutcomes } from '../../src/service/accounts/attempt-outcomes.js'
import { Attempts } from '../../src/service/accounts/attempts.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()
const webhooks = { add: async () => '', wake: () => undefined }
const at = Date.UTC(2026, 10, 23, 17)

const callingRules = loadCallingRules('config/calling-rules.yaml')

/** `ended` resolves when all that was begun so far has ended. */
async function open(failing = false) {
  const attempts = new Attempts(database.storage, webhooks)
  const call = { number: '3055550100', callKind: 'manual' } as const
  const reserved = { decisionId: 'd1', keyId: '', accountId: 'main', call, at }
  await attempts.take(reserved, { frequency: [], isShadowed: false })
  const begun: Promise<unknown>[] = []
  const real = new AttemptOutcomes(database.storage)
  const follow = <T>(work: () => Promise<T>) => {
    const done = failing ? Promise.reject(new Error('no database')) : work()
    begun.push(done.catch(() => undefined))
    return done
  }
  const reports: AttemptReports = {
    noteNotPlaced: (one) => follow(() => real.noteNotPlaced(one)),
    notePlaced: (one, placed) => follow(() => real.notePlaced(one, placed)),
  }
  const lines: string[] = []
  const rings: AnswerReport['ring'][] = []
  const readIds: string[] = []
  let noted: Partial<CallOutcome> = {}
  const recorded: string[] = []
  const outcomes = new CountedOutcomes({
    journal: {
      record: (id, outcome) => {
        recorded.push(id)
        noted = mergeOutcome(noted, outcome)
      },
    },
    counters: {
      attempts: reports,
      abandonment: { count: async (_, { ring }) => void rings.push(ring) },
      identities: { confirmIdentity: async () => undefined },
      getCallingRules: () => ({ ...callingRules, findMinTalkMs: () => 30_000 }),
    },
    findDecision(id) {
      readIds.push(id)
      return describeCall(id, noted)
    },
    attempts,
    log: createLogger('warn', { write: (line) => void lines.push(line) }),
  })
  const read = async () => {
    await Promise.all(begun)
    const rows = await database.storage.db.selectFrom('attempts').selectAll().execute()
    return rows.map((row) => [Number(row.at) - at, row.reach])
  }
  return { outcomes, recorded, begun, lines, rings, readIds, read }
}

/** As it is in the journal. */
function describeCall(id: string, outcome: Partial<CallOutcome>): DecisionDocument {
  const format = (instant: number | undefined) => instant && new Date(instant).toISOString()
  const { dialledAt, failedAt, endedAt } = outcome
  const times = {
    dialledAt: format(dialledAt),
    failedAt: format(failedAt),
    endedAt: format(endedAt),
  }
  return {
    ...{ id, accountId: 'main', callKind: 'autodialed', number: '3055550100' },
    decidedAt: format(at),
    findings: [{ check: 'permission' }],
    outcome: { ...outcome, ...times },
  } as unknown as DecisionDocument
}

const notCarriedOut = 'not-carried-out' as const

it.each([
  ['channel-left', []],
  ['action-failed', []],
  ['timed-out', [[0, null]]],
  ['disconnected', [[0, null]]],
] as const)('a handover that failed with %s leaves %j', async (why, left) => {
  const { outcomes, read } = await open()
  outcomes.record('d1', { state: notCarriedOut, notCarriedOut: why }, true)
  expect(await read()).toEqual(left)
})

it('a leg counts from dialing, and as far as it got', async () => {
  const { outcomes, read, begun } = await open()
  const legs = new LegOutcomeTracker({ outcomes })
  legs.onLegDialed({ id: 'c1', name: 'PJSIP/a-1' }, 'd1', at + 2_000)
  expect(await read()).toEqual([[2_000, null]])
  legs.onLegProgressed({ peer: { id: 'c1' } as never, status: 'BUSY', at: at + 3_000 })
  expect(await read()).toEqual([[2_000, -1]])
  legs.onLegEnded('c1', 17, at + 3_001)
  legs.onLegDialed({ id: 'c2', name: 'PJSIP/b-1' }, 'd1', at + 4_000)
  legs.onLegProgressed({ peer: { id: 'c2' } as never, status: 'ANSWER', at: at + 5_000 })
  expect(await read()).toEqual([[4_000, 2]])
  const writes = begun.length
  legs.onLegEnded('c2', 16, at + 60_000)
  expect(begun).toHaveLength(writes)
})

it.each([
  ['NOANSWER', 0, 16, 0],
  ['NOANSWER', 0, 17, 0],
  ['BUSY', -1, 0, -1],
  ['ANSWER', 2, 16, 1],
])(
  'a leg with status %s counts as %i, and after cause %i as %i',
  async (status, first, cause, last) => {
    const { outcomes, read } = await open()
    const legs = new LegOutcomeTracker({ outcomes })
    legs.onLegDialed({ id: 'c1', name: 'PJSIP/a-1' }, 'd1', at)
    legs.onLegProgressed({ peer: { id: 'c1' } as never, status, at: at + 1_000 })
    expect(await read()).toEqual([[0, first]])
    legs.onLegEnded('c1', cause, at + 30_999)
    expect(await read()).toEqual([[0, last]])
  },
)

it.each([
  ['CANCEL', 26, { ringMs: 6_000, isEndedByCaller: true }],
  ['NOANSWER', 0, { ringMs: 6_000, isEndedByCaller: true }],
  ['NOANSWER', 19, { ringMs: 6_000, isEndedByCaller: false }],
  ['CHANUNAVAIL', 3, { ringMs: 6_000, isEndedByCaller: false }],
  ['BUSY', 17, undefined],
  ['ANSWER', 16, undefined],
])(
  'a leg that ends with %s and cause %i rang %j, and its record is read only if it rang',
  async (status, cause, ring) => {
    const { outcomes, rings, readIds } = await open()
    const legs = new LegOutcomeTracker({ outcomes })
    legs.onLegDialed({ id: 'c1', name: 'PJSIP/a-1' }, 'd1', at + 1_000)
    legs.onLegProgressed({ peer: { id: 'c1' } as never, status: 'RINGING', at: at + 2_000 })
    legs.onLegProgressed({ peer: { id: 'c1' } as never, status, at: at + 7_000 })
    expect(rings).toEqual([])
    legs.onLegEnded('c1', cause, at + 7_010)
    expect(rings).toEqual(ring ? [ring] : [])
    expect(readIds).toEqual(ring ? ['d1'] : [])
  },
)

it('a leg that dials after all counts again', async () => {
  const { outcomes, read } = await open()
  outcomes.record('d1', { state: notCarriedOut, notCarriedOut: 'action-failed' }, true)
  expect(await read()).toEqual([])
  outcomes.record('d1', { state: 'dialled', dialledAt: at + 1 }, false)
  expect(await read()).toEqual([[1, null]])
})

it('writes nothing for a decision that was not counted', async () => {
  const { outcomes, begun, recorded } = await open()
  outcomes.record('d2', { state: 'dialled', dialledAt: at }, false)
  expect([begun, recorded]).toEqual([[], ['d2']])
})

it('says in the log what could not be counted', async () => {
  const { outcomes, read, lines } = await open(true)
  outcomes.record('d1', { state: 'dialled', dialledAt: at + 1 }, false)
  expect(await read()).toEqual([[0, null]])
  await expect.poll(() => lines.join()).toContain('recorded but not counted')
})
