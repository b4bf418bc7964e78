/** Imported lists over HTTP: how old they may be, what they speak for, and what rests on them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { getListsFolder } from '../../src/app/data-folders.js'
import { refreshData } from '../../src/commands/serve/data-watch.js'
import { importList } from '../../src/data/number-list/import/list-import.js'
import type { Instant } from '../../src/domain/time/clock.js'
import { formatInstant } from '../../src/domain/time/dates.js'
import type { DecisionDocument, FindingDocument } from '../../src/gate/decision-document.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const dayMs = 86_400_000
const onDay = (day: number) => mondayNoon + day * dayMs

let running: TestCallgate

beforeEach(async () => {
  running = await openTestCallgate({
    environment: { CALLGATE_LISTS_MAX_AGE_DAYS_LITIGATORS: '60' },
  })
})

afterEach(async () => {
  await running.end()
})

interface Imported {
  readonly text: string
  readonly asOf?: Instant
  readonly areaCodes?: 'all' | readonly string[]
}

/** By another process, while the server runs; gives the version. */
async function importWhileRunning(name: string, imported: Imported): Promise<string> {
  const { text, asOf = mondayNoon, areaCodes = 'all' } = imported
  const file = join(running.dataDir, 'numbers.txt')
  writeFileSync(file, text)
  const { settings, runtime } = running.callgate
  const folder = getListsFolder(settings)
  const options = { name, files: [file], folder, asOf, areaCodes, clock: runtime.clock }
  const { version } = await importList(options)
  await refreshData(running.callgate)
  return version
}

async function decide(number: string, key = running.keys.main): Promise<DecisionDocument> {
  const response = await running.postJson('/v1/decisions', { number, callKind: 'manual' }, key)
  expect(response.status).toBe(200)
  return (await response.json()) as DecisionDocument
}

function findingOf({ findings }: DecisionDocument, check: string): FindingDocument | undefined {
  return findings.find((one) => one.check === check)
}

async function readyDetail(): Promise<string> {
  const response = await running.get('/readyz')
  const { checks } = (await response.json()) as {
    checks: { name: string; ready: boolean; detail: string }[]
  }
  // The age of a list alone is no fault; that no call is allowed any more is.
  const notReady = checks.filter(({ ready }) => !ready).map(({ name }) => name)
  expect([response.status, notReady]).toEqual([503, ['calls']])
  return checks.find(({ name }) => name === 'lists')?.detail ?? ''
}

describe('a national list', () => {
  it('allows on its thirty-first day and blocks a moment later, without a restart', async () => {
    await importWhileRunning('us-dnc', { text: '2127365001\n', asOf: onDay(-31) })
    await importWhileRunning('litigators', { text: '2127365002\n' })
    const allowed = await decide('2127365000')
    expect(allowed).toMatchObject({ decision: 'allow', reason: 'permitted' })
    expect(allowed.validUntil).toBe(formatInstant(mondayNoon + 1))
    expect((await decide('2127365001')).reason).toBe('national-dnc')
    running.clock.at += 1
    for (const number of ['2127365000', '2127365001', '2127365003']) {
      const blocked = await decide(number)
      expect(blocked).toMatchObject({ decision: 'block', reason: 'list-stale' })
      expect(blocked.message).toContain('so the number is not known to be clean')
      expect(blocked.message).toContain('more than 31 days ago, and may be 31 days old')
      expect(blocked.message).not.toContain('imported national list')
    }
    // The account is in use once its decisions are in the index.
    await running.callgate.journal.drain()
    expect(await readyDetail()).toContain('us-dnc has been too old since 2026-11-23T17:00:00')
    await importWhileRunning('us-dnc', { text: '2127365001\n' })
    expect((await decide('2127365000')).reason).toBe('permitted')
  })

  it('is a B row in the scrub once it is too old', async () => {
    await importWhileRunning('us-dnc', { text: '2127365001\n', asOf: onDay(-31) })
    const letters = async () => {
      const list = '2127365000,2127365001'
      const path = `/app/main/rpc/scrub?phoneList=${list}&version=8&output=json`
      const rows = (await (await running.get(path, running.keys.main)).json()) as object[]
      return rows.map((row) => (row as { ResultCode: string }).ResultCode)
    }
    expect(await letters()).toEqual(['W', 'D'])
    running.clock.at += 1
    expect(await letters()).toEqual(['B', 'B'])
  })
})

