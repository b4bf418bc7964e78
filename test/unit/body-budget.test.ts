import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AppError } from '../../src/errors.js'
import { BodyBudget, type BodyCharge } from '../../src/http/limits/body-budget.js'

const uncounted = 16_384
const max = 1_000_000

function refusal(run: () => void): AppError | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

describe('the budget of request bodies', () => {
  test('one account may hold a quarter, senders without a key an eighth together', () => {
    const budget = new BodyBudget(max)
    const anonymous = budget.openCharge()
    anonymous.resize(uncounted + 125_000)
    expect(refusal(() => budget.openCharge().resize(uncounted + 1))?.kind).toBe('overloaded')
    const known = budget.openCharge()
    known.assignTo('main')
    known.resize(uncounted + 250_000)
    const second = budget.openCharge()
    second.assignTo('main')
    expect(refusal(() => second.resize(uncounted + 1))).toMatchObject({ retryAfterSeconds: 1 })
    const other = budget.openCharge()
    other.assignTo('other')
    other.resize(uncounted + 250_000)
    known.release()
    second.resize(uncounted + 250_000)
  })

  test('small bodies are never refused', () => {
    const budget = new BodyBudget(max)
    for (let held = 0; held < 10_000; held += 1) budget.openCharge().resize(uncounted)
    expect(budget.bytes).toBe(0)
  })

  test('never holds more than its bytes, and gives all of them back', () => {
    const step = fc.record({
      body: fc.nat(9),
      bytes: fc.nat(400_000),
      account: fc.constantFrom(undefined, 'a', 'b', 'c', 'd', 'e'),
      ends: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const budget = new BodyBudget(max)
        const charges: (BodyCharge | undefined)[] = []
        for (const { body, bytes, account, ends } of steps) {
          const charge = charges[body] ?? budget.openCharge()
          charges[body] = ends ? undefined : charge
          refusal(() => account !== undefined && charge.assignTo(account))
          refusal(() => charge.resize(bytes))
          if (ends) charge.release()
          expect(budget.bytes).toBeLessThanOrEqual(max)
        }
        for (const charge of charges) charge?.release()
        expect(budget.bytes).toBe(0)
      }),
      { seed: 12, numRuns: 500 },
    )
  })
})
