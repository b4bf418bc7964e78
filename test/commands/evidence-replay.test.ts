/** `callgate evidence replay` over a journal of many random calls, and over changed and special records. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfiguration } from '../../src/app/read-configuration.js'
import { Replayer } from '../../src/commands/evidence/replayer.js'
import { parseInstant } from '../../src/domain/time/dates.js'
import type { DecisionDocument } from '../../src/gate/decision-document.js'
import { recordsIn } from '../support/journal.js'
import { shortOrLong } from '../support/long.js'
import { type ReplayCalls, recordReplayCalls } from '../support/replay-calls.js'

const count = shortOrLong(2_000, 20_000)
let calls: ReplayCalls
let records: readonly { readonly body: string; readonly document: DecisionDocument }[]
let replayers: readonly Replayer[]

beforeAll(async () => {
  calls = await recordReplayCalls(count, 149)
  records = recordsIn(calls.dataDir)
    .filter(({ kind }) => kind === 'decision')
    .map(({ body }) => ({ body, document: JSON.parse(body) as DecisionDocument }))
  replayers = calls.phases.map(({ environment }) => {
    const { configuration, problems } = readConfiguration({ environment })
    if (!configuration) throw new Error(problems.join())
    return new Replayer(configuration)
  })
}, 600_000)

afterAll(async () => {
  await calls.end()
})

const replayerOf = ({ decidedAt }: DecisionDocument): Replayer => {
  const at = parseInstant(decidedAt) ?? 0
  const found = replayers[calls.phases.findLastIndex(({ from }) => from <= at)]
  if (!found) throw new Error(`no settings at ${decidedAt}`)
  return found
}

describe('replay', () => {
  it(`gives each of ${count} random records byte for byte`, async () => {
    const kinds: Record<string, number> = {}
    const wrong: unknown[] = []
    const from = performance.now()
    for (const record of records) {
      const found = await replayerOf(record.document).replay(record)
      kinds[found.kind] = (kinds[found.kind] ?? 0) + 1
      if (found.kind === 'different') wrong.push([found.members, record.body])
    }
    console.log(kinds, (performance.now() - from) / count)
    expect(wrong.slice(0, 1)).toEqual([])
    expect(kinds.same).toBeGreaterThan(count * 0.95)
  })
})
