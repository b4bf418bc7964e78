import { describe, expect, it } from 'vitest'
import { allLists, type ListUser } from '../../src/data/number-list/list-names.js'
import type { Clock } from '../../src/domain/time/clock.js'
import { describeSaid } from '../../src/domain/words/words.js'
import { type AccountLists, ListFacts, type Lists } from '../../src/service/lists/list-facts.js'
import { noListOwners } from '../../src/service/lists/list-rights.js'
import { LitigatorCheck } from '../../src/service/lists/litigator-check.js'
import type { ProjectScope, ScopeResolver } from '../../src/service/projects/project-scope.js'
import { chooseByAccount } from '../../src/service/sandbox/sandbox.js'
import { SandboxLists } from '../../src/service/sandbox/sandbox-lists.js'
import { ageless, agesWith, fakeLists, testSandbox } from '../support/scrub-parts.js'
import { n } from '../support/service-subjects.js'
import { instant, testClock } from '../support/test-clock.js'

const sandbox = testSandbox(testClock())
const sandboxLists = new SandboxLists(sandbox)
const now = '2026-11-20T12:00:00Z'
const main = { accountId: 'main', listOwners: noListOwners }
const factsOf = (lists: Lists, ages = ageless, clock: Clock = testClock(now)) =>
  new ListFacts({ lists, ages, clock })

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
    // Each country's list covers its own numbers alone.
    { number: '2127361000', country: 'CA', status: 'clear' },
  ] as const)('$number in $country is $status', ({ number, country, status }) => {
    expect(loaded.checkNational(n(number), country, main).status).toBe(status)
  })

  it('tells the day of the list', () => {
    expect(loaded.checkNational(n('2127361000'), 'US', main)).toMatchObject({
      status: 'listed',
      asOf: instant('2026-10-01'),
    })
  })

  it.each([
    { country: 'US', command: 'callgate import us-dnc' },
    { country: 'CA', command: 'callgate import canada-dnc' },
  ] as const)('names the missing import of $country', ({ country, command }) => {
    const found = factsOf(fakeLists({})).checkNational(n('3057361000'), country, main)
    expect(found.status === 'not-covered' && found.says).toMatchObject([
      { code: 'list-not-covering', params: { areaCode: '305', load: command } },
    ])
  })
})

