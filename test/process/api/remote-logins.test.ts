/** Whose login a provider is asked with: which key asked about which numbers, at a provider that keeps it. */
import { afterEach, expect, it } from 'vitest'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { describeSaid } from '../../../src/domain/words/words.js'
import { type FakeVendor, openFakeVendor } from '../../../src/fake-vendor/fake-vendor.js'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'
import { systemClock } from '../../../src/runtime/runtime.js'
import { ListRights } from '../../../src/service/lists/list-rights.js'
import { type LoginProxy, openLoginProxy } from '../../support/login-proxy.js'
import {
  type Environment,
  findingOf,
  ofEachQuestion,
  providerVariables,
  sourcesOf,
} from '../../support/remote-callgate.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../../support/test-callgate.js'

const opened: { end(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.end()
})

let nextLine = 0
const freshNumber = () => String(2_127_360_000 + nextLine++)

async function openProvider(): Promise<LoginProxy> {
  const vendor: FakeVendor = await openFakeVendor({ at: mondayNoon })
  const proxy = await openLoginProxy(vendor)
  opened.push({ end: () => vendor.close() }, { end: () => proxy.close() })
  return proxy
}

interface Program {
  readonly running: TestCallgate
  /** Creates the account. */
  keyOf(accountId: string): Promise<string>
  grant(accountId: string, list: string): Promise<void>
  end(accountId: string, list: string): Promise<void>
  decide(key: string, number: string): Promise<DecisionDocument>
}

async function openProgram(environment: Environment): Promise<Program> {
  // None of these tests is about time, and the machine may have other work.
  const patient = { CALLGATE_GATE_DEADLINE_MS: '10000' }
  const running = await openTestCallgate({ environment: { ...patient, ...environment } })
  opened.push(running)
  const { accounts, keys, storage } = running.callgate
  const rights = new ListRights({ storage, clock: systemClock })
  return {
    running,
    async keyOf(id) {
      await accounts.ensure({ id, kind: 'real', name: id })
      return (await keys.create({ accountId: id, role: 'Administrator', label: 'test' })).key
    },
    grant: (accountId, list) =>
      rights.grant({ accountId, list, ownerId: 'main', because: 'contract', grantedBy: 'test' }),
    async end(accountId, list) {
      expect(await rights.end({ accountId, list, endedBy: 'test' })).toBe(true)
    },
    async decide(key, number) {
      const response = await running.postJson('/v1/decisions', { number, callKind: 'manual' }, key)
      expect(response.status).toBe(200)
      return (await response.json()) as DecisionDocument
    },
  }
}

const own = (...accounts: readonly string[]) =>
  JSON.stringify(Object.fromEntries(accounts.map((id) => [id, { loginId: `key-of-${id}` }])))

const provider = ({ url }: LoginProxy, more: Environment = {}) => ({
  CALLGATE_SOURCE_KIND: 'remote',
  ...providerVariables('PROVIDER', {
    NAME: 'vendor',
    BASE_URL: url,
    LOGIN_ID: 'key-of-main',
    ...ofEachQuestion('DEADLINE_MS', '10000'),
    ...more,
  }),
})

const noLogin = (accountId: string) =>
  `account ${accountId} has no login for provider vendor and no right to that of account main; ` +
  `set source.provider.accounts.${accountId}, or: callgate lists share provider --with ${accountId} --because <text>`

