import { describe, expect, test } from 'vitest'
import type { LabelIssuer, NumberLabels } from '../../src/domain/spam-labels.js'
import {
  countSources,
  fromSourceBits,
  toLabelBits,
  toSourceBits,
} from '../../src/service/reputation/label-bits.js'
import {
  delayAfterComplete,
  delayAfterFailure,
  delayAfterIncomplete,
} from '../../src/service/reputation/next-check.js'
import {
  computeHistoricalScore,
  computeLevel,
  computeMaxScore,
  type LevelHistory,
  listCarriers,
  listSources,
} from '../../src/service/reputation/scores.js'
import { instant } from '../support/test-clock.js'

/** The level of one observation, as it is computed when the observation is stored. */
function scoreLabels(labels: NumberLabels, sources: readonly LabelIssuer[]) {
  const { flagged, answered } = toLabelBits(labels, sources)
  return computeLevel(countSources(flagged), countSources(answered))
}

describe('the level of one look', () => {
  test.each([
    [0, 0, 'Processing'],
    [0, 1, 'Clean'],
    [0, 5, 'Clean'],
    [1, 5, 'Medium'],
    [2, 5, 'Medium'],
    [3, 5, 'High'],
    [5, 5, 'High'],
    [1, 3, 'Medium'],
    [2, 3, 'High'],
    [1, 2, 'High'],
    [1, 1, 'High'],
  ])('%i of %i that answered label it: %s', (labelled, answered, level) => {
    expect(computeLevel(labelled, answered)).toBe(level)
  })

  const us = listSources('US')
  const all = { CarrierA: false, CarrierB: false, CarrierC: false, AppA: false, AppB: false }
  test.each<[string, NumberLabels, ReturnType<typeof scoreLabels>]>([
    ['nobody answers', {}, 'Processing'],
    ['nobody who was asked answers', { CarrierD: true }, 'Processing'],
    ['nobody labels', all, 'Clean'],
    ['one of five', { ...all, AppA: true }, 'Medium'],
    ['two of five', { ...all, AppA: true, CarrierC: true }, 'Medium'],
    ['three of five', { ...all, AppA: true, CarrierC: true, CarrierA: true }, 'High'],
    ['one of the two that answer', { AppA: true, CarrierC: false }, 'High'],
    ['a source that was not asked does not count', { ...all, CarrierD: true }, 'Clean'],
  ])('%s', (_case, labels, score) => {
    expect(scoreLabels(labels, us)).toBe(score)
  })

  test('a scan of carriers alone counts three', () => {
    const labels = { CarrierA: true, CarrierB: false, CarrierC: false, AppA: true, AppB: true }
    expect(scoreLabels(labels, listCarriers('US'))).toBe('Medium')
    expect(scoreLabels({ ...labels, CarrierB: true }, listCarriers('US'))).toBe('High')
  })
})

test('the sources of an account are those of its country', () => {
  expect(listSources('US')).toEqual(['CarrierA', 'CarrierB', 'CarrierC', 'AppA', 'AppB'])
  expect(listSources('CA')).toEqual(['CarrierA', 'CarrierC', 'CarrierD', 'AppA', 'AppB'])
  expect(listCarriers('US')).toEqual(['CarrierA', 'CarrierB', 'CarrierC'])
  expect(listCarriers('CA')).toEqual(['CarrierA', 'CarrierC', 'CarrierD'])
})

