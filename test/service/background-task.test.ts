import { expect, it } from 'vitest'
import { BackgroundTask } from '../../src/service/background/background-task.js'
import { virtualTime } from '../support/virtual-time.js'

it('runs on the leader alone, and within a second of becoming it', async () => {
  const time = virtualTime()
  const leadership = { isLeader: false }
  let runs = 0
  const task = new BackgroundTask({
    run: async () => {
      runs += 1
      return 60_000
    },
    timers: time,
    leadership,
    onError: () => undefined,
  })
  task.start()
  await time.advance(10_000)
  task.wake()
  await time.settle()
  expect(runs).toBe(0)
  leadership.isLeader = true
  await time.advance(1_000)
  expect(runs).toBe(1)
  // Another server adds work without a word.
  await time.advance(1_000)
  expect(runs).toBe(2)
  leadership.isLeader = false
  await time.advance(10_000)
  expect(runs).toBe(2)
  await task.close()
})

it('rests after a run that fails, also if it was woken meanwhile', async () => {
  const time = virtualTime()
  const errors: unknown[] = []
  const task = new BackgroundTask({
    run: async () => {
      task.wake()
      throw new Error('no database')
    },
    timers: time,
    onError: (cause) => errors.push(cause),
  })
  task.start()
  await time.settle()
  expect(errors).toHaveLength(1)
  await time.advance(5_000)
  expect(errors).toHaveLength(2)
  await task.close()
})
