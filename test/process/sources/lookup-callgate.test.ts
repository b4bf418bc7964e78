/**
 * A callgate that asks another one says what the other says: for every sandbox line and every call,
 * over real sockets.
 */
import { afterAll, describe, expect, it } from 'vitest'
import {
  idPremium,
  realTimeDisconnect,
  resOrBusiness,
} from '../../../src/api/lookups/line-lookups.js'
import {
  enhancedRndGet,
  enhancedRndPost,
  rndBasicGet,
  rndBasicPost,
} from '../../../src/api/lookups/reassigned.js'
import { reputationAdd, reputationGetPost } from '../../../src/api/reputation/monitor.js'
import { createRoute, type Route } from '../../../src/api/route.js'
import type { LookupSource } from '../../../src/domain/lookups.js'
import type { PhoneNumber } from '../../../src/domain/phone-number.js'
import type { NumberRecord, NumberScores } from '../../../src/domain/reputation.js'
import { labelIssuers } from '../../../src/domain/spam-labels.js'
import { formatDay } from '../../../src/domain/time/dates.js'
import { silentLogger, systemTimers } from '../../../src/runtime/runtime.js'
import { CombinedLookups } from '../../../src/service/lookups/combined-lookups.js'
import { Lookups } from '../../../src/service/lookups/lookups.js'
import { ReassignedChecks } from '../../../src/service/lookups/reassigned-checks.js'
import { SandboxFacts } from '../../../src/service/sandbox/sandbox-facts.js'
import { LookupProvider } from '../../../src/sources/remote/lookups/lookup-provider.js'
import { areaCodePlan, fakeProjects, sandboxFile, testSandbox } from '../../support/scrub-parts.js'
import { n } from '../../support/service-subjects.js'
import { adminKey, openTestApp } from '../../support/test-app.js'
import { testClock } from '../../support/test-clock.js'

const clock = testClock('2026-11-20T12:00:00Z')
const today = Math.floor(clock.now() / 86_400_000)
const sandbox = testSandbox(clock)
const facts = new SandboxFacts({ sandbox })

function lookupRoutes(book: LookupSource): readonly Route[] {
  const lookups = new Lookups({
    lookupSourceFor: () => book,
    planOf: () => sandbox.planOver(areaCodePlan),
  })
  const checks = new ReassignedChecks({
    projects: fakeProjects(),
    lookupSourceFor: () => book,
    clockOf: () => clock,
    isSandbox: () => false,
  })
  return [
    createRoute(idPremium, (caller, request) => lookups.findIdentity(caller, request)),
    createRoute(realTimeDisconnect, (caller, request) => lookups.findLineStatus(caller, request)),
    createRoute(resOrBusiness, (caller, request) => lookups.findResOrBusiness(caller, request)),
    createRoute(enhancedRndGet, (caller, request) => checks.checkEnhancedOne(caller, request)),
    createRoute(enhancedRndPost, (caller, request) => checks.checkEnhanced(caller, request)),
    createRoute(rndBasicGet, (caller, request) => checks.checkBasicOne(caller, request)),
    createRoute(rndBasicPost, (caller, request) => checks.checkBasic(caller, request)),
  ]
}

/** Looks at what it watches when it is asked for it again. */
const watched = new Set<PhoneNumber>()

const unlooked: NumberScores = {
  legalEntityId: null,
  currScore: 'Processing',
  maxScore: 'Processing',
  historicalScore: '0',
  complaints: null,
  labels: {
    CarrierA: 'Processing',
    CarrierB: 'Processing',
    CarrierC: 'Processing',
    AppA: 'Processing',
    AppB: 'Processing',
  },
}

async function recordOf(phone: PhoneNumber): Promise<NumberRecord> {
  if (!watched.has(phone)) return { phone }
  const said = (await facts.labels([phone], labelIssuers)).get(phone)
  const complaints = (await facts.complaints([phone])).get(phone) ?? null
  if (!said) return { phone, scores: { ...unlooked, complaints } }
  const word = (flagged: boolean | undefined) =>
    flagged ? ('Flagged' as const) : ('Clean' as const)
  const labels = {
    CarrierA: word(said.CarrierA),
    CarrierB: word(said.CarrierB),
    CarrierC: word(said.CarrierC),
    AppA: word(said.AppA),
    AppB: word(said.AppB),
  }
  return { phone, scores: { ...unlooked, labels, complaints } }
}