describe('the highest level of the last 15 days', () => {
  const now = instant('2026-11-20T12:00:00Z')
  const edge = instant('2026-11-05T12:00:00Z')
  test.each<[string, LevelHistory, ReturnType<typeof computeMaxScore>]>([
    ['unknown', { current: 'Processing', mediumAt: null, highAt: null }, 'Processing'],
    ['unknown again', { current: 'Processing', mediumAt: edge, highAt: edge }, 'Processing'],
    ['never labelled', { current: 'Clean', mediumAt: null, highAt: null }, 'Clean'],
    ['High just now', { current: 'High', mediumAt: null, highAt: now }, 'High'],
    ['High 15 days ago', { current: 'Clean', mediumAt: null, highAt: edge }, 'High'],
    ['High before that', { current: 'Clean', mediumAt: null, highAt: edge - 1 }, 'Clean'],
    ['Medium 15 days ago', { current: 'Clean', mediumAt: edge, highAt: null }, 'Medium'],
    ['Medium before that', { current: 'Clean', mediumAt: edge - 1, highAt: null }, 'Clean'],
    ['Medium since, High before', { current: 'Clean', mediumAt: now, highAt: edge - 1 }, 'Medium'],
    ['both', { current: 'Clean', mediumAt: now, highAt: edge }, 'High'],
    ['Medium, High before', { current: 'Medium', mediumAt: now, highAt: edge }, 'High'],
    ['still Medium, learned long ago', { current: 'Medium', mediumAt: 0, highAt: null }, 'Medium'],
    ['still High, learned long ago', { current: 'High', mediumAt: null, highAt: 0 }, 'High'],
  ])('%s', (_case, history, score) => {
    expect(computeMaxScore(now, history)).toBe(score)
  })
})

describe('the historical score', () => {
  test.each([
    { observations: 0, medium: 0, high: 0, score: '0' },
    { observations: 365, medium: 0, high: 0, score: '0' },
    { observations: 365, medium: 1, high: 0, score: '1' },
    { observations: 11, medium: 1, high: 0, score: '1' },
    { observations: 10, medium: 1, high: 0, score: '2' },
    { observations: 10, medium: 10, high: 0, score: '2' },
    { observations: 365, medium: 300, high: 1, score: '3' },
    { observations: 5, medium: 0, high: 1, score: '3' },
    { observations: 4, medium: 0, high: 1, score: '4' },
    { observations: 100, medium: 0, high: 49, score: '4' },
    { observations: 100, medium: 0, high: 50, score: '5' },
    { observations: 1, medium: 0, high: 1, score: '5' },
  ])('$high High and $medium Medium of $looks observations: $score', ({ score, ...counts }) => {
    expect(computeHistoricalScore(counts)).toBe(score)
  })
})

describe('sets of sources', () => {
  test.each([
    [[], 0],
    [['CarrierA'], 1],
    [['CarrierA', 'CarrierC', 'AppB'], 1 + 4 + 32],
    [['CarrierA', 'CarrierB', 'CarrierC', 'CarrierD', 'AppA', 'AppB'], 63],
  ] as const)('%j is kept as %i', (sources, bits) => {
    expect(toSourceBits(sources)).toBe(bits)
    expect(fromSourceBits(bits)).toEqual(sources)
    expect(countSources(bits)).toBe(sources.length)
  })

  test('only sources that were asked and have answered were heard', () => {
    const labels = { CarrierA: true, CarrierB: false, CarrierD: true }
    expect(toLabelBits(labels, listSources('US'))).toEqual({
      answered: toSourceBits(['CarrierA', 'CarrierB']),
      flagged: toSourceBits(['CarrierA']),
    })
  })
})

describe('when a number is looked at next', () => {
  const hour = 3_600_000
  const timing = (random: number, checkEveryMs = 24 * hour) => ({
    checkEveryMs,
    random: () => random,
  })

  test.each([0, 0.5, 0.999_999])('within a day after a complete look, chance %d', (random) => {
    const wait = delayAfterComplete(timing(random))
    expect(wait).toBeGreaterThanOrEqual(20 * hour)
    expect(wait).toBeLessThan(23 * hour)
  })

  test.each([
    ['before it was due', -2 * hour, hour],
    ['at once', 0, hour],
    ['an hour', hour, hour],
    ['five hours', 5 * hour, 5 * hour],
    ['a month', 720 * hour, 24 * hour],
  ])('silent for %s', (_case, silentFor, wait) => {
    expect(delayAfterIncomplete(timing(0), { at: 1e12, since: 1e12 - silentFor })).toBe(wait)
  })

  test('never later than a short interval asks', () => {
    expect(delayAfterIncomplete(timing(0, 60_000), { at: 0, since: 0 })).toBe(60_000)
    expect(delayAfterFailure(timing(0, 60_000))).toBe(60_000)
    expect(delayAfterFailure(timing(0))).toBe(hour / 4)
  })
})
