/** Waits end in time, early where they may, and leave nothing behind. */

import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { sleep, withTimeout } from '../../src/runtime/runtime.js'
import { virtualTime } from '../support/virtual-time.js'

function setUp() {
  const timers = virtualTime()
  const stop = new AbortController()
  const leftovers = () => [timers.waiting(), getEventListeners(stop.signal, 'abort').length]
  return { timers, stop, leftovers, options: { timers, signal: stop.signal } }
}

it('sleeps for the time, or until it is stopped', async () => {
  const { timers, stop, leftovers, options } = setUp()
  const whole = sleep(10, options)
  await timers.advance(10)
  await whole
  expect(leftovers()).toEqual([0, 0])
  const cut = sleep(10, options)
  stop.abort()
  await cut
  await sleep(10, options)
  expect(leftovers()).toEqual([0, 0])
})

it('gives what the promise gives, and in its place what comes of lateness', async () => {
  const { timers, leftovers, options } = setUp()
  expect(await withTimeout(Promise.resolve('in time'), 10, () => 'late', options)).toBe('in time')
  const never = new Promise<string>(() => undefined)
  const late = withTimeout(never, 10, () => 'late', options)
  const failing = expect(
    withTimeout(never, 10, () => Promise.reject(new Error('too late')), options),
  ).rejects.toThrow('too late')
  await timers.advance(10)
  expect(await late).toBe('late')
  await failing
  expect(leftovers()).toEqual([0, 0])
})

it('rejects with the reason of the signal, also of one that was aborted before', async () => {
  const { stop, leftovers, options } = setUp()
  const never = new Promise<string>(() => undefined)
  const cut = expect(withTimeout(never, 10, () => 'late', options)).rejects.toThrow('stopped')
  stop.abort(new Error('stopped'))
  await cut
  await expect(withTimeout(never, 10, () => 'late', options)).rejects.toThrow('stopped')
  expect(leftovers()).toEqual([0, 0])
})