const behind = await openTestApp({
  routes: [
    ...lookupRoutes(facts),
    createRoute(reputationAdd, (_caller, { items }) => {
      for (const { phone } of items) watched.add(phone)
      return items.map(({ phone }) => ({ phone, scores: unlooked }))
    }),
    createRoute(reputationGetPost, (_caller, { numbers }) => Promise.all(numbers.map(recordOf))),
  ],
})

const failures: string[] = []
const behindProvider = new LookupProvider({
  name: 'behind',
  baseUrl: behind.url,
  timeoutMs: 10_000,
  keepMs: 0,
  requestsPerMinute: 1_000_000,
  servers: 1,
  clock,
  findRelease: (at) => ({ on: undefined, replacedAt: at }),
  timers: systemTimers,
  random: () => 0.5,
  log: silentLogger,
  observer: { onRequest: () => undefined, onCircuitChange: () => undefined },
  credentials: { kind: 'login-id', loginId: adminKey },
})
afterAll(() => behindProvider.close())
const provider = behindProvider.forAccount('main')

const front = await openTestApp({
  routes: lookupRoutes(
    new CombinedLookups([{ name: 'behind', source: provider }], (what, cause) =>
      failures.push(`${what} ${cause}`),
    ),
  ),
})

const numbers = [...sandboxFile.lines.keys(), '0120', '0199'].map((line) => n(`212555${line}`))
const consentDays = [0, 9, 10, 60, 89, 90, 91, 92, 93, 400, 365 * 6].map((ago) =>
  formatDay(today - ago),
)

async function bothSay(path: string, body?: unknown) {
  const [direct, through] = await Promise.all(
    [behind, front].map(async (app) => {
      const answer = body === undefined ? await app.send(path) : await app.post(path, body)
      return { status: answer.status, body: answer.json() }
    }),
  )
  expect(direct?.status).toBe(200)
  expect(through).toEqual(direct)
  return direct?.body
}

describe.each([
  '/v1.4/Data/IDPremium?phone=',
  '/v1.4/Data/RealTimeDisconnect?phoneNumber=',
  '/v1.4/Data/ResOrBusiness?phone=',
])('%s', (path) => {
  it.each(numbers)('%s', async (number) => {
    await bothSay(`${path}${number}`)
  })
})

describe.each(['/v1.5/Data/EnhancedRND', '/v1.5/Data/RNDBasic'])('%s', (path) => {
  it.each(numbers)('%s, for consents of many days', async (number) => {
    await Promise.all(
      consentDays.map((date) => bothSay(`${path}?phoneNumber=${number}&date=${date}`)),
    )
  })

  it('for a list of all of them', async () => {
    const Data = numbers.flatMap((phoneNumber) =>
      consentDays.map((date) => ({ phoneNumber, date })),
    )
    const rows = (await bothSay(path, { Data })) as { IsReassigned: unknown }[]
    expect(rows).toHaveLength(numbers.length * consentDays.length)
    expect(new Set(rows.map((row) => row.IsReassigned))).toEqual(new Set([true, false, null]))
  })

  it('with the same test data', async () => {
    await bothSay(`${path}?phoneNumber=${numbers[0]}&date=2024-01-31&useSandbox=1`)
  })
})

it('labels are the same once the provider has looked', async () => {
  const wanted = labelIssuers.filter((source) => source !== 'CarrierD')
  expect(await provider.labels(numbers, wanted)).toEqual(new Map())
  expect(watched.size).toBe(numbers.length)
  expect(await provider.labels(numbers, wanted)).toEqual(await facts.labels(numbers, wanted))
})

it('nothing of all this has failed', () => {
  expect(failures).toEqual([])
})
