/** Lists of one thread in another: the same memory, and always all of them at once. */
import { expect, test } from 'vitest'
import { NumberListBuilder } from '../../src/data/number-list/format/number-list-builder.js'
import { openListStore } from '../../src/data/number-list/list-store.js'
import {
  type ListsMessage,
  SharedLists,
  shareLists,
} from '../../src/data/number-list/shared-lists.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import { now } from './lists-fixture.js'
import { useTempFolder } from './temp-folder.js'

const folder = useTempFolder()
const listed = toPhoneNumber('2127365001')
const unlisted = toPhoneNumber('2127365002')

async function writeList(name: string): Promise<void> {
  const builder = new NumberListBuilder()
  builder.add(listed)
  const origin = { feed: 'list', previous: null, sources: [] } as const
  const header = { name, coverage: ['212'], asOf: now, importedAt: now, ...origin }
  await builder.write(folder.file(`${name}.cglist`), header)
}

/** As it arrives in another thread. */
const send = (message: ListsMessage): ListsMessage => structuredClone(message)

test('are read in the memory of the other thread', async () => {
  await writeList('litigators')
  const sent = shareLists(openListStore({ folder: folder.path }))
  const received = send(sent)
  const [mine, theirs] = [sent.lists[0]?.tables.words, received.lists[0]?.tables.words]
  expect(mine?.buffer).toBeInstanceOf(SharedArrayBuffer)
  expect(theirs).toEqual(mine)
  mine?.fill(7)
  expect(theirs).toEqual(mine)
})

test('answer like those they were made from, and are replaced together', async () => {
  await writeList('litigators')
  const store = openListStore({ folder: folder.path })
  const lists = new SharedLists(send(shareLists(store)))
  const list = lists.get('litigators')
  expect([listed, unlisted].map((number) => list?.has(number))).toEqual([true, false])
  expect(list?.covers(toPhoneNumber('3035550100'))).toBe(false)
  expect(list?.version).toBe(store.get('litigators')?.version)
  expect(lists.problems()).toEqual([])

  const seen: string[][] = []
  lists.onChange(() => seen.push(lists.all().map(({ name }) => name)))
  await writeList('us-dnc')
  folder.write('litigators.cglist', 'damaged')
  store.refresh()
  lists.replace(send(shareLists(store)))
  expect(seen).toEqual([['litigators', 'us-dnc']])
  expect(lists.problems()).toEqual(store.problems())
  expect(lists.problems()).toMatchObject([{ name: 'litigators', olderInUse: true }])
})
