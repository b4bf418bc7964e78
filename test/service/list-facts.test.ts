import { describe, expect, it } from 'vitest'
import { ListFacts, type Lists } from '../../src/service/list-facts.js'
import { Litigators } from '../../src/service/litigator.js'
import type { ProjectScope } from '../../src/service/projects/project-scope.js'
import type { ScopeResolver } from '../../src/service/projects/projects.js'
import { fakeLists, testSandbox } from '../support/scrub-parts.js'
import { n } from '../support/service-subjects.js'
import { instant, testClock } from '../support/test-clock.js'

const sandbox = testSandbox(testClock())
const factsOf = (lists: Lists) => new ListFacts(lists, sandbox)

const loaded = factsOf(
  fakeLists({
    'us-dnc': { numbers: ['2127361000'], covers: ['212', '214'], asOf: '2026-10-01' },
    'canada-dnc': { numbers: ['4167361000'] },
    'state-dnc-tx': { numbers: ['2147361000'], covers: ['214'], asOf: '2026-09-01' },
    litigators: { numbers: ['2127361666'] },
  }),
)

describe('national list', () => {
  it.each([
    { number: '2127361000', country: 'US', status: 'listed' },
    { number: '2127361001', country: 'US', status: 'clear' },
    { number: '3057361000', country: 'US', status: 'not-covered' },
    { number: '4167361000', country: 'CA', status: 'listed' },
    { number: '4167361001', country: 'CA', status: 'clear' },
    // Each country's list speaks for its own numbers alone.
    { number: '2127361000', country: 'CA', status: 'clear' },
  ] as const)('$number in $country is $status', ({ number, country, status }) => {
    expect(loaded.national('main', n(number), country).status).toBe(status)
  })

  it('tells the day of the list', () => {
    expect(loaded.national('main', n('2127361000'), 'US')).toEqual({
      status: 'listed',
      asOf: instant('2026-10-01'),
    })
  })

  it.each([
    { country: 'US', command: 'callgate import list us-dnc <file>' },
    { country: 'CA', command: 'callgate import list canada-dnc <file>' },
  ] as const)('names the missing import of $country', ({ country, command }) => {
    const found = factsOf(fakeLists({})).national('main', n('3057361000'), country)
    expect(found.status === 'not-covered' && found.detail).toContain(command)
    expect(found.status === 'not-covered' && found.detail).toContain('305')
  })
})

describe('state lists', () => {
  it.each([
    { number: '2147361000', regions: ['TX'], status: 'listed', region: 'TX' },
    { number: '2147361000', regions: ['NY', 'TX'], status: 'listed', region: 'TX' },
    { number: '2147361001', regions: ['TX'], status: 'clear', region: undefined },
    { number: '2127361000', regions: ['NY'], status: 'clear', region: undefined },
    { number: '7137361000', regions: ['TX'], status: 'not-covered', region: undefined },
  ])('$number in $regions is $status', ({ number, regions, status, region }) => {
    const found = loaded.state('main', n(number), regions)
    expect({ status: found.status, region: found.region }).toEqual({ status, region })
  })

  it('a list that is kept but cannot be read is not a list that is not kept', () => {
    const damaged = factsOf(
      fakeLists({}, [{ name: 'state-dnc-tx', detail: 'is damaged or cut off' }]),
    )
    expect(damaged.state('main', n('2147361000'), ['TX'])).toMatchObject({
      status: 'not-covered',
      detail: 'state-dnc-tx: is damaged or cut off',
    })
    expect(damaged.state('main', n('2127361000'), ['NY']).status).toBe('clear')
  })

  it('no state list is sure when the whole folder cannot be read', () => {
    const unreadable = factsOf(fakeLists({}, [{ detail: 'permission denied' }]))
    expect(unreadable.state('main', n('2147361000'), ['TX']).status).toBe('not-covered')
  })
})

describe('litigator check', () => {
  const scope: ProjectScope = {
    accountId: 'main',
    projectCode: 'main',
    campaignId: 1,
    internalDncList: 'main',
    ebrProject: 'main',
    industryExemption: false,
    voipRestricted: false,
    hours: [],
  }
  const projects: ScopeResolver = {
    resolve: (_accountId, choice) => (choice?.projectId === undefined ? scope : undefined),
  }
  const litigators = new Litigators(loaded, projects)

  it('gives one row per number in order, duplicates kept', async () => {
    const numbers = ['2127361666', '2127361000', '2127361666']
    expect(await litigators.check('main', { numbers })).toEqual([
      { phone: '2127361666', isLitigator: true },
      { phone: '2127361000', isLitigator: false },
      { phone: '2127361666', isLitigator: true },
    ])
  })

  it('refuses to answer for a real account when no list is loaded', async () => {
    const none = new Litigators(factsOf(fakeLists({})), projects)
    await expect(none.check('main', { numbers: ['2127361000'] })).rejects.toMatchObject({
      kind: 'not-available',
      message: expect.stringContaining('callgate import list litigators <file>'),
    })
  })

  it('names an invalid number and the rule', async () => {
    const numbers = ['2127361000', '+12127361000']
    await expect(litigators.check('main', { numbers })).rejects.toMatchObject({
      kind: 'invalid-request',
      message: "PhoneList[1] '+12127361000': must be exactly 10 digits",
    })
  })

  it('refuses a project that is not the account’s', async () => {
    const request = { numbers: ['2127361000'], projectId: 'OTHER' }
    await expect(litigators.check('main', request)).rejects.toThrow("projId 'OTHER'")
  })

  it('knows the fixed litigators of the sandbox alone for that account', async () => {
    const numbers = ['2125550105', '2125550100', '2127361666']
    const answers = async (accountId: string) =>
      (await litigators.check(accountId, { numbers })).map((row) => row.isLitigator)
    expect(await answers('sandbox')).toEqual([true, false, false])
    expect(await answers('main')).toEqual([false, false, true])
  })
})
