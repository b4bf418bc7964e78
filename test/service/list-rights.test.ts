import { describe, expect, it } from 'vitest'
import { allLists } from '../../src/data/number-list/list-names.js'
import {
  canUseList,
  ListRights,
  readAllListOwners,
  readListOwners,
} from '../../src/service/lists/list-rights.js'
import { useDatabase } from '../support/database.js'
import { buildSubjects } from '../support/service-subjects.js'
import { testClock } from '../support/test-clock.js'

const database = useDatabase()
const clock = testClock('2026-11-26T12:00:00Z')

/** Accounts main, other and acme. */
async function open() {
  const { accounts } = await buildSubjects(database.storage)
  await accounts.ensure({ id: 'acme', kind: 'real', name: 'Acme' })
  const { storage } = database
  const rights = new ListRights({ storage, clock })
  const grant = (list: string, ownerId: string, because = 'contract') =>
    rights.grant({ accountId: 'acme', list, ownerId, because, grantedBy: 'joe' })
  return { rights, grant, owners: (id = 'acme') => readListOwners(storage.db, id) }
}

describe('rights to lists of other accounts', () => {
  it('are in force until they end, and are kept', async () => {
    const { rights, grant, owners } = await open()
    await grant('us-dnc', 'main')
    expect([...(await owners())]).toEqual([['us-dnc', 'main']])
    expect([...(await owners('other'))]).toEqual([])
    clock.set('2026-11-27T12:00:00Z')
    expect(await rights.end({ accountId: 'acme', list: 'us-dnc', endedBy: 'ann' })).toBe(true)
    expect(await rights.end({ accountId: 'acme', list: 'us-dnc', endedBy: 'ann' })).toBe(false)
    expect([...(await owners())]).toEqual([])
    expect(await rights.list()).toEqual([
      {
        accountId: 'acme',
        list: 'us-dnc',
        ownerId: 'main',
        because: 'contract',
        grantedAt: Date.parse('2026-11-26T12:00:00Z'),
        grantedBy: 'joe',
        endedAt: Date.parse('2026-11-27T12:00:00Z'),
        endedBy: 'ann',
      },
    ])
  })

  it('to the same list replace each other', async () => {
    const { rights, grant, owners } = await open()
    await grant(allLists, 'main')
    await grant('us-dnc', 'main')
    clock.set('2026-11-28T12:00:00Z')
    await grant('us-dnc', 'other', ' another contract ')
    expect(new Map(await owners())).toEqual(
      new Map([
        [allLists, 'main'],
        ['us-dnc', 'other'],
      ]),
    )
    expect(await readAllListOwners(database.storage.db)).toEqual(
      new Map([
        [
          'acme',
          new Map([
            [allLists, 'main'],
            ['us-dnc', 'other'],
          ]),
        ],
      ]),
    )
    const all = await rights.list()
    expect(
      all.map(({ list, ownerId, because, endedBy }) => [list, ownerId, because, endedBy]),
    ).toEqual([
      [allLists, 'main', 'contract', undefined],
      ['us-dnc', 'main', 'contract', 'joe'],
      ['us-dnc', 'other', 'another contract', undefined],
    ])
  })

  it('need a reason, and another account', async () => {
    const { rights, grant, owners } = await open()
    for (const because of ['', ' ', 'x'.repeat(501)]) {
      await expect(grant('us-dnc', 'main', because)).rejects.toMatchObject({
        problems: [{ field: 'because', value: because }],
      })
    }
    const ofMain = {
      accountId: 'main',
      list: 'us-dnc',
      ownerId: 'acme',
      because: 'x',
      grantedBy: 'joe',
    }
    await expect(rights.grant(ofMain)).rejects.toMatchObject({ problems: [{ field: 'account' }] })
    await grant('litigators', 'main')
    await grant('litigators', 'other')
    await rights.end({ accountId: 'acme', list: 'litigators', endedBy: 'joe' })
    await expect(grant('us-dnc', 'acme')).rejects.toMatchObject({ problems: [{ field: 'owner' }] })
    expect([...(await owners())]).toEqual([])
  })
})

describe('published lists that an account may use', () => {
  const rights = { accountId: 'acme', listOwners: new Map([['us-dnc', 'main']]) }
  it.each([
    { name: 'acme/us-dnc', user: rights, can: true },
    { name: 'acme/custom-vip', user: rights, can: true },
    { name: 'us-dnc', user: rights, can: true },
    { name: 'other/us-dnc', user: rights, can: false },
    { name: 'litigators', user: rights, can: false },
    {
      name: 'custom-vip',
      user: { ...rights, listOwners: new Map([[allLists, 'main']]) },
      can: false,
    },
    {
      name: 'litigators',
      user: { ...rights, listOwners: new Map([[allLists, 'main']]) },
      can: true,
    },
    {
      name: 'other/litigators',
      user: { ...rights, listOwners: new Map([[allLists, 'main']]) },
      can: false,
    },
    { name: 'ported-wireless', user: rights, can: true },
    { name: 'numbering-us', user: rights, can: true },
    { name: 'us-dnc', user: { accountId: 'main', listOwners: new Map() }, can: true },
    { name: 'acme/us-dnc', user: { accountId: 'main', listOwners: new Map() }, can: false },
  ])('$name of $user.accountId $user.listOwners: $can', ({ name, user, can }) => {
    expect(canUseList(name, user)).toBe(can)
  })
})
