import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { openListStore } from '../../src/data/number-list/list-store.js'
import { NumberListBuilder } from '../../src/data/number-list/number-list-builder.js'
import { phoneNumber } from '../../src/domain/phone-number.js'
import { useTempFolder } from './temp-folder.js'

const folder = useTempFolder()

async function writeList(name: string, numbers: readonly string[], fileName = name) {
  const builder = new NumberListBuilder()
  for (const number of numbers) builder.add(phoneNumber(number))
  const times = { asOf: 1_790_000_000_000, importedAt: 1_790_000_000_000 }
  const meta = { name, ...times, coverage: 'all', sources: [] } as const
  return builder.write(folder.file(`${fileName}.cglist`), meta)
}

function damage(name: string): void {
  const bytes = readFileSync(folder.file(`${name}.cglist`))
  bytes[100] = (bytes[100] ?? 0) ^ 1
  folder.write(`other-${name}`, bytes)
  renameSync(folder.file(`other-${name}`), folder.file(`${name}.cglist`))
}

const one = phoneNumber('2125550001')
const two = phoneNumber('2125550002')

describe('openListStore', () => {
  it('loads every list of the folder', async () => {
    await writeList('us-dnc', [one])
    await writeList('litigators', [two, one])
    const store = openListStore({ folder: folder.path })
    expect(store.all().map(({ name, size }) => [name, size])).toEqual([
      ['litigators', 2],
      ['us-dnc', 1],
    ])
    expect(store.get('us-dnc')?.has(one)).toBe(true)
    expect(store.get('us-dnc')?.has(two)).toBe(false)
    expect(store.get('canada-dnc')).toBeUndefined()
    expect(store.problems()).toEqual([])
  })

  it('a folder that does not exist yet holds no lists', async () => {
    const store = openListStore({ folder: folder.file('later') })
    expect(store.all()).toEqual([])
    expect(store.problems()).toEqual([])
    mkdirSync(folder.file('later'))
    await writeList('us-dnc', [one], 'later/us-dnc')
    expect(store.refresh()).toBe(true)
    expect(store.get('us-dnc')?.has(one)).toBe(true)
  })

  it('a folder that is a file is a problem', () => {
    const path = folder.write('lists', '')
    const store = openListStore({ folder: path })
    expect(store.problems()).toMatchObject([{ path, olderInUse: false }])
    expect(store.problems()[0]?.detail).toMatch(/ENOTDIR/)
  })

  it('files left over by an import that died are no lists', async () => {
    await writeList('us-dnc', [one])
    const half = readFileSync(folder.file('us-dnc.cglist')).subarray(0, 500)
    folder.write('.us-dnc.cglist.new', half)
    folder.write('..us-dnc.cglist.new.4711.part', half)
    folder.write('.canada-dnc.cglist', half)
    const store = openListStore({ folder: folder.path })
    expect(store.all().map(({ name }) => name)).toEqual(['us-dnc'])
    expect(store.problems()).toEqual([])
    await writeList('us-dnc', [two])
    expect(store.refresh()).toBe(true)
    expect(store.get('us-dnc')?.has(two)).toBe(true)
  })
})

describe('a file that cannot be used is a problem and never an empty list', () => {
  it('damaged at the start', async () => {
    await writeList('litigators', [one])
    await writeList('us-dnc', [one])
    damage('us-dnc')
    const store = openListStore({ folder: folder.path })
    expect(store.get('us-dnc')).toBeUndefined()
    expect(store.get('litigators')?.has(one)).toBe(true)
    const [problem, ...others] = store.problems()
    expect(others).toEqual([])
    expect(problem).toMatchObject({ name: 'us-dnc', olderInUse: false })
    expect(problem?.detail).toMatch(/us-dnc\.cglist: is damaged or cut off/)
  })

  it('empty', () => {
    folder.write('us-dnc.cglist', '')
    const store = openListStore({ folder: folder.path })
    expect(store.get('us-dnc')).toBeUndefined()
    expect(store.problems()).toHaveLength(1)
  })

  it('a folder with the name of a list', () => {
    mkdirSync(folder.file('us-dnc.cglist'))
    expect(openListStore({ folder: folder.path }).problems()[0]?.detail).toMatch(/EISDIR/)
  })

  it('under the name of another list', async () => {
    await writeList('litigators', [one], 'us-dnc')
    const store = openListStore({ folder: folder.path })
    expect(store.all()).toEqual([])
    expect(store.problems()[0]?.detail).toMatch(/us-dnc\.cglist: holds the list 'litigators'/)
  })

  it('damaged later: the older content stays in use until a good file comes', async () => {
    await writeList('us-dnc', [one])
    const store = openListStore({ folder: folder.path })
    const before = store.get('us-dnc')
    damage('us-dnc')
    expect(store.refresh()).toBe(true)
    expect(store.get('us-dnc')).toBe(before)
    expect(store.problems()).toMatchObject([{ name: 'us-dnc', olderInUse: true }])
    expect(store.refresh()).toBe(false)
    await writeList('us-dnc', [two])
    expect(store.refresh()).toBe(true)
    expect(store.get('us-dnc')?.has(two)).toBe(true)
    expect(store.problems()).toEqual([])
  })
})