describe('a list that is too old', () => {
  const kept = {
    'us-dnc': { numbers: ['2127361000'], covers: ['212'], asOf: '2026-10-01' },
    'canada-dnc': { asOf: '2026-10-31' },
    'state-dnc-ny': { numbers: ['2127361000'], asOf: '2026-08-01' },
    'state-dnc-tx': { numbers: ['2147361000'], asOf: '2026-11-01' },
    litigators: { numbers: ['2127361666'], asOf: '2026-09-01' },
  }
  const days = { usDnc: 31, canadaDnc: 31, stateDnc: 92, litigators: 60 }
  const clock = testClock()
  const facts = factsOf(fakeLists(kept), agesWith(days, { TX: 20 }), clock)
  const national = (number: string) => facts.checkNational(n(number), 'US', main)
  const state = (number: string, regions: readonly string[]) =>
    facts.checkState(n(number), regions, main)
  const litigator = (number: string) => facts.checkLitigator(n(number), main)
  const asked = {
    'national, listed': () => national('2127361000'),
    'national, clear': () => national('2127361001'),
    'national of the other country': () => facts.checkNational(n('4167361000'), 'CA', main),
    'state, listed': () => state('2127361000', ['NY']),
    'state, clear': () => state('2127361001', ['NY']),
    'two states, one of them listed': () => state('2147361000', ['NY', 'TX']),
    'litigator, listed': () => litigator('2127361666'),
    'litigator, clear': () => litigator('2127361001'),
  }
  const cases: readonly (readonly [keyof typeof asked, string, string])[] = [
    ['national, listed', '2026-11-01', 'listed'],
    ['national, clear', '2026-11-01', 'clear'],
    ['national of the other country', '2026-12-01', 'clear'],
    ['state, listed', '2026-11-01', 'listed'],
    ['state, clear', '2026-11-01', 'clear'],
    ['two states, one of them listed', '2026-11-01', 'listed'],
    ['litigator, listed', '2026-10-31', 'listed'],
    ['litigator, clear', '2026-10-31', 'clear'],
  ]
  // Who was on the list of litigators stays one; whoever was not is no longer known to be clear.
  const still: readonly (keyof typeof asked)[] = ['litigator, listed']

  it.each(cases)('%s: answers up to its age at %s, %s', (what, until, status) => {
    clock.set(until)
    const found = asked[what]()
    expect(found.status).toBe(status)
    expect(found.holdsUntil).toBe(instant(until) + 1)
    clock.advance(1)
    const later = asked[what]()
    if (still.includes(what)) {
      expect(later).toMatchObject({ status, holdsUntil: undefined })
    } else {
      expect(later).toMatchObject({ status: 'not-covered', isStale: true })
    }
    expect(later.lists).toEqual(found.lists)
  })

  it('says how old it is, how old it may be, by what rule, and what to do', () => {
    clock.set('2026-11-15T12:00:00Z')
    const found = national('2127361001')
    expect(found.status === 'not-covered' && describeSaid(found.says)).toBe(
      "the list 'us-dnc' is too old to be used: it is as of 2026-10-01T00:00:00Z, more than 45 days " +
        'ago, and may be 31 days old (lists.maxAgeDays.usDnc, 16 CFR 310.4(b)(3)(iv)); ' +
        'load one with: callgate import us-dnc',
    )
    const ofState = state('2147361000', ['TX', 'NY'])
    expect(ofState.status === 'not-covered' && ofState.says).toMatchObject([
      { code: 'list-too-old', params: { list: 'state-dnc-ny' } },
    ])
  })

  it('and silent about the area code is one that does not cover it', () => {
    clock.set('2026-12-15')
    const found = national('3057361000')
    expect(found).toMatchObject({
      status: 'not-covered',
      says: [{ code: 'list-not-covering', params: { areaCode: '305' } }],
    })
    expect(found.status === 'not-covered' && found.isStale).toBeUndefined()
  })

  it('answers again as soon as a newer one takes its place', () => {
    clock.set('2026-12-01')
    let loaded = fakeLists({ 'us-dnc': { asOf: '2026-10-01' } })
    let announce = () => {}
    const swapped = factsOf(
      {
        all: () => loaded.all(),
        needed: new Set(),
        problems: () => [],
        onChange: (listener) => {
          announce = listener
          return () => undefined
        },
      },
      agesWith(days),
      clock,
    )
    expect(swapped.checkNational(n('2127361000'), 'US', main).status).toBe('not-covered')
    loaded = fakeLists({ 'us-dnc': { asOf: '2026-11-20' } })
    announce()
    expect(swapped.checkNational(n('2127361000'), 'US', main)).toMatchObject({
      status: 'clear',
      holdsUntil: instant('2026-12-21') + 1,
    })
  })

  it('is none of the sandbox, whose facts have no age', () => {
    clock.set('2046-11-20')
    expect(sandboxLists.checkNational(n('2125550100'), 'US')).toMatchObject({
      status: 'clear',
      holdsUntil: undefined,
    })
    expect(sandboxLists.checkLitigator(n('2125550105')).status).toBe('listed')
  })
})

