import { expect, test } from 'vitest'
import { splitIntoChunks } from '../../src/service/sql/chunks.js'

const sizes = (count: number, maxParameters: number, perItem?: number) => {
  const items = Array.from({ length: count }, (_, index) => index)
  const chunks = [...splitIntoChunks(items, { maxParameters }, perItem)]
  expect(chunks.flat()).toEqual(items)
  return chunks.map((chunk) => chunk.length)
}

test.each([
  [0, 32_000, 1, []],
  [1, 32_000, 1, [1]],
  [7, 32_000, 1, [4, 2, 1]],
  [256, 32_000, 1, [256]],
  [700, 32_000, 1, [256, 256, 128, 32, 16, 8, 4]],
  [40, 100, 6, [8, 8, 8, 8, 8]],
  [3, 8, 6, [1, 1, 1]],
])('%i items, %i parameters, %i each: chunks of %j', (count, most, perItem, expected) => {
  expect(sizes(count, most, perItem)).toEqual(expected)
})

test('batches of all lengths share few sizes, and no statement is too long', () => {
  const seen = new Set<number>()
  for (let count = 1; count <= 3000; count += 7) {
    for (const size of sizes(count, 999, 6)) seen.add(size)
  }
  expect(Math.max(...seen) * 6).toBeLessThanOrEqual(999)
  expect(seen.size).toBeLessThanOrEqual(8)
})
