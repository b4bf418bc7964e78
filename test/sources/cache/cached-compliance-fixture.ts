/** A cache over a fake port, in time that passes when the test says so. */

import type { QuestionName } from '../../../src/domain/compliance.js'
import type { Clock } from '../../../src/domain/time/clock.js'
import type { CacheSettings } from '../../../src/sources/cache/cache-entry.js'
import { CachedCompliance } from '../../../src/sources/cache/cached-compliance.js'
import {
  answered,
  cleanRow,
  type FakeAnswers,
  fakeCompliance,
  openHours,
} from '../../support/fake-compliance.js'
import { virtualTime } from '../../support/virtual-time.js'

export const allowMs = 300_000
export const blockMs = 3_600_000

/** As of the moment of asking, whenever that is. */
export const justNow = { asOf: Number.POSITIVE_INFINITY }

export interface CachedChoices {
  readonly settings?: Partial<CacheSettings>
  readonly staleForMs?: Partial<Record<QuestionName, number>>
  readonly staleAfterMs?: number
  readonly clockOf?: (clock: Clock) => Clock
}

export function openCached(answers: Partial<FakeAnswers> = {}, choices: CachedChoices = {}) {
  const time = virtualTime()
  const seen: string[] = []
  const source = fakeCompliance({
    scrub: () => answered(cleanRow, justNow),
    internalDnc: () => answered({ onList: false, addedAt: undefined }, justNow),
    litigator: () => answered({ isLitigator: false }, justNow),
    legalTime: () => answered(openHours, justNow),
    ...answers,
  })
  const clock = choices.clockOf?.(time) ?? time
  const cached = new CachedCompliance(source, {
    settings: { maxEntries: 1_000, allowMs, blockMs, refreshAheadMs: 0, ...choices.settings },
    staleForMs: {
      scrub: 0,
      'internal-dnc': 0,
      litigator: 0,
      'legal-time': 0,
      ...choices.staleForMs,
    },
    staleAfterMs: choices.staleAfterMs ?? Number.POSITIVE_INFINITY,
    timers: time,
    clock,
    observer: {
      countLookups: (name) => (result) => void seen.push(`${name} ${result}`),
      onAnswer: () => undefined,
    },
  })
  return { cached, source, time, seen }
}
