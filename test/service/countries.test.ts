/** Which countries an account calls is its own to say; a list is asked for while an account that may use it calls its country. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readUnneededCountries } from '../../src/service/lists/list-rights.js'
import { openTwoAccounts, type TwoAccounts } from '../support/two-accounts.js'

let accounts: TwoAccounts

beforeAll(async () => {
  accounts = await openTwoAccounts()
})

afterAll(() => accounts.running.end())

const newYork = '2127360002'
/** There is no list of Canada here. */
const toronto = '4167360002'

async function decide(key: string, number: string): Promise<string> {
  const json = { number, callKind: 'manual' }
  const answer = (await accounts.send(key, { path: '/v1/decisions', json })).json()
  const { decision, reason } = answer as Readonly<Record<string, string>>
  return `${decision} ${reason}`
}

const pause = (key: string, subject: string) =>
  accounts.send(key, { path: '/v1/pauses', json: { subject, reason: 'we sell in Canada alone' } })
const resume = (key: string, subject: string) =>
  accounts.send(key, { path: '/v1/pauses/end', json: { subject } })
const unneeded = async () => [
  ...(await readUnneededCountries(accounts.running.callgate.storage.db)),
]

it('blocks its calls to a country that it does not call, and no call of others', async () => {
  const { owner, stranger } = accounts
  expect(await decide(owner, newYork)).toBe('allow permitted')
  expect((await pause(owner, 'country:US:main')).status).toBe(200)
  await expect.poll(() => decide(owner, newYork)).toBe('block foreign-number')
  expect(await decide(owner, toronto)).toBe('block list-not-covering')
  expect(await decide(stranger, newYork)).toBe('allow permitted')
})

it('is not to be said or taken back with the key of another account', async () => {
  const { owner, stranger } = accounts
  for (const subject of ['country:CA:main', 'country:US:main']) {
    expect((await pause(stranger, subject)).status, subject).toBe(400)
    expect((await resume(stranger, subject)).status, subject).toBe(400)
  }
  expect(await decide(owner, newYork)).toBe('block foreign-number')
  expect(await decide(owner, toronto)).toBe('block list-not-covering')
})

it('asks for the list of a country while one with a right to it calls there', async () => {
  expect(await unneeded()).toEqual([])
  expect((await pause(accounts.stranger, 'country:US:other')).status).toBe(200)
  expect((await unneeded()).sort()).toEqual(['country:US:main', 'country:US:other'])
  expect((await resume(accounts.stranger, 'country:US:other')).status).toBe(200)
  expect(await unneeded()).toEqual([])
  expect((await resume(accounts.owner, 'country:US:main')).status).toBe(200)
  await expect.poll(() => decide(accounts.owner, newYork)).toBe('allow permitted')
})