describe('a list of litigators', () => {
  it('that is too old blocks at the gate and refuses at the litigator call', async () => {
    await importWhileRunning('us-dnc', { text: '2127365001\n' })
    await importWhileRunning('litigators', { text: '2127365002\n', asOf: onDay(-60) })
    const ask = () => running.get('/v1.5/Scrub/litigator?phoneList=2127365000', running.keys.main)
    const before = await ask()
    expect((await decide('2127365000')).decision).toBe('allow')
    running.clock.at += 1
    const blocked = await decide('2127365000')
    expect(blocked).toMatchObject({ decision: 'block', reason: 'list-stale' })
    expect(findingOf(blocked, 'litigator')).toMatchObject({ verdict: 'unknown' })
    expect((await decide('2127365002')).reason).toBe('litigator')
    expect(before.status).toBe(200)
    const after = await ask()
    expect(after.status).toBe(503)
    expect(await after.text()).toContain("the list 'litigators' is too old to be used")
  })
})

describe('what a decision rests on', () => {
  const asOf = formatInstant(mondayNoon)

  it('is in its answer and its record, check by check', async () => {
    const text = '2127365001\n'
    const national = await importWhileRunning('us-dnc', { text })
    const state = await importWhileRunning('state-dnc-ny', { text, asOf: onDay(-3) })
    const litigators = await importWhileRunning('litigators', { text: '2127365002\n' })
    for (const number of ['2127365000', '2127365001', '2127365002']) {
      const made = await decide(number)
      expect(findingOf(made, 'litigator')?.lists).toEqual([
        { name: 'litigators', version: litigators, asOf },
      ])
      expect(findingOf(made, 'permission')?.lists).toEqual([
        { name: 'us-dnc', version: national, asOf },
        { name: 'state-dnc-ny', version: state, asOf: formatInstant(onDay(-3)) },
        { name: 'litigators', version: litigators, asOf },
      ])
      expect(findingOf(made, 'internal-dnc')).not.toHaveProperty('lists')
      expect(findingOf(made, 'calling-hours')).not.toHaveProperty('lists')
      const record = await running.get(`/v1/decisions/${made.id}`, running.keys.main)
      expect(await record.json()).toEqual(made)
    }
  })

  it('changes with the next import, and an old record still names the old version', async () => {
    await importWhileRunning('litigators', { text: '2127365002\n' })
    const first = await importWhileRunning('us-dnc', { text: '2127365001\n' })
    const before = await decide('2127365000')
    const second = await importWhileRunning('us-dnc', { text: '2127365000\n2127365001\n' })
    const after = await decide('2127365000')
    expect(second).not.toBe(first)
    const national = (decision: DecisionDocument) => findingOf(decision, 'permission')?.lists?.[0]
    expect([before.decision, national(before)?.version]).toEqual(['allow', first])
    expect([after.decision, national(after)?.version]).toEqual(['block', second])
    const record = await running.get(`/v1/decisions/${before.id}`, running.keys.main)
    expect(national((await record.json()) as DecisionDocument)?.version).toBe(first)
  })

  it('is nothing where no list is kept, and its own lists for the sandbox', async () => {
    const bare = await decide('2127365000')
    for (const finding of bare.findings) expect(finding).not.toHaveProperty('lists')
    const sandbox = await decide('2125550100', running.keys.sandbox)
    const names = findingOf(sandbox, 'permission')?.lists?.map(({ name, version }) => [
      name,
      version,
    ])
    expect(names).toEqual([
      ['us-dnc', 'sandbox'],
      ['litigators', 'sandbox'],
    ])
  })
})

