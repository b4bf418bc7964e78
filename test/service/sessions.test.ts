/** Sessions of the console, of keys and of people. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Caller, createPersonCaller, identifyPerson } from '../../src/domain/caller.js'
import { Sessions } from '../../src/service/people/sessions.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
let keyCaller: Caller
beforeAll(async () => {
  running = await openTestCallgate()
  const { id } = await running.callgate.keys.create({
    ...{ accountId: 'main', role: 'Supervisor', label: 'sessions' },
  })
  keyCaller = (await running.callgate.keys.find(id)) as Caller
})
afterAll(() => running.end())

const open = (accountOfPeople: string | undefined = 'main') => {
  const { storage, keys, runtime } = running.callgate
  const { randomBytes } = runtime
  return new Sessions({
    storage,
    keys,
    accountOfPeople,
    clock: running.clock as never,
    randomBytes,
  })
}
const issuer = 'https://id.test'
const person = (name: string, subject = name) =>
  createPersonCaller({
    ...{ accountId: 'main', id: identifyPerson(issuer, subject), name, role: 'officer' },
  })

it('gives a person what the role permits, and the terms of the account', async () => {
  await running.callgate.storage.db
    .updateTable('accounts')
    .set({ numbers_per_scrub: 20_000 })
    .where('id', '=', 'main')
    .execute()
  const found = await open().find(await open().begin(person('Jane', 'sub|1')))
  expect(found).toEqual({
    ...person('Jane', 'sub|1'),
    scrub: { maxNumbers: 20_000, aiKeepsVoiceWindows: false },
  })
  expect(found?.keyId).toBe('person:https://id.test sub|1')
})

it('lets no person in where none may sign in, but keys', async () => {
  const [ofPerson, ofKey] = [await open().begin(person('Jane')), await open().begin(keyCaller)]
  const closed = open('another-account')
  expect(await closed.find(ofPerson)).toBeUndefined()
  expect((await closed.find(ofKey))?.keyId).toBe(keyCaller.keyId)
})

it('lists them, and ends those of one person or key alone, with a reason', async () => {
  const sessions = open()
  const secrets = [
    await sessions.begin(person('Ann', '1')),
    await sessions.begin(person('Ann', '1')),
    await sessions.begin(person('Bob', '2')),
    await sessions.begin(keyCaller),
  ]
  expect((await sessions.list()).filter(({ who }) => who === 'Ann')).toEqual([
    expect.objectContaining({ accountId: 'main', role: 'officer', beganAt: running.clock.at }),
    expect.objectContaining({ accountId: 'main', role: 'officer' }),
  ])
  const isIn = () =>
    Promise.all(secrets.map(async (secret) => (await sessions.find(secret)) !== undefined))
  expect(await sessions.endAll('Ann', 'has left')).toBe(2)
  expect(await isIn()).toEqual([false, false, true, true])
  expect(await sessions.endAll(keyCaller.keyId, 'lent')).toBeGreaterThan(0)
  expect(await isIn()).toEqual([false, false, true, false])
  expect(await sessions.endAll('Ann', 'again')).toBe(0)
  const audit = await running.get('/v1/audit?action=session.ended', running.keys.main)
  const { records } = (await audit.json()) as { records: { reason: string; subject: object }[] }
  expect(records.filter(({ reason }) => reason === 'has left')).toEqual([
    expect.objectContaining({ subject: { kind: 'session', id: 'person:https://id.test 1' } }),
    expect.objectContaining({ subject: { kind: 'session', id: 'person:https://id.test 1' } }),
  ])
})
