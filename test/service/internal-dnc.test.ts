import { describe, expect, test } from 'vitest'
import type { Role } from '../../src/domain/caller.js'
import { fixedClock } from '../../src/domain/time/clock.js'
import type { FixedFacts } from '../../src/service/account-view.js'
import { chooseByAccount } from '../../src/service/sandbox/sandbox.js'
import { useDatabase } from '../support/database.js'
import { buildSubjects, caller, n, type SubjectsOptions } from '../support/service-subjects.js'
import { instant } from '../support/test-clock.js'

const database = useDatabase()
const build = (options?: SubjectsOptions) => buildSubjects(database.storage, options)
const me = caller('main')

const a = '2125550100'
const b = '2125550101'
const c = '2125550102'
const off = (phone: string) => ({
  phone,
  onList: false,
  addedOn: null,
  lastModifiedOn: null,
  invalid: false,
})
const on = (phone: string, addedOn: string, lastModifiedOn = addedOn) => ({
  phone,
  onList: true,
  addedOn,
  lastModifiedOn,
  invalid: false,
})
const adding = (numbers: readonly string[], projectId?: string) => ({
  numbers,
  projectId,
  ignoreInvalid: false,
})

describe('adding and removing', () => {
  test('an added number is on the list from that day', async () => {
    const { internalDnc } = await build()
    await internalDnc.add(me, adding([a]))
    expect(await internalDnc.readStatus(me, { numbers: [a, b] })).toEqual([
      on(a, '2026-11-20'),
      off(b),
    ])
  })

  test('adding a known number changes nothing', async () => {
    const { internalDnc, clock } = await build()
    await internalDnc.add(me, adding([a]))
    clock.set('2026-12-24T00:00:00Z')
    await internalDnc.add(me, adding([a]))
    expect(await internalDnc.readStatus(me, { numbers: [a] })).toEqual([on(a, '2026-11-20')])
    expect(await internalDnc.count(me)).toEqual({ count: 1, lastModifiedOn: '2026-11-20' })
  })

  test('removing an unknown number, or what is no number, changes nothing', async () => {
    const { internalDnc, clock } = await build()
    await internalDnc.add(me, adding([a]))
    clock.set('2026-12-24T00:00:00Z')
    await internalDnc.remove(me, { numbers: [b, 'nonsense', `1${a}`] })
    expect(await internalDnc.count(me)).toEqual({ count: 1, lastModifiedOn: '2026-11-20' })
  })

  test('a removed number is off the list and its row is kept as evidence', async () => {
    const { internalDnc, clock, changeHead } = await build()
    const before = await changeHead.readLatest()
    await internalDnc.add(me, adding([a, b]))
    const addedAt = clock.now()
    clock.set('2026-11-21T00:00:00Z')
    await internalDnc.remove(me, { numbers: [a] })
    expect(await internalDnc.readStatus(me, { numbers: [a, b] })).toEqual([
      off(a),
      on(b, '2026-11-20'),
    ])
    expect(await internalDnc.count(me)).toEqual({ count: 1, lastModifiedOn: '2026-11-21' })
    const entries = await internalDnc.findEntries('main', 'main', [n(a), n(b), n(c)])
    expect(Object.fromEntries(entries)).toEqual({
      [a]: { addedAt, removedAt: clock.now(), optedOutAt: addedAt, optedOutSeq: before + 1 },
      [b]: { addedAt, removedAt: null, optedOutAt: addedAt, optedOutSeq: before + 1 },
    })
  })

  test('a number added again counts from then', async () => {
    const { internalDnc, clock, changeHead } = await build()
    const before = await changeHead.readLatest()
    await internalDnc.add(me, adding([a]))
    await internalDnc.remove(me, { numbers: [a] })
    clock.set('2026-12-01T09:00:00Z')
    await internalDnc.add(me, adding([a]))
    expect(await internalDnc.readStatus(me, { numbers: [a] })).toEqual([on(a, '2026-12-01')])
    expect(Object.fromEntries(await internalDnc.findEntries('main', 'main', [n(a)]))).toEqual({
      [a]: {
        addedAt: clock.now(),
        removedAt: null,
        optedOutAt: clock.now(),
        optedOutSeq: before + 3,
      },
    })
  })

  test('a further opt-out of a listed number keeps its dates and is noted', async () => {
    const { internalDnc, clock, changeHead } = await build()
    const before = await changeHead.readLatest()
    await internalDnc.add(me, adding([a]))
    const addedAt = clock.now()
    clock.set('2026-12-01T09:00:00Z')
    await internalDnc.add(me, adding([a, b]))
    expect(await internalDnc.readStatus(me, { numbers: [a] })).toEqual([on(a, '2026-11-20')])
    expect((await internalDnc.findEntries('main', 'main', [n(a)])).get(a)).toEqual({
      addedAt,
      removedAt: null,
      optedOutAt: clock.now(),
      optedOutSeq: before + 2,
    })
    clock.set('2026-12-02T09:00:00Z')
    await internalDnc.add(me, adding([a]))
    expect(await internalDnc.count(me)).toEqual({ count: 2, lastModifiedOn: '2026-12-01' })
  })

  test('changes are announced for the account once they are readable', async () => {
    const { internalDnc, changes } = await build()
    const heard: string[] = []
    const seen: Promise<unknown>[] = []
    changes.numbersChanged = (account, numbers) => {
      heard.push(`${account}:${numbers.join('+')}`)
      seen.push(internalDnc.readStatus(me, { numbers: [a] }).then((items) => items[0]?.onList))
    }
    await internalDnc.add(me, adding([a, b, a]))
    expect(heard).toEqual([`main:${a}+${b}`])
    expect(await Promise.all(seen)).toEqual([true])
    await internalDnc.remove(me, { numbers: [a] })
    expect(heard).toEqual([`main:${a}+${b}`, `main:${a}`])
    expect(await Promise.all(seen)).toEqual([true, false])
  })
})

