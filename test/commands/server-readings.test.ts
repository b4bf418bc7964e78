import { afterEach, expect, it, vi } from 'vitest'
import { keepLatest } from '../../src/commands/serve/server-readings.js'

afterEach(() => void vi.useRealTimers())

it('a reading that hangs is shown as the one before for ten seconds, and as missing after that', async () => {
  vi.useFakeTimers()
  const answers = [Promise.resolve('first'), new Promise<string>(() => {})]
  const read = keepLatest(async () => await (answers.shift() ?? 'another'), 'nothing')
  expect(await read()).toBe('first')
  const readLate = async () => {
    const reading = read()
    await vi.advanceTimersByTimeAsync(50)
    return await reading
  }
  expect(await readLate()).toBe('first')
  vi.advanceTimersByTime(9_800)
  expect(await readLate()).toBe('first')
  vi.advanceTimersByTime(200)
  expect(await readLate()).toBe('nothing')
})
