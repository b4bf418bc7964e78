/**
 * Calls decided as they were when they were frozen: `npm test` runs a sample, `npm run frozen` all. A difference that is wanted is a line
 * of `changed.jsonl`; the calls themselves are never written again.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { RecordedSaid } from '../../src/domain/words/words.js'
import { shortOrLong } from '../support/long.js'
import { runWorld } from './run-world.js'
import { type Changed, type Frozen, readChanged, readFrozen } from './store.js'

const { frozen, sha256 } = readFrozen()
const changed = new Map(readChanged().map((one) => [one.case, one]))
const chosen = frozen.filter(({ world }) => shortOrLong(0, 1) === 1 || world.isSample)

describe('the frozen calls', () => {
  it('are those that were frozen', () => {
    expect(sha256).toEqual({
      'calls.jsonl.br': '0ba7f222cf5e99c0693a585d0f82096cac54b6022d63852f8239985f3c55d1f4',
      'more-calls.jsonl.br': '0e09b34faec56548bb8efeb13951682e45a0854830407d23cb63e9c2ac8efb40',
    })
  })

  for (const one of chosen) {
    it(`are decided as before: ${one.world.name}`, async () => {
      // As text, since a report of objects leaves out what differs.
      expect(JSON.stringify(await findDifferences(one))).toBe('[]')
    })
  }

  it('say no sentence among the parameters of what they say', () => {
    expect(codes.size).toBeGreaterThan(shortOrLong(65, 70))
    expect([...texts].filter((text) => !isPlainParam(text))).toEqual([])
  })

  it('have a reason for each that has changed', () => {
    for (const { case: name, before, after, reason } of changed.values()) {
      expect([name, before, reason]).toEqual([name, findFrozen(name), expect.stringMatching(/\S/)])
      expect(after).not.toEqual(before)
    }
  })
})

const codes = new Set<string>()
const texts = new Set<string>()

function noteSaid({ code, params = {} }: RecordedSaid): void {
  codes.add(code)
  for (const value of Object.values(params).flat()) {
    if (typeof value === 'string') texts.add(value)
    else expect(typeof value === 'number' || value === true).toBe(true)
  }
}

/**
 * A name in the rules file, in a world or of a source, or by its form: a code, an id, a day, an instant, a citation, a command, or the
 * lists of a scrub row.
 */
const isPlainParam = (text: string) =>
  forms.test(text) ||
  text === 'imported files' ||
  rulesText.includes(text.replace(/ \(observed\)$/, '')) ||
  chosen.some(({ world }) => JSON.stringify(world).includes(text))
const rulesText = readFileSync('config/calling-rules.yaml', 'utf8').replace(/\s+/g, ' ')
const forms =
  /^[\w.:+*/-]+$|^key key-\w+$|^[\w .]*(?:CFR|U\.S\.C\.|CRTC) [^;]*$|^callgate (?:import|lists) [\w -]+$|^(?:;*(?:National|State) \(\w+\) \d{4}-\d{2}-\d{2}|;+W)+$/

async function findDifferences({
  world,
  result,
}: Frozen): Promise<readonly Omit<Changed, 'reason'>[]> {
  const now = await runWorld(world)
  for (const one of now.said) noteSaid(one)
  const compared = [
    ...result.tuples.map((before, index) => ({
      name: String(index),
      before,
      after: now.tuples[index],
    })),
    { name: 'acts', before: result.acts, after: now.acts },
  ]
  return compared.flatMap(({ name, before, after }) => {
    const id = `${world.name}/${name}`
    const expected = changed.get(id)?.after ?? before
    return JSON.stringify(after) === JSON.stringify(expected) ? [] : [{ case: id, before, after }]
  })
}

function findFrozen(name: string): unknown {
  const [world, place = ''] = name.split('/')
  const found = frozen.find((one) => one.world.name === world)?.result
  return place === 'acts' ? found?.acts : found?.tuples[Number(place)]
}
