/** When somebody else saw a head of a journal, by his clock. */
import { existsSync, readFileSync } from 'node:fs'
import type { Instant } from '../../domain/time/clock.js'
import { parseInstant } from '../../domain/time/dates.js'
import { openCheckpoint } from '../../transparency/checkpoint.js'
import type { VerifierKey } from '../../transparency/signed-note.js'
import { checkStamp } from '../bundle/timestamp.js'
import { listCosigned, listStamps } from './compare-heads.js'

export interface HeadTime {
  /** How many records the head has. */
  readonly size: number
  readonly at: Instant
  readonly by: string
}

/** From the cosignatures of known witnesses and the time stamps beside a tree; what cannot be checked has no time. */
export function listHeadTimes(
  tree: string,
  key: VerifierKey,
  witnesses: readonly VerifierKey[],
): readonly HeadTime[] {
  const times: HeadTime[] = []
  const tryTo = (add: () => void) => {
    try {
      add()
    } catch {
      // A head that is false is a finding of its own.
    }
  }
  for (const { signed } of listCosigned(tree)) {
    tryTo(() => {
      const { size, signatures } = openCheckpoint(signed, key, witnesses)
      for (const { key: by, at } of signatures) {
        if (at !== undefined) times.push({ size, at: at * 1000, by: by.name })
      }
    })
  }
  for (const path of listStamps(tree)) {
    const answer = path.replace(/\.checkpoint$/, '.tsr')
    if (!existsSync(answer)) continue
    tryTo(() => {
      const stamped = readFileSync(path)
      const { size } = openCheckpoint(stamped.toString(), key)
      const { at, by } = checkStamp(readFileSync(answer), stamped)
      const instant = parseInstant(at)
      if (instant !== undefined) times.push({ size, at: instant, by })
    })
  }
  return times
}
