import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  openNumberList,
  openNumberListInBackground,
} from '../../../src/data/number-list/format/number-list.js'
import { NumberListBuilder } from '../../../src/data/number-list/format/number-list-builder.js'
import { type ListReader, openListStore } from '../../../src/data/number-list/list-store.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { useTempFolder } from '../../data/temp-folder.js'

const folder = useTempFolder()

async function writeList(name: string, numbers: readonly string[], fileName = name) {
  const builder = new NumberListBuilder()
  for (const number of numbers) builder.add(toPhoneNumber(number))
  const times = { asOf: 1_790_000_000_000, importedAt: 1_790_000_000_000 }
  const origin = { feed: 'list', previous: null, sources: [] }
  const meta = { name, ...origin, ...times, coverage: 'all' } as const
  return builder.write(folder.file(`${fileName}.cglist`), meta)
}

function damage(name: string): void {
  const bytes = readFileSync(folder.file(`${name}.cglist`))
  bytes[100] = (bytes[100] ?? 0) ^ 1
  folder.write(`other-${name}`, bytes)
  renameSync(folder.file(`other-${name}`), folder.file(`${name}.cglist`))
}

const one = toPhoneNumber('2125550001')
const two = toPhoneNumber('2125550002')

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
    folder.write('.us-dnc.cglist.4711.new', half)
    folder.write('..us-dnc.cglist.4711.new.4711.part', half)
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
    expect(problem?.detail).toMatch(/us-dnc\.cglist: is damaged or truncated/)
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
    expect(store.problems()[0]?.detail).toMatch(/us-dnc\.cglist: contains the list 'litigators'/)
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

  it('loads what is new or changed, stops using what was removed and tells which', async () => {
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
    const odd = ['2125550001', '3105550001', '9075550001'].map(toPhoneNumber)
    const even = ['2125550002', '3105550002', '9075550002'].map(toPhoneNumber)
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

describe('a list whose file is removed while it is in use', () => {
  const gone = /c\.cglist: was removed while the server was running; import the list again/

  it('is a problem until it is imported again', async () => {
    await writeList('c', [one])
    const store = openListStore({ folder: folder.path })
    rmSync(folder.file('c.cglist'))
    expect(store.refresh()).toBe(true)
    expect(store.get('c')).toBeUndefined()
    expect(store.problems()).toMatchObject([{ name: 'c', olderInUse: false }])
    expect(store.problems()[0]?.detail).toMatch(gone)
    expect(store.refresh()).toBe(false)
    expect(store.problems()).toHaveLength(1)
    await writeList('c', [two])
    expect(store.refresh()).toBe(true)
    expect(store.get('c')?.has(two)).toBe(true)
    expect(store.problems()).toEqual([])
  })

  it('is one too when the whole folder goes', async () => {
    mkdirSync(folder.file('lists'))
    await writeList('c', [one], 'lists/c')
    const store = openListStore({ folder: folder.file('lists') })
    rmSync(folder.file('lists'), { recursive: true })
    expect(store.refresh()).toBe(true)
    expect(store.problems()[0]?.detail).toMatch(gone)
  })

  it('is one too when the file was damaged before', async () => {
    await writeList('c', [one])
    damage('c')
    const store = openListStore({ folder: folder.path })
    rmSync(folder.file('c.cglist'))
    store.refresh()
    expect(store.problems()[0]?.detail).toMatch(gone)
  })
})

/** Reads files as always, unless it is told to fail or to wait. */
class TroubledReader implements ListReader {
  readonly reads: string[] = []
  failure: Error | undefined
  until: Promise<void> | undefined

  open(path: string) {
    this.reads.push(path)
    if (this.failure) throw this.failure
    return openNumberList(path)
  }

  async openInBackground(path: string) {
    this.reads.push(path)
    const list = await openNumberListInBackground(path)
    await this.until
    if (this.failure) throw this.failure
    return list
  }
}

describe('a file that cannot be read for a while', () => {
  const failures = ['EIO: i/o error, read', 'EMFILE: too many open files', 'ENOENT: no such file']

  describe.each(['refresh', 'refreshInBackground'] as const)('%s', (refresh) => {
    it.each(failures)('%s: is read again, though it did not change', async (message) => {
      const reader = new TroubledReader()
      reader.failure = new Error(message)
      await writeList('us-dnc', [one])
      const store = openListStore({ folder: folder.path, reader })
      expect(store.problems()).toMatchObject([{ name: 'us-dnc', detail: message }])
      expect(await store[refresh]()).toBe(false)
      reader.failure = undefined
      expect(await store[refresh]()).toBe(true)
      expect(store.get('us-dnc')?.has(one)).toBe(true)
      expect(store.problems()).toEqual([])
      expect(reader.reads).toHaveLength(3)
    })

    it('keeps the older content in use meanwhile', async () => {
      const reader = new TroubledReader()
      await writeList('us-dnc', [one])
      const store = openListStore({ folder: folder.path, reader })
      await writeList('us-dnc', [two])
      reader.failure = new Error(failures[0])
      expect(await store[refresh]()).toBe(true)
      expect(await store[refresh]()).toBe(false)
      expect(store.get('us-dnc')?.has(one)).toBe(true)
      expect(store.problems()).toMatchObject([{ olderInUse: true }])
      reader.failure = undefined
      expect(await store[refresh]()).toBe(true)
      expect(store.get('us-dnc')?.has(two)).toBe(true)
    })

    it('a damaged file is read once until it changes', async () => {
      const reader = new TroubledReader()
      await writeList('us-dnc', [one])
      damage('us-dnc')
      const store = openListStore({ folder: folder.path, reader })
      expect(await store[refresh]()).toBe(false)
      expect(reader.reads).toHaveLength(1)
    })
  })
})

describe('refreshInBackground', () => {
  it('does what refresh does', async () => {
    await writeList('a', [one])
    await writeList('b', [one])
    const store = openListStore({ folder: folder.path })
    const told: (readonly string[])[] = []
    store.onChange((names) => told.push(names))
    expect(await store.refreshInBackground()).toBe(false)
    await writeList('b', [two])
    await writeList('c', [two])
    damage('c')
    rmSync(folder.file('a.cglist'))
    expect(await store.refreshInBackground()).toBe(true)
    expect(told).toEqual([['a', 'b', 'c']])
    expect(store.all().map(({ name }) => name)).toEqual(['b'])
    expect(store.get('b')?.has(two)).toBe(true)
    expect(store.problems().map(({ name }) => name)).toEqual(['a', 'c'])
    expect(store.problems()[1]?.detail).toMatch(/c\.cglist: is damaged or truncated/)
  })

  it('answers from the old lists until all new ones are read', async () => {
    const reader = new TroubledReader()
    await writeList('us-dnc', [one])
    const store = openListStore({ folder: folder.path, reader })
    await writeList('us-dnc', [two])
    let go = () => {}
    reader.until = new Promise((resolve) => {
      go = resolve
    })
    const outcomes = [store.refreshInBackground(), store.refreshInBackground()]
    expect(store.get('us-dnc')?.has(one)).toBe(true)
    go()
    expect(await Promise.all(outcomes)).toEqual([true, true])
    expect(store.get('us-dnc')?.has(two)).toBe(true)
    expect(reader.reads).toHaveLength(2)
  })

  it('never puts back what a refresh has replaced meanwhile', async () => {
    const reader = new TroubledReader()
    const store = openListStore({ folder: folder.path, reader })
    await writeList('us-dnc', [one])
    let go = () => {}
    reader.until = new Promise((resolve) => {
      go = resolve
    })
    const outcome = store.refreshInBackground()
    await writeList('us-dnc', [two])
    expect(store.refresh()).toBe(true)
    go()
    expect(await outcome).toBe(false)
    expect(store.get('us-dnc')?.has(two)).toBe(true)
    expect(await store.refreshInBackground()).toBe(false)
  })

  it('other work gets its turn while a large file is read', async () => {
    const numbers = Array.from({ length: 4_000 }, (_, nth) => String(2_002_000_000 + nth * 10_000))
    const builder = new NumberListBuilder()
    for (const number of numbers) {
      for (let line = 0; line < 700; line += 1) builder.addDigits(Number(number.slice(0, 6)), line)
    }
    const times = { asOf: 1_790_000_000_000, importedAt: 1_790_000_000_000 }
    const origin = { feed: 'list', previous: null, sources: [] }
    const meta = { name: 'us-dnc', ...origin, ...times, coverage: 'all' } as const
    const store = openListStore({ folder: folder.path })
    await builder.write(folder.file('us-dnc.cglist'), meta)
    let turns = 0
    let reading = true
    const count = () => {
      turns += 1
      if (reading) setImmediate(count)
    }
    setImmediate(count)
    await store.refreshInBackground()
    reading = false
    expect(store.get('us-dnc')?.size).toBe(2_800_000)
    expect(turns).toBeGreaterThanOrEqual(4)
  })
})
