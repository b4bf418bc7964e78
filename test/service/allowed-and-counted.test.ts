/** An attempt stays counted if and only if its call may leave, whatever happens at the same time. */
import { beforeEach, describe, expect, it } from 'vitest'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import type { MaybePromise } from '../../src/domain/compliance.js'
import type { CallRequest, Decision, DecisionFinalizer, Policy } from '../../src/domain/decision.js'
import type { AttemptCounter, AttemptLimits, Mandate } from '../../src/domain/mandate.js'
import { toUtcDay } from '../../src/domain/time/dates.js'
import { Attempts } from '../../src/service/accounts/attempts.js'
import { useDatabase } from '../support/database.js'
import { noon } from '../support/fake-compliance.js'
import { noWebhooks } from '../support/no-webhooks.js'
import { alwaysOpen, knownFacts, landlineNowhere, ownGate } from '../support/own-facts.js'
import { strictPolicy } from '../support/strict-policy.js'
import { aCall, gateSettings, withoutRules } from '../support/test-gate.js'
import { virtualTime } from '../support/virtual-time.js'

const database = useDatabase('file')
let attempts: Attempts
let ids = 0
let numbers = 0

beforeEach(() => {
  attempts = new Attempts(database.storage, noWebhooks)
})

const inShadow: Policy = { ...strictPolicy, attempts: { mode: 'shadow' } }

interface Limited {
  readonly policy: Policy
  /** Of calls to a number in an hour, by the operator. */
  readonly calls: number
  readonly key?: AttemptLimits
}

const deadlineMs = 100

/** A server that has its own time. */
function openGate({ policy, calls }: Limited, counter: AttemptCounter) {
  const time = virtualTime()
  const hasRoom = { calls: 1_000, seconds: 86_400 }
  const houseLimits = [{ calls, seconds: 3_600 }, hasRoom]
  const settings = { ...gateSettings, deadlineMs, houseLimits }
  const rules = {
    ...{ policy, settings, rulesVersion: 'next' },
    ...{ windows: alwaysOpen, callingRules: withoutRules },
  }
  const newId = () => `d${++ids}`
  const { gate } = ownGate(() => knownFacts(), {
    ...{ ...rules, timers: time, attempts: counter, newId },
  })
  return { gate, time, rules }
}

/** To a number, with a key, that no other calls have. */
function newCall({ key }: Pick<Limited, 'key'>): CallRequest {
  numbers += 1
  const unlimited = {
    ...{ version: 1, callKinds: 'any', projects: 'any' },
    ...{ campaigns: 'any', callerIds: 'any', regions: 'any' },
  } as const satisfies Mandate
  const mandate = key && { ...unlimited, attempts: key }
  const keyId = `key-${numbers}`
  return aCall({ dialed: `212555${String(numbers).padStart(4, '0')}`, keyId, mandate })
}

async function listCounted(keyId = ''): Promise<readonly string[]> {
  const select = database.db.selectFrom('attempts').select('decision_id')
  const rows = await select.where('key_id', '=', keyId).execute()
  return rows.map((row) => row.decision_id).sort()
}

const listAllowed = (decisions: readonly Decision[]) =>
  decisions.flatMap(({ decision, id }) => (decision === 'allow' ? [id] : [])).sort()

function event() {
  let happen: () => void = () => undefined
  const happened = new Promise<void>((resolve) => (happen = resolve))
  return { happen: () => happen(), happened }
}

/** What happens to one call, in this order. At `expire` it has waited too long for the counting, and is answered. */
const fates = {
  leaves: ['ask', 'count', 'answer', 'leave'],
  'is kept from leaving': ['ask', 'count', 'answer', 'keep'],
  'is late before it is counted': ['ask', 'expire', 'count', 'answer'],
  'is late after it is counted': ['ask', 'count', 'expire', 'answer'],
  'is judged again, by other rules': ['ask', 'count', 'replace', 'leave'],
} as const

type Fate = keyof typeof fates
type Step = (typeof fates)[Fate][number]

/** A call whose steps a test takes one by one. */
function startCall(request: CallRequest, limited: Limited) {
  const [toCount, counted, toAnswer] = [event(), event(), event()]
  const releases: Promise<void>[] = []
  const { gate, time, rules } = openGate(limited, {
    async take(attempt, limits) {
      await toCount.happened
      const result = await attempts.take(attempt, limits)
      counted.happen()
      await toAnswer.happened
      return result
    },
    readCounts: (attempt, limits) => attempts.readCounts(attempt, limits),
    release(attempt) {
      const releasing = attempts.release(attempt)
      releases.push(releasing)
      return releasing
    },
  })
  let judging: MaybePromise<DecisionFinalizer> | undefined
  let final: Decision | undefined
  const finish = async (isDelayed = false) => {
    final = (await judging)?.(isDelayed)
  }
  const steps: Readonly<Record<Step, () => unknown>> = {
    ask: () => {
      judging = gate.judge(request)
    },
    count: () => {
      toCount.happen()
      return counted.happened
    },
    expire: async () => {
      await time.advance(0.95 * deadlineMs)
      await finish()
    },
    replace: () => {
      gate.replaceRules(rules)
      toAnswer.happen()
    },
    answer: () => toAnswer.happen(),
    leave: () => finish(),
    keep: () => finish(true),
  }
  return {
    take: (step: Step) => steps[step](),
    /** Its decision, when nothing more happens. */
    async end(): Promise<Decision> {
      if (final === undefined) throw new Error('the call has no decision')
      await time.settle()
      await Promise.all(releases)
      return final
    },
  }
}

