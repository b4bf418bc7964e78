/** Calls to numbers that the service itself calls reassigned or out of service, in the sandbox and for real accounts. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { getFactsFolder, getListsFolder } from '../../src/app/data-folders.js'
import { refreshData } from '../../src/commands/serve/data-watch.js'
import { factFeeds } from '../../src/data/facts/fact-feeds.js'
import { importFacts } from '../../src/data/facts/fact-import.js'
import { importList } from '../../src/data/number-list/import/list-import.js'
import type { DecisionReply } from '../../src/gate/record/decision-document.js'
import { callKinds } from '../support/sandbox-lines.js'
import {
  mondayNoon,
  openTestCallgate,
  type TestCallgate,
  type TestCallgateOptions,
} from '../support/test-callgate.js'

const opened: TestCallgate[] = []
const providers: Server[] = []
const folder = mkdtempSync(join(tmpdir(), 'callgate-reassigned-'))

afterEach(async () => {
  for (const one of opened.splice(0)) await one.end()
  for (const one of providers.splice(0)) one.close()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function open(options: TestCallgateOptions = {}): Promise<TestCallgate> {
  const running = await openTestCallgate(options)
  opened.push(running)
  return running
}

async function decide(
  running: TestCallgate,
  body: Readonly<Record<string, unknown>>,
  key?: string,
): Promise<DecisionReply> {
  const response = await running.postJson('/v1/decisions', body, key)
  expect(response.status).toBe(200)
  return (await response.json()) as DecisionReply
}

const consentTo = (running: TestCallgate, phoneNumber: string, on: string, key?: string) =>
  running.postJson(
    '/app/main/rpc/ebr',
    { ebrList: [{ phoneNumber, type: 'P', dateOfLastContact: on }] },
    key,
  )

const findingOf = ({ findings }: DecisionReply) =>
  findings.find(({ check }) => check === 'reassigned')

describe('the sandbox', () => {
  it('blocks a call of an AI agent to a number that its own check calls reassigned', async () => {
    const running = await open()
    const number = '2125550113'
    expect((await consentTo(running, number, '07/01/2026')).status).toBe(200)
    const check = await running.get(`/v1.5/Data/EnhancedRND?phoneNumber=${number}&date=2026-07-01`)
    expect(await check.json()).toMatchObject({ IsReassigned: true })
    const decision = await decide(running, { number, callKind: 'ai' })
    expect(decision).toMatchObject({ decision: 'block', reason: 'reassigned' })
    const stored = await running.get(`/v1/decisions/${decision.id}`)
    expect(findingOf((await stored.json()) as DecisionReply)?.facts).toMatchObject({
      answer: 'yes',
      number,
      askedAbout: '2026-07-01',
      because: 'consent',
      safeHarbor: false,
      release: '2026-11-15',
      askedBy: 'test-data',
      askedAt: '2026-11-23T17:00:00Z',
    })
    await consentTo(running, number, '11/20/2026')
    expect(await decide(running, { number, callKind: 'ai' })).toMatchObject({ decision: 'allow' })
  })

  it.each([
    ['with an offset', '2026-07-01T22:00:00-04:00', '2026-07-01'],
    ['in UTC', '2026-07-02T03:59:59Z', '2026-07-01'],
    ['at midnight of the person', '2026-07-02T00:00:00-04:00', '2026-07-02'],
    ['from a zone ahead of UTC', '2026-07-02T09:00:00+09:00', '2026-07-01'],
  ])('asks about the local day of a consent given %s', async (_what, given, day) => {
    const running = await open()
    const number = '2125550113'
    expect((await consentTo(running, number, given)).status).toBe(200)
    const { id } = await decide(running, { number, callKind: 'ai' })
    const stored = await running.get(`/v1/decisions/${id}`)
    expect(findingOf((await stored.json()) as DecisionReply)?.facts).toMatchObject({
      askedAbout: day,
    })
  })

  it('asks about the day on which the person confirmed the identity, and no other call moves it', async () => {
    const running = await open()
    const number = '2125550113'
    await consentTo(running, number, '07/01/2026')
    // A person may call: the call rests on no consent.
    const { id } = await decide(running, { number, callKind: 'manual' })
    const note = async (body: object) => {
      const response = await running.postJson(`/v1/decisions/${id}/outcome`, body)
      return [response.status, await response.text()] as const
    }
    const at = '2026-11-23T17:00:00Z'
    const confirmed = { state: 'answered', at, answeredBy: 'person', identityConfirmed: true }
    for (const body of [
      { state: 'dialed', at, identityConfirmed: true },
      { state: 'answered', at, identityConfirmed: true },
      { ...confirmed, answeredBy: 'machine' },
      { ...confirmed, answeredBy: 'unknown' },
      { ...confirmed, identityConfirmed: false },
    ]) {
      const [status, text] = await note(body)
      expect([status, body]).toEqual([400, body])
      expect(text).toContain('identityConfirmed')
    }
    expect((await note({ state: 'dialed', at }))[0]).toBe(200)
    expect((await note({ state: 'answered', at, answeredBy: 'person' }))[0]).toBe(200)
    const ask = () => decide(running, { number, callKind: 'ai' })
    expect(await ask()).toMatchObject({ decision: 'block', reason: 'reassigned' })
    expect(await note(confirmed)).toEqual([200, '{"recorded":true}'])
    const allowed = await ask()
    expect(allowed).toMatchObject({ decision: 'allow' })
    expect(findingOf(allowed)?.facts).toMatchObject({
      answer: 'no',
      askedAbout: '2026-11-23',
      because: 'last-contact',
    })
    const record = await (await running.get(`/v1/decisions/${id}`)).json()
    expect(record).toMatchObject({ outcome: { state: 'answered', identityConfirmed: true } })
  })

  it('takes it only from a key that may store consents', async () => {
    const running = await open()
    const number = '2125550113'
    await consentTo(running, number, '07/01/2026')
    const { id } = await decide(running, { number, callKind: 'manual' })
    const { key } = await running.callgate.keys.create({
      ...{ accountId: 'sandbox', role: 'Agent', label: 'dialer', rights: ['decide', 'records'] },
    })
    const body = { state: 'answered', answeredBy: 'person' }
    const note = (report: object) => running.postJson(`/v1/decisions/${id}/outcome`, report, key)
    const refused = await note({ ...body, identityConfirmed: true })
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining("'consent'"),
    ])
    expect((await note(body)).status).toBe(200)
    expect(await decide(running, { number, callKind: 'ai' })).toMatchObject({
      reason: 'reassigned',
    })
  })

  it('has a line for each answer', async () => {
    const running = await open()
    const reasons = async (line: string) =>
      await Promise.all(
        callKinds.map(async (callKind) => {
          return (await decide(running, { number: `212555${line}`, callKind })).reason
        }),
      )
    expect(await reasons('0106')).toEqual(['permitted', 'permitted', 'permitted'])
    expect(await reasons('0130')).toEqual(['permitted', 'reassigned', 'reassigned'])
    expect(await reasons('0131')).toEqual(['permitted', 'disconnected', 'disconnected'])
    expect(await reasons('0132')).toEqual(['permitted', 'check-unanswered', 'check-unanswered'])
  })
})

/** A provider of the API; `answer` is what it says of every number. */
async function openProvider(answer: { isReassigned: boolean | null } | 'down') {
  let requests = 0
  const server = createServer(async (request, response) => {
    requests += 1
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    if (answer === 'down') return void response.writeHead(500).end()
    const { Data } = JSON.parse(Buffer.concat(chunks).toString()) as {
      Data: { phoneNumber: string }[]
    }
    const rows = Data.map(({ phoneNumber }) => ({
      PhoneNumber: phoneNumber,
      IsReassigned: answer.isReassigned,
      HasSafeHarbor: answer.isReassigned === false,
      OwnIsReassigned: null,
      IsSandBox: false,
    }))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(rows))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  providers.push(server)
  const { port } = server.address() as AddressInfo
  return {
    environment: {
      CALLGATE_LOOKUPS_NAME: 'acme',
      CALLGATE_LOOKUPS_BASE_URL: `http://127.0.0.1:${port}`,
      CALLGATE_LOOKUPS_LOGIN_ID: 'very-secret',
    },
    countRequests: () => requests,
  }
}

/** Adds a file to the facts of a server that runs. */
async function importFile(
  { callgate }: TestCallgate,
  feed: 'reassigned' | 'line-status',
  text: string,
): Promise<void> {
  const path = join(folder, `${feed}-2026-11-18.csv`)
  writeFileSync(path, text)
  const to = getFactsFolder(callgate.settings)
  await importFacts({
    feed: factFeeds[feed],
    files: [path],
    folder: to,
    clock: callgate.runtime.clock,
  })
  await refreshData(callgate)
}

describe('a real account', () => {
  const number = '2127365001'
  const setUp = async (environment: Readonly<Record<string, string>> = {}) => {
    const running = await open({ environment })
    const { settings, runtime } = running.callgate
    const file = join(running.dataDir, 'numbers.txt')
    writeFileSync(file, '2127365999\n')
    const made = { files: [file], folder: getListsFolder(settings), areaCodes: 'all' } as const
    for (const name of ['us-dnc', 'litigators']) {
      await importList({ name, ...made, asOf: mondayNoon, clock: runtime.clock })
    }
    await refreshData(running.callgate)
    await consentTo(running, number, '10/01/2026', running.keys.main)
    const judge = async () => {
      const decision = await decide(running, { number, callKind: 'ai' }, running.keys.main)
      const finding = findingOf(decision)
      return finding && [finding.verdict, finding.says[0]?.code]
    }
    return { running, judge }
  }

  it('is not blocked without a source, and is as soon as there is one without data', async () => {
    const { running, judge } = await setUp()
    expect(await judge()).toEqual(['pass', 'no-source-of-reassigned'])
    await importFile(running, 'reassigned', 'number,date,answer\n2127365998,2026-10-01,no\n')
    expect(await judge()).toEqual(['unknown', 'no-data-since'])
    await importFile(running, 'reassigned', `number,date,answer\n${number},2026-10-01,no\n`)
    expect((await judge())?.[0]).toBe('pass')
    await importFile(running, 'reassigned', `number,date,answer\n${number},2026-10-01,yes\n`)
    expect((await judge())?.[0]).toBe('deny')
  })

  it('is callable again after a disconnect before the day of the conversation, and not after one since', async () => {
    const { running, judge } = await setUp()
    await importFile(
      running,
      'line-status',
      `number,status,checked-on\n${number},disconnected,2026-11-20\n`,
    )
    expect((await judge())?.[0]).toBe('deny')
    const { id } = await decide(running, { number, callKind: 'manual' }, running.keys.main)
    const body = { state: 'answered', answeredBy: 'person', identityConfirmed: true }
    const noted = await running.postJson(`/v1/decisions/${id}/outcome`, body, running.keys.main)
    expect(noted.status).toBe(200)
    expect((await judge())?.[0]).toBe('pass')
    await importFile(
      running,
      'line-status',
      `number,status,checked-on\n${number},disconnected,2026-11-23\n`,
    )
    expect((await judge())?.[0]).toBe('deny')
  })

  it('is told of a line that is out of service', async () => {
    const { running, judge } = await setUp()
    await importFile(
      running,
      'line-status',
      `number,status,checked-on\n${number},disconnected,2026-09-30\n`,
    )
    expect(await judge()).toEqual(['pass', 'no-source-of-reassigned'])
    await importFile(
      running,
      'line-status',
      `number,status,checked-on\n${number},disconnected,2026-10-02\n`,
    )
    expect(await judge()).toEqual(['deny', 'out-of-service'])
  })

  it('is blocked while the file cannot be read', async () => {
    const { running, judge } = await setUp()
    await importFile(running, 'reassigned', `number,date,answer\n${number},2026-10-01,no\n`)
    rmSync(join(getFactsFolder(running.callgate.settings), 'reassigned.sqlite'))
    await refreshData(running.callgate)
    expect(await judge()).toEqual(['unknown', 'reassigned-unreachable'])
  })

  it('is blocked while the file of line statuses, the only one, cannot be read', async () => {
    const { running, judge } = await setUp()
    await importFile(running, 'line-status', `number,status,checked-on\n${number},connected,\n`)
    expect(await judge()).toEqual(['pass', 'no-source-of-reassigned'])
    rmSync(join(getFactsFolder(running.callgate.settings), 'line-status.sqlite'))
    await refreshData(running.callgate)
    expect(await judge()).toEqual(['unknown', 'reassigned-unreachable'])
  })

  it('is asked about at the provider, once for each number and day', async () => {
    const { environment, countRequests } = await openProvider({ isReassigned: false })
    const { running } = await setUp(environment)
    const call = async () => await decide(running, { number, callKind: 'ai' }, running.keys.main)
    const first = await call()
    expect(first).toMatchObject({ decision: 'allow', reason: 'permitted' })
    expect(findingOf(first)?.facts).toMatchObject({
      answer: 'no',
      safeHarbor: true,
      askedBy: 'agent',
      source: 'acme',
      askedAt: '2026-11-23T17:00:00Z',
      release: '2026-11-15',
      holdsUntil: '2026-12-17T00:00:00Z',
    })
    expect((await call()).decision).toBe('allow')
    running.callgate.changes.everythingChanged()
    expect((await call()).decision).toBe('allow')
    expect(countRequests()).toBe(1)
    const byPerson = await decide(running, { number, callKind: 'manual' }, running.keys.main)
    expect(findingOf(byPerson)).toBeUndefined()
  })

  it('is blocked by a provider that says yes, knows nothing, or is down', async () => {
    const verdicts = []
    for (const answer of [{ isReassigned: true }, { isReassigned: null }, 'down'] as const) {
      const { environment } = await openProvider(answer)
      verdicts.push(await (await setUp(environment)).judge())
    }
    expect(verdicts).toEqual([
      ['deny', 'number-reassigned'],
      ['unknown', 'no-data-since'],
      ['unknown', 'reassigned-unreachable'],
    ])
  })

  it('is not asked about at a provider that decisions do not use', async () => {
    const { environment, countRequests } = await openProvider({ isReassigned: true })
    const unused = { ...environment, CALLGATE_LOOKUPS_ASKS_FOR_CALLS: 'false' }
    expect(await (await setUp(unused)).judge()).toEqual(['pass', 'no-source-of-reassigned'])
    expect(countRequests()).toBe(0)
  })
})
