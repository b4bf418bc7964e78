/** What is kept, for how long, and how much. */
import { expect, it } from 'vitest'
import { TtlCache } from '../../src/runtime/ttl-cache.js'

function openCache(ttlMs: number, maxEntries = 3) {
  const time = { ms: 0 }
  const cache = new TtlCache<{ value: string | undefined }>({
    timers: { monotonicMs: () => time.ms },
    ttlMs,
    maxEntries,
  })
  return { cache, time }
}

it('keeps an entry as long as told, and no longer than it is set for', () => {
  const { cache, time } = openCache(600_000)
  cache.set('a', { value: 'fact' })
  cache.set('b', { value: undefined }, 60_000)
  time.ms = 59_999
  expect([cache.get('a')?.value, cache.get('b')]).toEqual(['fact', expect.anything()])
  time.ms = 60_000
  expect([cache.get('a')?.value, cache.get('b')]).toEqual(['fact', undefined])
  time.ms = 600_000
  expect([cache.get('a'), cache.size]).toEqual([undefined, 0])
})

it('keeps nothing longer than its own time, and nothing at all with 0', () => {
  const { cache, time } = openCache(1_000)
  cache.set('a', { value: undefined }, 60_000)
  time.ms = 1_000
  expect(cache.get('a')).toBeUndefined()
  const none = openCache(0).cache
  none.set('a', { value: 'fact' })
  expect(none.size).toBe(0)
})

it('lets the oldest go when it is full, and counts a key once', () => {
  const { cache } = openCache(1_000)
  for (const key of ['a', 'b', 'a', 'c', 'd']) cache.set(key, { value: key })
  expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key)?.value)).toEqual([
    'a',
    undefined,
    'c',
    'd',
  ])
  for (let at = 0; at < 1_000; at += 1) cache.set(`${at}`, { value: 'x' })
  expect(cache.size).toBe(3)
})

it('reads once for all who wait, and counts the age from the start of the read', async () => {
  const { cache, time } = openCache(1_000)
  let reads = 0
  let finish: (found: { value: string }) => void = () => undefined
  const read = () => {
    reads += 1
    return new Promise<{ value: string }>((resolve) => {
      finish = resolve
    })
  }
  const both = Promise.all([cache.fetch('a', read), cache.fetch('a', read)])
  time.ms = 400
  finish({ value: 'x' })
  expect([await both, reads]).toEqual([[{ value: 'x' }, { value: 'x' }], 1])
  time.ms = 999
  expect(cache.get('a')).toEqual({ value: 'x' })
  time.ms = 1_000
  expect(cache.get('a')).toBeUndefined()
})

it('gives, but does not keep, what was being read when it was cleared, nor what is not there', async () => {
  const { cache } = openCache(1_000)
  const under = cache.fetch('a', async () => ({ value: 'before' }))
  cache.clear()
  const after = cache.fetch('a', async () => ({ value: 'after' }))
  expect([await under, await after]).toEqual([{ value: 'before' }, { value: 'after' }])
  expect(cache.get('a')).toEqual({ value: 'after' })
  expect([await cache.fetch('b', async () => undefined), cache.size]).toEqual([undefined, 1])
  const failing = cache.fetch('c', () => Promise.reject(new Error('no database')))
  await expect(failing).rejects.toThrow('no database')
  expect(cache.size).toBe(1)
})