/** Every order of the steps of two calls: for each step, whose it is. */
function listOrders(ofFirst: number, ofSecond: number): readonly (readonly (0 | 1)[])[] {
  if (ofFirst === 0 || ofSecond === 0) {
    return [[...Array<0>(ofFirst).fill(0), ...Array<1>(ofSecond).fill(1)]]
  }
  return [
    ...listOrders(ofFirst - 1, ofSecond).map((rest) => [0 as const, ...rest]),
    ...listOrders(ofFirst, ofSecond - 1).map((rest) => [1 as const, ...rest]),
  ]
}

const limits: readonly (readonly [string, Limited])[] = [
  ['a limit', { policy: strictPolicy, calls: 1 }],
  ['a limit in shadow', { policy: inShadow, calls: 1 }],
  ['a limit of the key', { policy: inShadow, calls: 1, key: { attemptsPerHour: 1 } }],
]
const names = Object.keys(fates) as Fate[]
const pairs = names.flatMap((first, index) => names.slice(index).map((second) => [first, second]))

describe.each(limits)('two calls under %s', (name, limited) => {
  it.each(pairs as [Fate, Fate][])('of which one %s, and one %s', async (...both) => {
    for (const order of listOrders(fates[both[0]].length, fates[both[1]].length)) {
      // The same with the calls exchanged.
      if (both[0] === both[1] && order[0] === 1) continue
      const request = newCall(limited)
      const calls = both.map((fate) => ({
        ...startCall(request, limited),
        rest: [...fates[fate]] as Step[],
      }))
      for (const whose of order) {
        const call = calls[whose]
        await call?.take(call.rest.shift() as Step)
      }
      const decisions = await Promise.all(calls.map((call) => call.end()))
      const allowed = listAllowed(decisions)
      expect(await listCounted(request.keyId), `in the order ${order.join('')}`).toEqual(allowed)
      if (name !== 'a limit in shadow') expect(allowed.length).toBeLessThanOrEqual(1)
    }
  })
})

describe.each(limits)('many calls at once under %s', (name, limited) => {
  it('are counted as many as leave', async () => {
    const request = newCall(limited)
    const { gate } = openGate({ ...limited, calls: 3 }, attempts)
    const asked = Array.from({ length: 12 }, () => gate.decide(request))
    const allowed = listAllowed(await Promise.all(asked))
    expect(await listCounted(request.keyId)).toEqual(allowed)
    const room = { 'a limit': 3, 'a limit of the key': 1 }[name] ?? 12
    expect(allowed).toHaveLength(room)
  })
})

it('a call is answered in time when rules are replaced and its counting never ends', async () => {
  const limited: Limited = { policy: strictPolicy, calls: 1 }
  const { gate, time, rules } = openGate(limited, {
    take: () => new Promise(() => undefined),
    readCounts: async () => [],
    release: async () => undefined,
  })
  const judging = gate.judge(newCall(limited))
  gate.replaceRules(rules)
  await time.advance(deadlineMs)
  const finalize = await judging
  expect(finalize()).toMatchObject({ decision: 'block', rules: 'next' })
})

it('a call to a customer, whom no limit protects, is blocked if it cannot be counted', async () => {
  const candidates = [{ region: 'OR', zone: 'America/Los_Angeles' }]
  const inOregon = { ...landlineNowhere, place: { ...landlineNowhere.place, candidates } }
  const sale = { type: 'S', contactOn: toUtcDay(noon) - 30, contactAt: undefined } as const
  const record = { ...sale, obligationEndsOn: undefined, storedSeq: 0, liftsOptOut: false }
  const { gate } = ownGate(() => knownFacts({ number: inOregon, record }), {
    attempts: {
      take: () => Promise.reject(new Error('no database')),
      readCounts: async () => [],
      release: async () => undefined,
    },
    callingRules: loadCallingRules('config/calling-rules.yaml'),
    settings: { exceptions: [{ id: 'or-customer', decidedBy: 'counsel', on: 0 }] },
  })
  expect(await gate.decide(aCall({ dialed: '5035550100' }))).toMatchObject({
    decision: 'block',
    reason: 'check-unanswered',
  })
})
