/** An attempt is counted if and only if its call is allowed, however calls overlap, and whether or not the limits are in shadow. */
import fc from 'fast-check'
import { afterEach, expect, it } from 'vitest'
import type { Decision } from '../../src/domain/decision.js'
import type { AttemptCounter, AttemptLimits, Mandate } from '../../src/domain/mandate.js'
import { Attempts } from '../../src/service/accounts/attempts.js'
import { useDatabase } from '../support/database.js'
import { shortOrLong } from '../support/long.js'
import { knownFacts, landlineNowhere, ownGate } from '../support/own-facts.js'
import { strictPolicy } from '../support/strict-policy.js'
import { aCall } from '../support/test-gate.js'

const database = useDatabase()
const webhooks = { add: async () => '', wake: () => undefined }
let ids = 0

interface Limits {
  /** Calls to a person in an hour. */
  readonly house: number | undefined
  readonly key: AttemptLimits | undefined
  readonly isShadowed: boolean
}

/** A server, of those that share the database. */
function openGate({ house, isShadowed }: Limits, attempts: AttemptCounter) {
  const mode = isShadowed ? 'shadow' : 'enforce'
  return ownGate(() => knownFacts({ number: landlineNowhere }), {
    attempts,
    newId: () => `d${++ids}`,
    policy: { ...strictPolicy, attempts: { mode } },
    settings: {
      deadlineMs: 60_000,
      houseLimits: house === undefined ? [] : [{ calls: house, seconds: 3_600 }],
    },
  }).gate
}

const counter = () => new Attempts(database.storage, webhooks)

function callBy(key: AttemptLimits | undefined, dialed: string) {
  const mandate: Mandate | undefined = key && {
    ...{ version: 1, callKinds: 'any', projects: 'any', campaigns: 'any' },
    ...{ callerIds: 'any', regions: 'any', attempts: key },
  }
  return aCall({ dialed, keyId: 'k1', mandate })
}

async function listCounted(): Promise<readonly string[]> {
  const rows = await database.storage.db.selectFrom('attempts').select('decision_id').execute()
  return rows.map(({ decision_id: id }) => id).toSorted()
}

const idsOfAllowed = (decisions: readonly Decision[]) =>
  decisions.flatMap(({ decision, id }) => (decision === 'allow' ? [id] : [])).toSorted()

const clear = () => database.storage.db.deleteFrom('attempts').execute()
afterEach(clear)

const atMost = fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined })
const someLimits: fc.Arbitrary<Limits> = fc.record({
  house: atMost,
  key: fc.option(
    fc.record({
      attemptsPerHour: atMost,
      attemptsPerNumberPerDay: atMost,
      concurrent: atMost,
    }),
    { nil: undefined },
  ),
  isShadowed: fc.boolean(),
})

it('holds for calls of two servers at once', async () => {
  const seen = { allow: 0, 'too-many-attempts': 0, key: 0, shadowed: 0 }
  await fc.assert(
    fc.asyncProperty(
      someLimits,
      fc.array(fc.tuple(fc.constantFrom('2125550100', '2125550101'), fc.boolean()), {
        minLength: 2,
        maxLength: 9,
      }),
      async (limits, calls) => {
        await clear()
        const [here, there] = [openGate(limits, counter()), openGate(limits, counter())]
        const decisions = await Promise.all(
          calls.map(([dialed, isHere]) =>
            (isHere ? here : there).decide(callBy(limits.key, dialed)),
          ),
        )
        const isCounted = limits.house !== undefined || limits.key !== undefined
        expect(await listCounted()).toEqual(isCounted ? idsOfAllowed(decisions) : [])
        for (const { decision, reason, effects } of decisions) {
          if (decision === 'allow') seen.allow += 1
          if (reason === 'too-many-attempts') seen[reason] += 1
          if (reason.startsWith('key-')) seen.key += 1
          if (effects.length > 0) seen.shadowed += 1
        }
      },
    ),
    { numRuns: shortOrLong(60, 2_000), seed: 5 },
  )
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(5)
})
