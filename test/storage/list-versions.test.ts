import { expect, it } from 'vitest'
import {
  publishLists,
  readListsInForce,
  readListsNowhereInForce,
  readStagedLists,
  stageLists,
} from '../../src/storage/cluster/list-versions.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()

const list = (version: string, publishedAt: number) => ({
  name: 'acme/us-dnc',
  version,
  sha256: version.repeat(4),
  bytes: 100,
  entries: 1,
  asOf: 1,
  publishedAt,
  publishedBy: 'test',
})
const [first, second] = ['a'.repeat(16), 'b'.repeat(16)]

it('a version that is announced again while it is in force stays in force', async () => {
  const { db } = database.storage
  const versionsOf = async (read: typeof readListsInForce) =>
    (await read(db)).map(({ version }) => version)
  await stageLists(db, [list(first, 1)])
  expect(await readListsNowhereInForce(db)).toEqual(['acme/us-dnc'])
  await publishLists(db, [list(first, 2)])
  await stageLists(db, [list(first, 3)])
  expect(await versionsOf(readListsInForce)).toEqual([first])
  expect(await readListsNowhereInForce(db)).toEqual([])
  await stageLists(db, [list(second, 4)])
  expect(await versionsOf(readListsInForce)).toEqual([first])
  expect(await versionsOf(readStagedLists)).toEqual([second])
  await publishLists(db, [list(second, 5)])
  expect(await versionsOf(readListsInForce)).toEqual([second])
})
