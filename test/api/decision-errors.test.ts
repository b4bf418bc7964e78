/** Which requests that get no decision say that the server is failing, and for whom. */
import { expect, it, vi } from 'vitest'
import { AppError, type ErrorKind } from '../../src/errors.js'
import { createDecisionRoutes } from '../../src/http/decision-routes.js'
import { silentLogger, systemClock } from '../../src/runtime/runtime.js'
import { noPermits, noRepeats } from '../support/no-permits.js'
import { admin, adminKey, openTestApp } from '../support/test-app.js'

async function failWith({ judge, key }: { readonly judge?: ErrorKind; readonly key?: ErrorKind }) {
  const noteError = vi.fn()
  const authenticate = async () => {
    if (key) throw new AppError(key, 'no key')
    return admin
  }
  const decisionRoutes = createDecisionRoutes({
    permits: noPermits,
    journal: { durableSeq: 0 },
    repeats: noRepeats,
    recentCalls: { noteError },
    shut: { problem: undefined },
    ...{ authenticate, logger: silentLogger, maxBodyBytes: 10_000 },
    serviceCodes: new Set<string>(),
    clock: systemClock,
    gate: {
      judge: () => Promise.reject(new AppError(judge ?? 'conflict', 'no decision')),
      allowUnrecorded: () => {
        throw new Error('is no service code')
      },
    },
    encode: () => {
      throw new Error('is not to be written')
    },
  })
  const app = await openTestApp({ routes: [], authenticate, decisionRoutes })
  const { status } = await app.send('/v1/decisions', {
    method: 'POST',
    headers: { loginId: adminKey, 'Content-Type': 'application/json' },
    body: JSON.stringify({ number: '2125550100', callKind: 'manual' }),
  })
  return { status, noted: noteError.mock.calls }
}

it('says so for the account of the key', async () => {
  const failed = await failWith({ judge: 'not-available' })
  expect(failed).toEqual({ status: 503, noted: [[admin.accountId]] })
})

it('says so for all accounts if the key could not be looked up', async () => {
  const failed = await failWith({ key: 'not-available' })
  expect(failed).toEqual({ status: 503, noted: [[undefined]] })
})

it('does not say so of what a sender has used up, or has asked for wrongly', async () => {
  expect(await failWith({ key: 'overloaded' })).toEqual({ status: 503, noted: [] })
  expect(await failWith({ judge: 'conflict' })).toEqual({ status: 409, noted: [] })
})