it('an account asks with its own login, or by a right with that of account main, or not at all', async () => {
  const vendor = await openProvider()
  const program = await openProgram(provider(vendor, { ACCOUNTS: own('acme') }))
  const { running, decide } = program
  const { main } = running.keys
  const [acme, beta, gamma, old] = await Promise.all(
    ['acme', 'beta', 'gamma', 'old'].map((id) => program.keyOf(id)),
  )
  if (!acme || !beta || !gamma || !old) throw new Error('no keys')
  await program.grant('beta', 'provider')
  await program.grant('old', 'all')
  const callOf = async (key: string) => {
    const number = freshNumber()
    return { number, decision: await decide(key, number) }
  }
  const [ofMain, ofAcme, ofBeta, ofGamma, ofOld] = await Promise.all(
    [main, acme, beta, gamma, old].map(callOf),
  )
  if (!ofMain || !ofAcme || !ofBeta || !ofGamma || !ofOld) throw new Error('no calls')
  for (const { decision } of [ofMain, ofAcme, ofBeta, ofOld]) {
    expect(decision).toMatchObject({ decision: 'allow', reason: 'permitted' })
  }
  expect(vendor.numbersOf('key-of-acme')).toEqual([ofAcme.number])
  expect([...vendor.numbersOf('key-of-main')].sort()).toEqual([
    ofMain.number,
    ofBeta.number,
    ofOld.number,
  ])
  expect(sourcesOf(ofAcme.decision)).toMatchObject({ permission: 'vendor/acme' })
  expect(sourcesOf(ofBeta.decision)).toMatchObject({ permission: 'vendor' })

  expect(ofGamma.decision).toMatchObject({ decision: 'block', reason: 'list-not-covering' })
  const { findings } = ofGamma.decision
  for (const check of ['permission', 'litigator', 'internal-dnc', 'calling-hours']) {
    expect(describeSaid(findingOf(ofGamma.decision, check).says)).toContain(noLogin('gamma'))
  }
  expect(findings.map(({ check, verdict, reason }) => [check, verdict, reason])).toEqual(
    expect.arrayContaining([
      ['permission', 'deny', 'list-not-covering'],
      ['litigator', 'unknown', 'list-missing'],
      ['internal-dnc', 'unknown', 'list-missing'],
      ['calling-hours', 'unknown', 'list-missing'],
    ]),
  )

  // What is cached for one account is for no other one.
  const before = vendor.requests.length
  expect(await decide(gamma, ofMain.number)).toMatchObject({ reason: 'list-not-covering' })
  expect(await decide(running.keys.sandbox, '2125550100')).toMatchObject({ decision: 'allow' })
  expect(vendor.requests).toHaveLength(before)
  expect(await decide(acme, ofMain.number)).toMatchObject({ decision: 'allow' })
  expect(vendor.numbersOf('key-of-acme')).toEqual([ofAcme.number, ofMain.number])
})

it('questions of an account with its own login are in requests of their own', async () => {
  const vendor = await openProvider()
  const program = await openProgram(provider(vendor, { ACCOUNTS: own('acme'), COALESCE_MS: '50' }))
  const { main } = program.running.keys
  const acme = await program.keyOf('acme')
  const numbers = Array.from({ length: 10 }, freshNumber)
  await Promise.all(
    numbers.flatMap((number) => [program.decide(main, number), program.decide(acme, number)]),
  )
  for (const loginId of ['key-of-main', 'key-of-acme']) {
    expect([...vendor.numbersOf(loginId)].sort()).toEqual(numbers)
  }
  const merged = vendor.requests.filter((request) => request.numbers.length > 1)
  expect(new Set(merged.map(({ loginId }) => loginId)).size).toBe(2)
})

it('a right that ends while it runs ends what is cached, and a new one is in force within a second', async () => {
  const vendor = await openProvider()
  const program = await openProgram(provider(vendor))
  const beta = await program.keyOf('beta')
  const number = freshNumber()
  const reason = async (of = number) => (await program.decide(beta, of)).reason
  expect(await reason()).toBe('list-not-covering')
  await program.grant('beta', 'provider')
  await expect.poll(reason).toBe('permitted')
  const asked = vendor.requests.length
  expect(await reason()).toBe('permitted')
  expect(vendor.requests).toHaveLength(asked)
  const { main } = program.running.keys
  const ofMain = freshNumber()
  await program.decide(main, ofMain)
  await program.end('beta', 'provider')
  await expect.poll(reason).toBe('list-not-covering')
  const atEnd = vendor.requests.length
  expect(await reason(freshNumber())).toBe('list-not-covering')
  // What account main has cached stays.
  expect((await program.decide(main, ofMain)).reason).toBe('permitted')
  expect(vendor.requests).toHaveLength(atEnd)
  await program.grant('beta', 'provider')
  await expect.poll(reason).toBe('permitted')
  expect(vendor.requests.length).toBeGreaterThan(atEnd)
})