describe('numbers that are not ten digits', () => {
  const bad = ['212555010', '21255501000', '+12125550100', '212-555-0100', '212555010a', '', ' ']

  test.each(bad)(
    '%j among good ones refuses the whole add, with the text of the spec',
    async (text) => {
      const { internalDnc, changes } = await build()
      await expect(internalDnc.add(me, adding([a, text, b]))).rejects.toMatchObject({
        kind: 'invalid-request',
        message: `Error importing or updating phone numbers. Check that the numbers are of a probable format:${text}`,
      })
      expect(await internalDnc.count(me)).toEqual({ count: 0, lastModifiedOn: null })
      expect(changes.heard).toEqual([])
    },
  )

  test.each(bad)('%j is skipped when asked to ignore invalid numbers', async (text) => {
    const { internalDnc } = await build()
    await internalDnc.add(me, { numbers: [a, text, b], ignoreInvalid: true })
    expect(await internalDnc.count(me)).toMatchObject({ count: 2 })
  })

  test.each(bad)('%j is marked in a status', async (text) => {
    const { internalDnc } = await build()
    expect(await internalDnc.readStatus(me, { numbers: [text] })).toEqual([
      { ...off(text), invalid: true },
    ])
  })
})

describe('status and count', () => {
  test('items come in request order, with duplicates, as written', async () => {
    const { internalDnc } = await build()
    await internalDnc.add(me, adding([b]))
    const items = await internalDnc.readStatus(me, { numbers: [c, b, 'x', b, c] })
    expect(items.map((item) => [item.phone, item.onList, item.invalid])).toEqual([
      [c, false, false],
      [b, true, false],
      ['x', false, true],
      [b, true, false],
      [c, false, false],
    ])
  })

  test('a list never used counts nothing and has no day', async () => {
    const { internalDnc } = await build()
    expect(await internalDnc.count(me)).toEqual({ count: 0, lastModifiedOn: null })
    await internalDnc.remove(me, { numbers: [a] })
    expect(await internalDnc.count(me)).toEqual({ count: 0, lastModifiedOn: null })
  })

  test('distinct numbers are counted', async () => {
    const { internalDnc } = await build()
    await internalDnc.add(me, adding([a, a, b]))
    await internalDnc.add(me, adding([b, c]))
    expect(await internalDnc.count(me)).toEqual({ count: 3, lastModifiedOn: '2026-11-20' })
  })

  test('ten thousand numbers go in and out in one call each', async () => {
    const { internalDnc } = await build()
    const numbers = Array.from({ length: 10_000 }, (_, index) => `212${5_550_000 + index}`)
    await internalDnc.add(me, adding(numbers))
    expect(await internalDnc.count(me)).toMatchObject({ count: 10_000 })
    const entries = await internalDnc.findEntries('main', 'main', numbers.map(n))
    expect(entries.size).toBe(10_000)
    await internalDnc.remove(me, { numbers: numbers.slice(1) })
    expect(await internalDnc.count(me)).toMatchObject({ count: 1 })
  })
})