describe('refresh', () => {
  it('changes nothing when the folder did not change', async () => {
    await writeList('us-dnc', [one])
    const store = openListStore({ folder: folder.path })
    const before = store.get('us-dnc')
    expect(store.refresh()).toBe(false)
    expect(store.get('us-dnc')).toBe(before)
  })

  it('loads what is new or changed, drops what was removed and tells which', async () => {
    await writeList('a', [one])
    await writeList('b', [one])
    await writeList('c', [one])
    const store = openListStore({ folder: folder.path })
    const unchanged = store.get('a')
    const told: (readonly string[])[] = []
    const stop = store.onChange((names) => told.push(names))
    await writeList('b', [two])
    await writeList('d', [two])
    rmSync(folder.file('c.cglist'))
    expect(store.refresh()).toBe(true)
    expect(told.map((names) => [...names].sort((x, y) => x.localeCompare(y)))).toEqual([
      ['b', 'c', 'd'],
    ])
    expect(store.get('a')).toBe(unchanged)
    expect(store.get('b')?.has(two)).toBe(true)
    expect(store.get('c')).toBeUndefined()
    expect(store.get('d')?.has(two)).toBe(true)
    stop()
    await writeList('a', [two])
    expect(store.refresh()).toBe(true)
    expect(told).toHaveLength(1)
  })

  it('a listener already sees the new lists', async () => {
    await writeList('us-dnc', [one])
    const store = openListStore({ folder: folder.path })
    const seen: (boolean | undefined)[] = []
    store.onChange(() => seen.push(store.get('us-dnc')?.has(two)))
    await writeList('us-dnc', [two])
    store.refresh()
    expect(seen).toEqual([true])
  })

  it('a folder that cannot be read any more leaves the lists in use', async () => {
    mkdirSync(folder.file('lists'))
    await writeList('us-dnc', [one], 'lists/us-dnc')
    const store = openListStore({ folder: folder.file('lists') })
    renameSync(folder.file('lists'), folder.file('away'))
    folder.write('lists', '')
    expect(store.refresh()).toBe(true)
    expect(store.get('us-dnc')?.has(one)).toBe(true)
    expect(store.problems()).toMatchObject([{ path: folder.file('lists'), olderInUse: true }])
    expect(store.refresh()).toBe(false)
  })

  it('lookups during many swaps answer from the old or the new list, never from a mixture', async () => {
    const odd = ['2125550001', '3105550001', '9075550001'].map(phoneNumber)
    const even = ['2125550002', '3105550002', '9075550002'].map(phoneNumber)
    await writeList('us-dnc', odd)
    const store = openListStore({ folder: folder.path })
    const answers = new Set<string>()
    let swaps = 0
    let writing = writeList('us-dnc', even)
    while (swaps < 40) {
      if (store.refresh()) {
        await writing
        swaps += 1
        writing = writeList('us-dnc', swaps % 2 === 0 ? even : odd)
      }
      const list = store.get('us-dnc')
      answers.add([...odd, ...even].map((number) => list?.has(number)).join())
      await new Promise((resolve) => setImmediate(resolve))
    }
    await writing
    expect([...answers].sort((x, y) => x.localeCompare(y))).toEqual([
      'false,false,false,true,true,true',
      'true,true,true,false,false,false',
    ])
    expect(store.problems()).toEqual([])
  })
})
