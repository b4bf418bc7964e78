import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createLogger, createSampledLine } from '../../src/observability/log.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('writes ten lines a minute, and how many were left out', () => {
  const lines: Record<string, unknown>[] = []
  const log = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) })
  let described = 0
  const warn = createSampledLine(log, {
    level: 'warn',
    message: 'a stranger knocked',
    fields: (n: number) => {
      described += 1
      return { n }
    },
    max: 10,
    per: 'minute',
  })
  for (let n = 0; n < 1_000; n += 1) warn(n)
  expect(described, 'fields are made only for what is written').toBe(10)
  expect(lines.map(({ n }) => n)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  vi.advanceTimersByTime(60_000)
  expect(lines.slice(10)).toMatchObject([
    { level: 40, message: 'a stranger knocked: more in the last minute', count: 990 },
  ])
  warn(1_000)
  vi.advanceTimersByTime(60_000)
  expect(lines.slice(11)).toMatchObject([{ n: 1_000 }])
})
