/** What a center answers an edge while its database becomes another one, as in a failover. */
import Sqlite from 'better-sqlite3'
import { Kysely, type KyselyPlugin, SqliteDialect } from 'kysely'
import { expect, it } from 'vitest'
import type { Caller } from '../../src/domain/caller.js'
import { noLimits } from '../../src/domain/caller.js'
import { Center, type CenterDeps } from '../../src/edge/center.js'
import type { Db } from '../../src/storage/tables.js'

const caller: Caller = { accountId: 'main', role: 'Administrator', keyId: 'edge', limits: noLimits }

/** A center with two changes, of which the edge has the first; before query `nth`, other changes get their numbers. */
function openCenter(nth: number) {
  const file = new Sqlite(':memory:')
  file.exec(`create table changes (seq integer, at integer, account_id text, numbers text, all_numbers integer);
    insert into changes values (1, 100, 'other', '', 0), (2, 200, 'other', '', 0)`)
  let queries = 0
  const failOver: KyselyPlugin = {
    transformQuery({ node }) {
      queries += 1
      if (queries === nth) file.exec('update changes set at = at + 1')
      return node
    },
    transformResult: async ({ result }) => result,
  }
  const db: Db = new Kysely({
    dialect: new SqliteDialect({ database: file }),
    plugins: [failOver],
  })
  const feed = { position: 2, currentAt: { now: 0, monotonicMs: 0 }, problem: undefined }
  const center = new Center({
    storage: { db, feed, traits: { isShared: true } } as unknown as CenterDeps['storage'],
    timers: { monotonicMs: () => 0 },
    readListAccess: async () => () => 'use',
  })
  return { center, count: () => queries }
}

const ask = (center: Center, after: string) => center.readChanges(caller, { after, waitMs: 0 })

it('tells an edge what it does not have', async () => {
  const { center } = openCenter(0)
  expect(await ask(center, '1-100')).toMatchObject({ isUnknown: false, cursor: '2-200' })
  expect(await ask(center, '2-200')).toMatchObject({ isUnknown: false, cursor: '2-200' })
})

it('has an edge start again whose change is not known', async () => {
  const { center } = openCenter(0)
  for (const after of ['1-101', '7-100', 'none', '']) {
    expect(await ask(center, after)).toMatchObject({ isUnknown: true, cursor: '2-200' })
  }
})

it('tells no edge that it is up to date although another database answers, whenever that begins', async () => {
  const { center, count } = openCenter(0)
  await ask(center, '1-100')
  expect(count()).toBeGreaterThan(1)
  for (let nth = 1; nth <= count(); nth += 1) {
    const failing = openCenter(nth)
    const first = await ask(failing.center, '1-100')
    const last = first.isUnknown ? first : await ask(failing.center, first.cursor)
    expect(last.isUnknown, `before query ${nth}`).toBe(true)
  }
})
