import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createLogger, createSampledLine } from '../../src/observability/log.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('writes ten lines a minute, and how many were left out', () => {
  const lines: Record<string, unknown>[] = []
  const log = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) })
  const line = { level: 'warn', message: 'a stranger knocked', max: 10, per: 'minute' } as const
  const warn = createSampledLine(log, line)
  for (let n = 0; n < 1_000; n += 1) warn({ n })
  expect(lines.map(({ n }) => n)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  vi.advanceTimersByTime(60_000)
  expect(lines.slice(10)).toMatchObject([
    { level: 40, message: 'a stranger knocked: more in the last minute', count: 990 },
  ])
  warn({ n: 1_000 })
  vi.advanceTimersByTime(60_000)
  expect(lines.slice(11)).toMatchObject([{ n: 1_000 }])
})