describe('the lists a finding rests on', () => {
  const names = (lists: readonly { readonly name: string }[]) => lists.map(({ name }) => name)
  const facts = factsOf(
    fakeLists(
      {
        'us-dnc': { numbers: ['2127361000'], covers: ['212'] },
        'state-dnc-ny': { numbers: ['2127361000'] },
        'state-dnc-nj': {},
        'ported-wireless': {},
        'ported-wireline': {},
      },
      [{ name: 'state-dnc-pa', detail: 'is damaged' }],
    ),
  )

  it.each([
    { number: '2127361000', country: 'US', lists: ['us-dnc'] },
    { number: '2127361001', country: 'US', lists: ['us-dnc'] },
    // Looked at, and silent.
    { number: '3057361000', country: 'US', lists: ['us-dnc'] },
    { number: '4167361000', country: 'CA', lists: [] },
  ] as const)('national of $number: $lists', ({ number, country, lists }) => {
    expect(names(facts.checkNational(n(number), country, main).lists)).toEqual(lists)
  })

  it.each([
    { number: '2127361000', regions: ['NY'], lists: ['state-dnc-ny'] },
    { number: '2127361001', regions: ['NY'], lists: ['state-dnc-ny'] },
    { number: '2127361001', regions: ['CT'], lists: [] },
    { number: '2127361000', regions: ['NJ', 'CT', 'NY'], lists: ['state-dnc-nj', 'state-dnc-ny'] },
    { number: '2127361000', regions: ['NY', 'PA'], lists: ['state-dnc-ny'] },
  ])('of $regions for $number: $lists', ({ number, regions, lists }) => {
    expect(names(facts.checkState(n(number), regions, main).lists)).toEqual(lists)
  })

  it('are told by name, version and day, not by the numbers in them', () => {
    expect(facts.checkNational(n('2127361000'), 'US', main).lists).toEqual([
      { name: 'us-dnc', version: 'test', asOf: instant('2026-11-01') },
    ])
  })

  it('are the same objects for every number, so that a look-up makes none', () => {
    const one = facts.checkNational(n('2127361001'), 'US', main)
    expect(facts.checkNational(n('2127361002'), 'US', main)).toBe(one)
    expect(facts.checkNational(n('2127361000'), 'US', main).lists[0]).toBe(one.lists[0])
    expect(facts.findPortedEvidence().lists).toBe(facts.findPortedEvidence().lists)
  })

  it('are, of the class of a line, those of ported numbers that are kept', () => {
    expect(names(facts.findPortedEvidence().lists)).toEqual(['ported-wireless', 'ported-wireline'])
    expect(sandboxLists.findPortedEvidence().lists).toEqual([])
    expect(factsOf(fakeLists({})).findPortedEvidence().lists).toEqual([])
    const one = factsOf(fakeLists({ 'ported-wireline': {} }))
    expect(names(one.findPortedEvidence().lists)).toEqual(['ported-wireline'])
  })

  it('end what rests on them with the first that becomes too old, and then no more', () => {
    const clock = testClock('2026-11-20')
    const two = { 'ported-wireless': { asOf: '2026-11-10' }, 'ported-wireline': {} }
    const aging = factsOf(fakeLists(two), agesWith({ ported: 15 }), clock)
    const until = () => aging.findPortedEvidence().holdsUntil
    expect(until()).toBe(instant('2026-11-25') + 1)
    clock.set('2026-11-16')
    expect(until()).toBe(instant('2026-11-16') + 1)
    clock.set('2026-11-26')
    expect(until()).toBeUndefined()
  })

  it('are those of the sandbox for its account', () => {
    const asOf = sandbox.listsAsOf
    const version = 'sandbox'
    const found = sandboxLists.checkNational(n('4165550100'), 'CA')
    expect(found.lists).toEqual([{ name: 'canada-dnc', version, asOf }])
    const litigator = sandboxLists.checkLitigator(n('2125550105'))
    expect(litigator.lists).toEqual([{ name: 'litigators', version, asOf }])
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
    const found = loaded.checkState(n(number), regions, main)
    expect({ status: found.status, region: found.region }).toEqual({ status, region })
  })

  it('a list that is kept but cannot be read is not a list that is not kept', () => {
    const damaged = factsOf(
      fakeLists({}, [{ name: 'state-dnc-tx', detail: 'is damaged or truncated' }]),
    )
    expect(damaged.checkState(n('2147361000'), ['TX'], main)).toMatchObject({
      status: 'not-covered',
      says: [
        {
          code: 'list-unreadable',
          params: { list: 'state-dnc-tx' },
          quote: 'is damaged or truncated',
        },
      ],
    })
    expect(damaged.checkState(n('2127361000'), ['NY'], main).status).toBe('clear')
  })

  it('no state list is sure when the whole folder cannot be read', () => {
    const unreadable = factsOf(fakeLists({}, [{ detail: 'permission denied' }]))
    expect(unreadable.checkState(n('2147361000'), ['TX'], main).status).toBe('not-covered')
  })
})

