/** Long work in slices: when it gives way, to whom, and that it does the work as it would at once. */
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { ChangeNotifier } from '../../src/domain/change-notifier.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import { parseJsonBody } from '../../src/http/request/read-body.js'
import { generateJson, sendReplyInSlices } from '../../src/http/send-reply.js'
import {
  mapInSlices,
  waitForNextTurn,
  yieldToEventLoop,
} from '../../src/runtime/yield-to-event-loop.js'
import { notifyNumbersChanged } from '../../src/service/notify-numbers-changed.js'
import { splitIntoChunks } from '../../src/service/sql/chunks.js'
import { turnsDuring } from '../support/event-loop-turns.js'

const list = (length: number) => Array.from({ length }, (_, index) => index)

describe('work in slices', () => {
  test('gives the results of map, in order', async () => {
    expect(await mapInSlices(list(1000), (value, index) => value * 2 - index)).toEqual(list(1000))
    expect(await mapInSlices([], () => 1)).toEqual([])
  })

  test('lets the event loop turn after every 3 ms', async () => {
    const { turns } = await turnsDuring(() => mapInSlices(list(1000), (value) => value))
    expect(turns).toBeGreaterThanOrEqual(300)
  })

  test('what cannot be cut begins a slice, also where the slice before has just begun', async () => {
    const { turns } = await turnsDuring(async () => {
      for (let pieces = 0; pieces < 10; pieces += 1) await waitForNextTurn()
    }, 0)
    expect(turns).toBeGreaterThanOrEqual(9)
  })

  test('gives way to nobody for a single item, which may be a decision', async () => {
    const { turns } = await turnsDuring(() => mapInSlices([1], (value) => value))
    expect(turns).toBe(0)
  })

  test('of several works resumes one in each turn', async () => {
    const resumed: string[] = []
    const { turns } = await turnsDuring(async () => {
      const work = async (name: string) => {
        for (let pieces = 0; pieces < 3; ) {
          const turn = yieldToEventLoop()
          if (!turn) continue
          await turn
          resumed.push(name)
          pieces += 1
        }
      }
      await Promise.all([work('a'), work('b'), work('c')])
    })
    expect(resumed.join('')).toBe('abcabcabc')
    expect(turns).toBeGreaterThanOrEqual(8)
  })

  test('ends with what the function throws', async () => {
    const failing = mapInSlices(list(10), (value) => {
      if (value === 7) throw new Error('seven')
    })
    await expect(failing).rejects.toThrow('seven')
  })
})

test('a change of many numbers is told of in slices, that of one at once', async () => {
  const changes = new ChangeNotifier()
  const told: string[] = []
  changes.subscribe({
    numbersChanged: (_, numbers) => void told.push(...numbers),
    everythingChanged: () => undefined,
  })
  const numbers = list(10_000).map((index) => toPhoneNumber(String(2_122_000_000 + index)))
  const { turns } = await turnsDuring(() => notifyNumbersChanged(changes, 'a', numbers), 6)
  expect(told).toEqual(numbers)
  expect(turns).toBeGreaterThanOrEqual(38)
  const one = await turnsDuring(() => notifyNumbersChanged(changes, 'a', numbers.slice(0, 1)), 6)
  expect(one.turns).toBe(0)
})

test.each([
  ['numbers', 1, 256],
  ['rows of 16 values', 16, 64],
])('a statement carries at most so many %s', (_, values, most) => {
  const pieces = [...splitIntoChunks(list(10_000), { maxParameters: 32_000 }, values)]
  expect(Math.max(...pieces.map(({ length }) => length))).toBe(most)
  expect(pieces.flat()).toEqual(list(10_000))
})

const textOf = (value: unknown) => [...generateJson(value)].join('')

describe('JSON in slices', () => {
  const row = { a: 'text "quoted"', b: null, c: undefined, d: [1, undefined, { e: true }] }
  const long = Array.from({ length: 200 }, () => row)
  test.each([
    ['a row', row],
    ['text', 'text'],
    ['a list', long],
    ['a list in an object', { Response: long, none: undefined, n: 1 }],
    ['a list in an object in a list', [{ Response: long }, 1, undefined, null]],
    ['nothing in a long list', [...list(60), undefined]],
    ['empty ones', { a: [], b: {}, c: [[]] }],
  ])('%s is written as JSON.stringify writes it', (_, value) => {
    expect(textOf(value)).toBe(JSON.stringify(value))
  })

  test('a long list is written, and a long body read, beside other work', async () => {
    const response = new ServerResponse(new IncomingMessage(new Socket()))
    const json = { Results: list(1000) }
    const written = await turnsDuring(() => sendReplyInSlices(response, { json }))
    expect(response.writableEnded).toBe(true)
    expect(written.turns).toBeGreaterThanOrEqual(300)
    const text = JSON.stringify({ ebrList: list(100_000) })
    const read = await turnsDuring(() => parseJsonBody(text), 6)
    expect(read.result).toEqual(JSON.parse(text))
    expect(read.turns).toBeGreaterThanOrEqual(30)
  })

  test('a long body is parsed in a turn of its own', async () => {
    const { turns } = await turnsDuring(async () => {
      await waitForNextTurn()
      await parseJsonBody(JSON.stringify(list(100_000)))
    }, 0)
    expect(turns).toBeGreaterThanOrEqual(1)
  })

  test.each([
    ['a name twice at the end', `{"a":[${list(50_000)}],"a":1}`, 'is given twice'],
    ['nesting at the end', `[${list(50_000)},${'['.repeat(40)}`, 'nested deeper than 32'],
    ['no end', `[${list(50_000)}`, 'not well-formed JSON'],
  ])('a long body with %s is refused', async (_, text, rule) => {
    await expect(parseJsonBody(text)).rejects.toThrow(rule)
  })
})