describe('who may remove', () => {
  test.each<[Role, boolean, boolean]>([
    ['Administrator', false, true],
    ['Supervisor', false, true],
    ['Agent', false, false],
    ['Agent', true, true],
  ])('%s, agents enabled %s: %s', async (role, enabled, allowed) => {
    const { internalDnc, accounts } = await build()
    await accounts.set('main', { agentsMayRemove: enabled })
    await internalDnc.add(caller('main', role), adding([a]))
    const removal = internalDnc.remove(caller('main', role), { numbers: [a] })
    if (allowed) await removal
    else {
      await expect(removal).rejects.toMatchObject({
        kind: 'forbidden',
        message: 'You do not have sufficient permissions to perform: delete_pdnc',
      })
    }
    expect(await internalDnc.count(caller('main', role))).toMatchObject({ count: allowed ? 0 : 1 })
  })

  test("another account's switch does not count", async () => {
    const { internalDnc, accounts } = await build()
    await accounts.set('other', { agentsMayRemove: true })
    await expect(
      internalDnc.remove(caller('main', 'Agent'), { numbers: [a] }),
    ).rejects.toMatchObject({ kind: 'forbidden' })
  })
})

describe('whose list', () => {
  test('accounts do not see or touch each other', async () => {
    const { internalDnc } = await build()
    await internalDnc.add(me, adding([a]))
    const stranger = caller('other')
    expect(await internalDnc.readStatus(stranger, { numbers: [a] })).toEqual([off(a)])
    await internalDnc.remove(stranger, { numbers: [a] })
    expect(await internalDnc.count(stranger)).toEqual({ count: 0, lastModifiedOn: null })
    expect(await internalDnc.findEntries('other', 'main', [n(a)])).toEqual(new Map())
    expect(await internalDnc.readStatus(me, { numbers: [a] })).toEqual([on(a, '2026-11-20')])
  })

  test('each project has its own list unless it inherits the Master Project’s', async () => {
    const { internalDnc, projects } = await build()
    await projects.create({ accountId: 'main', code: 'OWN', name: 'x' })
    await projects.create({
      accountId: 'main',
      code: 'SHARED',
      name: 'x',
      inheritsInternalDnc: true,
    })
    await internalDnc.add(me, adding([a], 'own'))
    await internalDnc.add(me, adding([b], 'shared'))
    const counts = await Promise.all(
      [undefined, 'OWN', 'SHARED'].map(async (projectId) => {
        const items = await internalDnc.readStatus(me, { numbers: [a, b], projectId })
        return items.map((item) => item.onList)
      }),
    )
    expect(counts).toEqual([
      [false, true],
      [true, false],
      [false, true],
    ])
  })

  test('an unknown project is refused by name and value, in every action', async () => {
    const { internalDnc } = await build()
    const request = { numbers: [a], projectId: 'NOPE', ignoreInvalid: false }
    for (const action of ['add', 'remove', 'readStatus', 'count'] as const) {
      await expect(internalDnc[action](me, request)).rejects.toMatchObject({
        kind: 'invalid-request',
        message: "projId 'NOPE': is not an active project of this account",
      })
    }
  })
})