describe('lists of accounts', () => {
  const facts = factsOf(
    fakeLists({
      'us-dnc': { numbers: ['2127361000'], covers: ['212', '214'] },
      litigators: { numbers: ['2127361666'] },
      'state-dnc-tx': { covers: ['214'] },
      'acme/us-dnc': { numbers: ['2127361001'], covers: ['212'] },
      'acme/state-dnc-ny': { numbers: ['2127361002'] },
    }),
  )
  const user = (accountId: string, owners: Readonly<Record<string, string>> = {}): ListUser => ({
    accountId,
    listOwners: new Map(Object.entries(owners)),
  })
  const national = (number: string, by: ListUser) => facts.checkNational(n(number), 'US', by)

  it.each([
    { number: '2127361001', by: user('acme'), status: 'listed' },
    { number: '2127361000', by: user('acme'), status: 'clear' },
    { number: '2127361000', by: main, status: 'listed' },
    { number: '2127361001', by: main, status: 'clear' },
    // Its own list applies even if it may use another one, also where its own covers less.
    { number: '2127361000', by: user('acme', { [allLists]: 'main' }), status: 'clear' },
    { number: '2147361000', by: user('acme', { [allLists]: 'main' }), status: 'not-covered' },
    { number: '2127361000', by: user('beta'), status: 'not-covered' },
    { number: '2127361000', by: user('beta', { litigators: 'main' }), status: 'not-covered' },
    { number: '2127361000', by: user('beta', { 'us-dnc': 'main' }), status: 'listed' },
    { number: '2127361001', by: user('beta', { 'us-dnc': 'acme' }), status: 'listed' },
    // A right to one list is more exact than one to all of them.
    {
      number: '2127361001',
      by: user('beta', { [allLists]: 'main', 'us-dnc': 'acme' }),
      status: 'listed',
    },
    // A right is no list.
    { number: '2127361000', by: user('beta', { 'us-dnc': 'gone' }), status: 'not-covered' },
  ])('$number for $by.accountId $by.listOwners is $status', ({ number, by, status }) => {
    expect(national(number, by).status).toBe(status)
  })

  it('names the list by whose it is', () => {
    const lists = (by: ListUser) => national('2127361005', by).lists.map(({ name }) => name)
    expect(lists(main)).toEqual(['us-dnc'])
    expect(lists(user('acme'))).toEqual(['acme/us-dnc'])
    expect(lists(user('beta', { 'us-dnc': 'acme' }))).toEqual(['acme/us-dnc'])
  })

  it('says what to do without a list', () => {
    const found = national('2127361000', user('beta'))
    expect(found.lists).toEqual([])
    expect(found.status === 'not-covered' && describeSaid(found.says)).toBe(
      "account beta has no list 'us-dnc' and no right to that of another account; load one with: " +
        'callgate import us-dnc --account beta, or state a right: callgate lists share us-dnc --with beta',
    )
  })

  it.each([
    { what: 'without any', by: user('beta'), status: 'not-covered' },
    { what: 'with a right', by: user('beta', { litigators: 'main' }), status: 'listed' },
  ])('litigators $what: $status', ({ by, status }) => {
    expect(facts.checkLitigator(n('2127361666'), by).status).toBe(status)
  })

  it.each([
    { region: 'TX', by: user('beta'), status: 'not-covered' },
    { region: 'TX', by: user('beta', { 'state-dnc-tx': 'main' }), status: 'clear' },
    // Only the lists of the operator are needed by everybody.
    { region: 'NY', by: user('beta'), status: 'clear' },
    { region: 'NY', by: main, status: 'clear' },
    { region: 'NY', by: user('acme'), status: 'listed' },
  ])('list of $region for $by.accountId $by.listOwners: $status', ({ region, by, status }) => {
    const number = region === 'TX' ? '2147361002' : '2127361002'
    expect(facts.checkState(n(number), [region], by).status).toBe(status)
  })

  it('a state list that is needed, and is not here, covers nobody', () => {
    const edge = factsOf({ ...fakeLists({ 'us-dnc': {} }), needed: new Set(['state-dnc-fl']) })
    const check = (by: ListUser) => edge.checkState(n('8507361000'), ['FL'], by).status
    expect(check(user('acme'))).toBe('not-covered')
    expect(check(main)).toBe('clear')
  })

  it('a right to a state list that there is not covers nobody', () => {
    const found = facts.checkState(
      n('8507361000'),
      ['FL'],
      user('beta', { 'state-dnc-fl': 'acme' }),
    )
    expect(found.status).toBe('not-covered')
    const all = facts.checkState(n('8507361000'), ['FL'], user('beta', { [allLists]: 'acme' }))
    expect(all.status).toBe('clear')
  })

  it.each([
    { problem: 'acme/', by: user('acme'), status: 'not-covered' },
    { problem: 'acme/', by: user('acme', { [allLists]: 'main' }), status: 'not-covered' },
    { problem: 'acme/', by: user('acmee', { [allLists]: 'main' }), status: 'clear' },
    { problem: '/', by: user('acme', { [allLists]: 'main' }), status: 'not-covered' },
    { problem: '/', by: main, status: 'clear' },
  ])(
    'a folder $problem that cannot be read, for $by.accountId: $status',
    ({ problem, by, status }) => {
      const lists = fakeLists({ 'us-dnc': {} }, [{ name: problem, detail: 'EACCES' }])
      expect(factsOf(lists).checkNational(n('2127361005'), 'US', by).status).toBe(status)
    },
  )

  it('a list of its own that cannot be read is not replaced by that of another account', () => {
    const damaged = factsOf(
      fakeLists({ 'us-dnc': { covers: ['212'] } }, [{ name: 'acme/us-dnc', detail: 'damaged' }]),
    )
    const found = damaged.checkNational(n('2127361000'), 'US', user('acme', { [allLists]: 'main' }))
    expect(found).toMatchObject({ status: 'not-covered', isUnusable: true })
  })

  it('is as old as that of account main may be', () => {
    const clock = testClock('2026-12-02T00:00:00Z')
    const days = { usDnc: 31, canadaDnc: 31, stateDnc: 92, litigators: 60 }
    const lists = fakeLists({ 'acme/us-dnc': { covers: ['212'], asOf: '2026-11-01' } })
    const aged = factsOf(lists, agesWith(days), clock)
    const check = () => aged.checkNational(n('2127361000'), 'US', user('acme'))
    expect(check().status).toBe('clear')
    clock.set('2026-12-02T00:00:00.001Z')
    expect(check()).toMatchObject({ status: 'not-covered', isStale: true })
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
    listOwners: noListOwners,
  }
  const projects: ScopeResolver = {
    resolve: (_accountId, choice) => (choice?.projectId === undefined ? scope : undefined),
  }
  const litigators = new LitigatorCheck(
    chooseByAccount<{ lists: AccountLists }>({
      real: { lists: loaded },
      sandbox: { lists: sandboxLists },
    }),
    projects,
  )

  it('gives one row per number in order, duplicates kept', async () => {
    const numbers = ['2127361666', '2127361000', '2127361666']
    expect(await litigators.check('main', { numbers })).toEqual([
      { phone: '2127361666', isLitigator: true },
      { phone: '2127361000', isLitigator: false },
      { phone: '2127361666', isLitigator: true },
    ])
  })

  it('refuses to answer for a real account when no list is loaded', async () => {
    const none = new LitigatorCheck(() => ({ lists: factsOf(fakeLists({})) }), projects)
    await expect(none.check('main', { numbers: ['2127361000'] })).rejects.toMatchObject({
      kind: 'not-available',
      message: expect.stringContaining('callgate import litigators'),
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
