/** What goes with an allow is stored before it leaves, and told once what left. */
import { expect, it } from 'vitest'
import type { Decision } from '../../src/domain/decision.js'
import type { WithAllow } from '../../src/gate/pre-check-ruling.js'
import { fakeCompliance, unanswered } from '../support/fake-compliance.js'
import { aCall, type TestGateOptions, testGate } from '../support/test-gate.js'

const arrived = () => performance.now()

function watch(record: WithAllow['record'] = async () => undefined) {
  const events: string[] = []
  const withAllow: WithAllow = {
    record: async (allow) => {
      events.push(`record ${allow.decision}`)
      return await record(allow)
    },
    left: ({ decision, reason }) => events.push(`left ${decision} ${reason}`),
  }
  return { events, withAllow }
}

async function judge(
  { withAllow }: ReturnType<typeof watch>,
  options: TestGateOptions = {},
  isDelayed = false,
  compliance = fakeCompliance(),
): Promise<Decision> {
  const { gate } = testGate(compliance, options)
  const finalize = await gate.judge(aCall(), arrived(), withAllow)
  return finalize(isDelayed)
}

it('is stored, then told of the allow', async () => {
  const watched = watch()
  await judge(watched)
  expect(watched.events).toEqual(['record allow', 'left allow permitted'])
})

it('is not stored with a block, and told of it', async () => {
  const watched = watch()
  const late = fakeCompliance({ litigator: () => unanswered('deadline') })
  await judge(watched, {}, false, late)
  expect(watched.events).toEqual(['left block check-unanswered'])
})

const refuses: WithAllow['record'] = async () => 'permit-too-short'

const fails: WithAllow['record'] = async () => {
  throw new Error('no disk')
}

it.each([
  ['says why the call must be blocked', refuses, 'permit-too-short'],
  ['cannot be stored', fails, 'not-recorded'],
])('that %s blocks the call', async (_, record, reason) => {
  const watched = watch(record)
  expect(await judge(watched)).toMatchObject({ decision: 'block', reason })
  expect(watched.events).toEqual(['record allow', `left block ${reason}`])
})

it('is told of the block in the place of an allow that must wait for another answer', async () => {
  const watched = watch()
  await judge(watched, {}, true)
  expect(watched.events).toEqual(['record allow', 'left block overloaded'])
})

it('is told of a block when the journal fails, and is not stored', async () => {
  const watched = watch()
  const journal = {
    append: (_: Decision, onWritten?: (cause?: unknown) => void) => onWritten?.(new Error('full')),
    amend: () => undefined,
  }
  await judge(watched, { journal })
  expect(watched.events).toEqual(['left block not-recorded'])
})