test('a restart keeps the list and its evidence', async () => {
  const { internalDnc, clock } = await build()
  await internalDnc.add(me, adding([a, b]))
  clock.set('2026-11-22T10:00:00Z')
  await internalDnc.remove(me, { numbers: [b] })
  const before = await internalDnc.findEntries('main', 'main', [n(a), n(b)])
  await database.reopen()
  const again = await build()
  expect(await again.internalDnc.findEntries('main', 'main', [n(a), n(b)])).toEqual(before)
  expect(await again.internalDnc.count(me)).toEqual({ count: 1, lastModifiedOn: '2026-11-22' })
})

describe('fixed facts of the sandbox', () => {
  const fixedNumber = n('2125550104')
  const fixedAt = instant('2026-11-01T00:00:00Z')
  const fixedFacts: FixedFacts = {
    internalDncEntry: (number) => (number === fixedNumber ? { addedAt: fixedAt } : undefined),
    internalDncNumbers: () => [fixedNumber],
    ebrRecord: () => undefined,
  }
  const standing = fixedClock(instant('2026-11-23T17:00:00Z'))
  const visitor = caller('sandbox')
  const buildSandbox = () =>
    buildSubjects(database.storage, {
      viewOf: chooseByAccount({
        real: { clock: standing, fixedFacts: undefined },
        sandbox: { clock: standing, fixedFacts },
      }),
    })

  test('status, count and entries show them, for the sandbox alone', async () => {
    const { internalDnc } = await buildSandbox()
    expect(await internalDnc.readStatus(visitor, { numbers: [fixedNumber, a] })).toEqual([
      on(fixedNumber, '2026-11-01'),
      off(a),
    ])
    expect(await internalDnc.count(visitor)).toEqual({ count: 1, lastModifiedOn: '2026-11-01' })
    expect(
      Object.fromEntries(await internalDnc.findEntries('sandbox', 'sandbox', [fixedNumber])),
    ).toEqual({
      [fixedNumber]: { addedAt: fixedAt, removedAt: null, optedOutAt: fixedAt, optedOutSeq: 0 },
    })
    expect(await internalDnc.readStatus(me, { numbers: [fixedNumber] })).toEqual([off(fixedNumber)])
    expect(await internalDnc.count(me)).toEqual({ count: 0, lastModifiedOn: null })
  })

  test('adding one changes no date, and the opt-out is noted', async () => {
    const { internalDnc } = await buildSandbox()
    await internalDnc.add(visitor, adding([fixedNumber, a]))
    expect(await internalDnc.readStatus(visitor, { numbers: [fixedNumber] })).toEqual([
      on(fixedNumber, '2026-11-01'),
    ])
    expect(await internalDnc.count(visitor)).toEqual({ count: 2, lastModifiedOn: '2026-11-23' })
    const entries = await internalDnc.findEntries('sandbox', 'sandbox', [fixedNumber])
    expect(entries.get(fixedNumber)).toMatchObject({
      addedAt: fixedAt,
      optedOutAt: standing.now(),
    })
  })

  test('one that is removed stays removed, and one added again counts from then', async () => {
    const { internalDnc } = await buildSandbox()
    await internalDnc.remove(visitor, { numbers: [fixedNumber] })
    await database.reopen()
    const again = await buildSandbox()
    expect(await again.internalDnc.readStatus(visitor, { numbers: [fixedNumber] })).toEqual([
      off(fixedNumber),
    ])
    expect(await again.internalDnc.count(visitor)).toEqual({
      count: 0,
      lastModifiedOn: '2026-11-23',
    })
    await again.internalDnc.add(visitor, adding([fixedNumber]))
    expect(await again.internalDnc.readStatus(visitor, { numbers: [fixedNumber] })).toEqual([
      on(fixedNumber, '2026-11-23'),
    ])
    expect(await again.internalDnc.count(visitor)).toMatchObject({ count: 1 })
  })

  test("writes are dated by the account's own clock", async () => {
    const { internalDnc } = await buildSandbox()
    await internalDnc.add(visitor, adding([a]))
    expect(await internalDnc.readStatus(visitor, { numbers: [a] })).toEqual([on(a, '2026-11-23')])
  })
})