describe('a scrub reply', () => {
  const scrub = (phoneList: string, more = '', key = running.keys.main) =>
    running.get(`/app/main/rpc/scrub?phoneList=${phoneList}${more}`, key)
  const header = (response: Response) => response.headers.get('x-callgate-lists')

  it('names in a header every list a row rests on, in CSV and JSON', async () => {
    const text = '2127365001\n'
    const national = await importWhileRunning('us-dnc', { text })
    const canada = await importWhileRunning('canada-dnc', { text: '4167365001\n' })
    const state = await importWhileRunning('state-dnc-fl', { text: '3057365001\n' })
    const litigators = await importWhileRunning('litigators', { text })
    const ofEach = `us-dnc=${national};litigators=${litigators}`
    expect(header(await scrub('2127365000'))).toBe(ofEach)
    expect(header(await scrub('2127365000', '&output=json'))).toBe(ofEach)
    expect(header(await scrub('212,2127365000,2127365003'))).toBe(ofEach)
    expect(header(await scrub('2127365000,4167365000,3057365000,2127365001'))).toBe(
      `${ofEach};canada-dnc=${canada};state-dnc-fl=${state}`,
    )
    const posted = await running.postJson(
      '/app/main/rpc/scrub',
      { phoneList: '3057365000' },
      running.keys.main,
    )
    expect(header(posted)).toBe(`us-dnc=${national};state-dnc-fl=${state};litigators=${litigators}`)
  })

  it('names none where none was looked at, and the sandbox’s own', async () => {
    expect(header(await scrub('212,2127365000'))).toBeNull()
    expect(header(await scrub('2125550100', '', running.keys.sandbox))).toBe(
      'us-dnc=sandbox;litigators=sandbox',
    )
  })

  it('has a header that the description tells of', async () => {
    const { paths } = (await (await running.get('/openapi.json')).json()) as {
      paths: Record<string, Record<string, { responses: Record<string, { headers: object }> }>>
    }
    const operations = Object.values(paths['/app/main/rpc/scrub'] ?? {})
    expect(operations).toHaveLength(2)
    for (const { responses } of operations) {
      expect(responses['200']?.headers).toHaveProperty('X-Callgate-Lists')
    }
  })
})

describe('a registry bought by area code', () => {
  it('blocks the numbers of other area codes, and the subscription narrows it further', async () => {
    const text = '2127365001\n6467365001\n'
    await importWhileRunning('us-dnc', { text, areaCodes: ['212', '646'] })
    await importWhileRunning('litigators', { text: '2127365002\n' })
    const numbers = ['2127365000', '6467365000', '2127365001', '3057365000']
    const outcome = async () => {
      const path = `/app/main/rpc/scrub?phoneList=${numbers.join(',')}&output=json`
      const rows = await (await running.get(path, running.keys.main)).json()
      const letters = (rows as { ResultCode: string }[]).map(({ ResultCode }) => ResultCode)
      const decisions = await Promise.all(numbers.map((number) => decide(number)))
      return decisions.map(({ reason }, index) => `${letters[index]} ${reason}`)
    }
    expect(await outcome()).toEqual([
      'W permitted',
      'W permitted',
      'D national-dnc',
      'B list-not-covering',
    ])
    const { projects } = running.callgate
    const project = { accountId: 'main', code: 'main' }
    const validated = { status: 'validated', expiration: '2027-01-31', orgId: '12345678' } as const
    await projects.registrations.recordFtcValidation(project, { ...validated, areaCodes: ['212'] })
    expect(await outcome()).toEqual([
      'W permitted',
      'B list-not-covering',
      'D national-dnc',
      'B list-not-covering',
    ])
    const beyond = await decide('6467365000')
    expect(beyond.message).toContain("federal subscription of project 'main' does not cover")
    await projects.registrations.recordFtcValidation(project, { ...validated, entireUs: true })
    expect((await outcome()).slice(0, 2)).toEqual(['W permitted', 'W permitted'])
  })
})
