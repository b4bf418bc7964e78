/** What is kept of a provider's answers, for how long, and how much. */
import { expect, it } from 'vitest'
import { LookupShelf } from '../../../src/sources/remote/lookup-shelf.js'

function shelf(keepMs: number, mostEntries = 3) {
  const time = { ms: 0 }
  const kept = new LookupShelf<string | undefined>({
    ...{ timers: { monotonicMs: () => time.ms }, keepMs, mostEntries },
  })
  return { kept, time }
}

it('keeps a fact as long as told, and what is none for a minute', () => {
  const { kept, time } = shelf(600_000)
  kept.keep('a', 'fact', 'long')
  kept.keep('b', undefined, 'briefly')
  time.ms = 59_999
  expect([kept.get('a')?.value, kept.get('b')]).toEqual(['fact', expect.anything()])
  time.ms = 60_000
  expect([kept.get('a')?.value, kept.get('b')]).toEqual(['fact', undefined])
  time.ms = 600_000
  expect([kept.get('a'), kept.size]).toEqual([undefined, 0])
})

it('keeps nothing longer than facts are kept, and nothing at all with 0', () => {
  const { kept, time } = shelf(1_000)
  kept.keep('a', undefined, 'briefly')
  time.ms = 1_000
  expect(kept.get('a')).toBeUndefined()
  const none = shelf(0).kept
  none.keep('a', 'fact', 'long')
  expect(none.size).toBe(0)
})

it('lets the oldest go when it is full, and counts a number once', () => {
  const { kept } = shelf(1_000)
  for (const key of ['a', 'b', 'a', 'c', 'd']) kept.keep(key, key, 'long')
  expect(['a', 'b', 'c', 'd'].map((key) => kept.get(key)?.value)).toEqual([
    ...['a', undefined, 'c', 'd'],
  ])
  for (let at = 0; at < 1_000; at += 1) kept.keep(`${at}`, 'x', 'long')
  expect(kept.size).toBe(3)
})