it('with two providers, the one that the account has a login for answers', async () => {
  const [first, second] = [await openProvider(), await openProvider()]
  const environment = {
    ...provider(first),
    ...providerVariables('SECOND_PROVIDER', {
      NAME: 'other',
      BASE_URL: second.url,
      LOGIN_ID: 'key-of-main',
      ACCOUNTS: own('acme'),
    }),
  }
  const program = await openProgram(environment)
  const acme = await program.keyOf('acme')
  const number = freshNumber()
  const decision = await program.decide(acme, number)
  expect(decision).toMatchObject({ decision: 'allow' })
  expect(sourcesOf(decision)).toMatchObject({ permission: 'other/acme' })
  expect(first.requests).toEqual([])
  expect(second.numbersOf('key-of-acme')).toEqual([number])
  expect(second.numbersOf('key-of-main')).toEqual([])
})

it('a login that the provider refuses blocks its account alone, and is named', async () => {
  const vendor = await openProvider()
  vendor.refused.add('key-of-acme')
  const environment = provider(vendor, { ACCOUNTS: own('acme'), CIRCUIT_FAILURES: '1' })
  const program = await openProgram(environment)
  const acme = await program.keyOf('acme')
  const { running, decide } = program
  expect(await decide(acme, freshNumber())).toMatchObject({ reason: 'check-unanswered' })
  expect(await decide(running.keys.main, freshNumber())).toMatchObject({ decision: 'allow' })
  const ready = await (await running.get('/readyz')).json()
  const source = (ready as { checks: { name: string; detail: string }[] }).checks.find(
    ({ name }) => name === 'source',
  )
  expect(source?.detail).toMatch(/^vendor is in use; vendor\/acme is not asked for /)
  const metrics = await (await running.get('/metrics')).text()
  expect(metrics).toMatch(
    /callgate_source_requests_total\{source="vendor\/acme",.*outcome="refused"\}/,
  )
  expect(metrics).toContain('callgate_source_circuit_open{source="vendor",question="scrub"} 0')
})

it('lookups are asked with the login of the account, by a right, or not at all', async () => {
  const vendor = await openProvider()
  const program = await openProgram({
    CALLGATE_LOOKUPS_NAME: 'vendor',
    CALLGATE_LOOKUPS_BASE_URL: vendor.url,
    CALLGATE_LOOKUPS_LOGIN_ID: 'key-of-main',
    CALLGATE_LOOKUPS_ACCOUNTS: own('acme'),
  })
  const { running } = program
  const findUse = async (key: string) => {
    const response = await running.get('/v1.4/Data/ResOrBusiness?phone=2125550100', key)
    return ((await response.json()) as { ResOrBusiness: string }).ResOrBusiness
  }
  const [acme, beta, gamma] = await Promise.all(
    ['acme', 'beta', 'gamma'].map((id) => program.keyOf(id)),
  )
  if (!acme || !beta || !gamma) throw new Error('no keys')
  await program.grant('beta', 'provider')
  const loginsAfter = async (key: string) => {
    const before = vendor.requests.length
    const answer = await findUse(key)
    const logins = new Set(vendor.requests.slice(before).map(({ loginId }) => loginId))
    return [answer, ...logins]
  }
  expect(await loginsAfter(running.keys.main)).toEqual(['R', 'key-of-main'])
  // Nobody is answered from what another account has asked.
  expect(await loginsAfter(acme)).toEqual(['R', 'key-of-acme'])
  expect(await loginsAfter(beta)).toEqual(['R', 'key-of-main'])
  expect(await loginsAfter(gamma)).toEqual(['U'])
  const warning = noLogin('gamma').replace('source.provider', 'lookups')
  expect(running.logLines.filter((line) => line.includes(warning))).toHaveLength(1)
  expect(await loginsAfter(beta)).toEqual(['R'])
  const since = Date.UTC(2026, 6, 1) / 86_400_000
  const ofCalls = running.callgate.factSources.reassigned.real
  const question = { number: toPhoneNumber('2127365001'), since }
  expect(await ofCalls.find({ ...question, accountId: 'gamma' })).toMatchObject({
    result: 'unreachable',
    says: { code: 'reassigned-unreachable', quote: warning },
  })
  expect(vendor.requests.some(({ path }) => path.includes('RND'))).toBe(false)
  await ofCalls.find({ ...question, accountId: 'acme' })
  expect(vendor.numbersOf('key-of-acme')).toContain('2127365001')
  expect(vendor.numbersOf('key-of-main')).not.toContain('2127365001')
  await program.end('beta', 'provider')
  await expect.poll(() => findUse(beta)).toBe('U')
  const metrics = await (await running.get('/metrics')).text()
  expect(metrics).toMatch(/callgate_lookup_requests_total\{source="vendor\/acme"/)
})
