import { Histogram, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createTallyHistogram } from '../../src/observability/tallies.js'

const about = { name: 'duration', help: 'Time.', buckets: [0.001, 0.05, 2] }

it('a histogram that is counted in plain maps has the text of one of prom-client', async () => {
  const [own, theirs] = [new Registry(), new Registry()]
  const observe = createTallyHistogram(own, { ...about, label: 'via' })
  const registers = [theirs]
  const usual = new Histogram({ ...about, labelNames: ['via'], registers })
  expect(await own.metrics()).toBe(await theirs.metrics())
  for (const [via, seconds] of [
    ['http', 0.001],
    ['http', 0.0011],
    ['predial', 0],
    ['http', 2.5],
    ['check', 2],
    ['predial', 0.04],
  ] as const) {
    observe(seconds, via)
    usual.observe({ via }, seconds)
    expect(await own.metrics()).toBe(await theirs.metrics())
  }
})

it('one without a label is there before anything was observed', async () => {
  const [own, theirs] = [new Registry(), new Registry()]
  const observe = createTallyHistogram(own, about)
  const usual = new Histogram({ ...about, registers: [theirs] })
  expect(await own.metrics()).toBe(await theirs.metrics())
  observe(0.3)
  usual.observe(0.3)
  expect(await own.metrics()).toBe(await theirs.metrics())
})
