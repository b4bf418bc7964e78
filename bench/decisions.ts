/** The cost of one decision in process, with answers from the cache (warm) and from the tables (cold). */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import type { CallRequest, Decision } from '../src/domain/decision.js'
import { type DecisionFixture, openDecisionFixture } from './decision-fixture.js'
import { readCpuTime } from './machine.js'
import { type Contender, compare } from './rounds.js'

const rounds = 7
const warmNumbers = 2_000
const warmDecisions = 20_000
const coldDecisions = 4_000
const coldSets = 2 * (rounds + 1)
const manyAtOnce = 64

type Decide = (call: CallRequest) => Promise<Decision>

export async function benchDecisions(): Promise<void> {
  const fixture = await openDecisionFixture(coldSets * coldDecisions)
  try {
    process.stdout.write(`  data: ${fixture.description}\n`)
    const baseline = await openBaselines(fixture)
    const contenders = [...warm(fixture), ...cold(fixture), ...baseline.contenders]
    for (const { run } of contenders) await run()
    await compare('µs each', contenders, rounds)
    baseline.close()
  } finally {
    await fixture.close()
  }
}

/** Counted, as a decision is, but not recorded. */
function judgeBy({ gate, metrics }: DecisionFixture['callgate']): Decide {
  return async (call) => {
    const startedAt = performance.now()
    const decision = await gate.preview(call)
    const seconds = (performance.now() - startedAt) / 1000
    const { accountId, reason, findings, effects } = decision
    const { callKind: kind, via } = call
    const ruled = { decision: decision.decision, reason, findings, effects }
    metrics.recordDecision({ accountId, kind, via, seconds, ...ruled })
    return decision
  }
}

function warm({ callgate, accountId, numbers }: DecisionFixture): readonly Contender[] {
  const calls = numbers.slice(0, warmNumbers).map((dialed) => callTo(accountId, dialed))
  const judge = judgeBy(callgate)
  const record: Decide = (call) => callgate.gate.decide(call)
  const timed =
    (decide: Decide, count: number, atOnce: number, readMs?: () => number) => async () => {
      // What is not recorded adds nothing to the cache.
      await microsecondsEach(calls, { decide: record, atOnce: manyAtOnce })
      const many = Array.from({ length: count }, (_, index) => at(calls, index))
      return await microsecondsEach(many, { decide, atOnce, readMs })
    }
  const recordCount = 6_400
  const name = `warm, on record, ${manyAtOnce} at once`
  return [
    { name: 'warm, judged', run: timed(judge, warmDecisions, 1), note: 'aim: below 5' },
    { name, run: timed(record, recordCount, manyAtOnce) },
    {
      name: `${name}, CPU of the main thread`,
      run: timed(record, recordCount, manyAtOnce, () => readCpuTime(process.pid).mainMs),
      note: 'aim: below 10',
    },
    { name: 'warm, on record, 1 at once', run: timed(record, 200, 1), note: 'waits for the disk' },
  ]
}

/** Each round asks about new numbers. */
function cold({ callgate, accountId, numbers }: DecisionFixture): readonly Contender[] {
  let next = 0
  const timed = (decide: Decide, atOnce: number) => async () => {
    const calls = numbers
      .slice(next, next + coldDecisions)
      .map((dialed) => callTo(accountId, dialed))
    next += coldDecisions
    callgate.ownFacts.real.everythingChanged()
    callgate.ownFacts.sandbox.everythingChanged()
    return await microsecondsEach(calls, { decide, atOnce })
  }
  const judge = judgeBy(callgate)
  const record: Decide = (call) => callgate.gate.decide(call)
  return [
    { name: 'cold, judged', run: timed(judge, 1), note: 'aim: below 80' },
    { name: `cold, on record, ${manyAtOnce} at once`, run: timed(record, manyAtOnce) },
  ]
}

function callTo(accountId: string, dialed: string): CallRequest {
  return { accountId, dialed, callKind: 'manual', via: 'predial' }
}

interface Deciding {
  readonly decide: Decide
  readonly atOnce: number
  /** What is measured, in milliseconds; wall time by default. */
  readonly readMs?: (() => number) | undefined
}

/** Time per decision, at the given concurrency. */
async function microsecondsEach(
  calls: readonly CallRequest[],
  { decide, atOnce, readMs = () => performance.now() }: Deciding,
): Promise<number> {
  let next = 0
  const started = readMs()
  const worker = async () => {
    while (next < calls.length) {
      const call = at(calls, next)
      next += 1
      await decide(call)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return ((readMs() - started) * 1000) / calls.length
}

interface Baselines {
  readonly contenders: readonly Contender[]
  close(): void
}

async function openBaselines(fixture: DecisionFixture): Promise<Baselines> {
  const { callgate, accountId, dataDir, numbers } = fixture
  const decision = await callgate.gate.preview(callTo(accountId, at(numbers, 0)))
  const database = new Sqlite(join(dataDir, 'callgate.sqlite'), { readonly: true })
  const query = database.prepare(
    'select added_at from internal_dnc where account_id = ? and list = ? and number = ?',
  )
  const file = openSync(join(dataDir, 'flush'), 'w')
  const block = Buffer.alloc(4096)
  const nothing = async () => undefined
  return {
    contenders: [
      { name: 'an empty async function', run: each(200_000, nothing) },
      { name: 'JSON.stringify of a decision', run: each(20_000, () => JSON.stringify(decision)) },
      {
        name: 'one SQLite point query',
        run: each(20_000, (index) => query.get(accountId, accountId, at(numbers, index * 7))),
      },
      {
        name: 'one write and disk flush',
        run: each(100, () => {
          writeSync(file, block, 0, block.length, 0)
          fdatasyncSync(file)
        }),
      },
    ],
    close() {
      closeSync(file)
      database.close()
    },
  }
}

function each(count: number, work: (index: number) => unknown): () => Promise<number> {
  return async () => {
    const started = performance.now()
    for (let index = 0; index < count; index += 1) {
      const made = work(index)
      if (made instanceof Promise) await made
    }
    return ((performance.now() - started) * 1000) / count
  }
}

/** Starts over at the end. */
function at<Value>(values: readonly Value[], index: number): Value {
  return values[index % values.length] as Value
}
