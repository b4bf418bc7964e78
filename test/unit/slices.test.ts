/** Long work in slices: when it gives way, to whom, and that it does the work as it would at once. */
import { describe, expect, test } from 'vitest'
import { mapInSlices, yieldToEventLoop } from '../../src/domain/slices.js'
import { parseJsonBody, parseLongJsonBody } from '../../src/http/json-body.js'
import { jsonParts } from '../../src/http/stringify.js'
import { turnsDuring } from '../support/event-loop-turns.js'

const list = (length: number) => Array.from({ length }, (_, index) => index)

describe('work in slices', () => {
  test('gives the results of map, in order', async () => {
    expect(await mapInSlices(list(1000), (value, index) => value * 2 - index)).toEqual(list(1000))
    expect(await mapInSlices([], () => 1)).toEqual([])
  })

  test('lets the event loop turn after every 5 ms', async () => {
    const { turns } = await turnsDuring(() => mapInSlices(list(1000), (value) => value))
    expect(turns).toBeGreaterThanOrEqual(150)
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

async function textOf(value: unknown): Promise<string> {
  const parts: string[] = []
  for await (const part of jsonParts(value)) parts.push(part)
  return parts.join('')
}

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
  ])('%s is written as JSON.stringify writes it', async (_, value) => {
    expect(await textOf(value)).toBe(JSON.stringify(value))
  })

  test('a long list is written, and a long body read, beside other work', async () => {
    const written = await turnsDuring(() => textOf({ Results: long }))
    expect(written.turns).toBeGreaterThanOrEqual(30)
    const text = JSON.stringify({ ebrList: list(100_000) })
    const read = await turnsDuring(() => parseLongJsonBody(text), 6)
    expect(read.result).toEqual(JSON.parse(text))
    expect(read.turns).toBeGreaterThanOrEqual(30)
  })

  test.each([
    ['a name twice at the end', `{"a":[${list(50_000)}],"a":1}`, 'is given twice'],
    ['nesting at the end', `[${list(50_000)},${'['.repeat(40)}`, 'nested deeper than 32'],
    ['no end', `[${list(50_000)}`, 'not well-formed JSON'],
  ])('a long body with %s is refused like a short one', async (_, text, rule) => {
    await expect(parseLongJsonBody(text)).rejects.toThrow(rule)
    expect(() => parseJsonBody(text)).toThrow(rule)
  })
})
