/** What the frozen calls hold, and what they do not, with the reason. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cannotHappen, findCellObstacle, findPairObstacle, reasonsOf } from './obstacles.js'
import { modes } from './script.js'
import { readFrozen } from './store.js'
import { type Counts, tally } from './tally.js'

const { frozen } = readFrozen()
const { strata, doors, reasons, cells, deniers, denials, repeats, pairs } = tally(frozen)

const verdicts = ['pass', 'deny', 'unknown']
const kinds = ['manual', 'autodialed', 'ai']

const page = readFileSync(join(import.meta.dirname, '../../docs/gate.md'), 'utf8')
/** As the page on the gate lists them. */
const published = [
  ...page
    .slice(page.indexOf('## Reasons'), page.indexOf('\n## Checks'))
    .matchAll(/^\| `([a-z-]+)` +\|/gm),
].map(([, name = '']) => name)

/** Those that occur less often than the rule asks, with the number that is held. */
const fewerCells: Readonly<Record<string, number>> = {
  'calling-hours unknown own manual': 9,
  'attempts pass any-no-blocks ai': 46,
  'reassigned deny own manual': 23,
  'reassigned unknown own manual': 19,
}
/** Each needs a number of a rare state, such as disconnected, in a call that something else rare also forbids. */
const fewerPairs: Readonly<Record<string, number>> = {
  'abandonment-rate + foreign-number': 0,
  'abandonment-rate + unknown-project': 0,
  'ai-paused + restricted-day': 2,
  'approval-needed + disconnected': 0,
  'approval-needed + not-permitted': 3,
  'approval-needed + reassigned': 3,
  'approval-needed + restricted-day': 2,
  'approval-needed + wireless-state': 5,
  'caller-id-do-not-originate + reassigned': 4,
  'caller-id-neighbor + disconnected': 7,
  'caller-id-neighbor + reassigned': 3,
  'caller-id-neighbor + toll-free': 0,
  'consent-revoked + toll-free': 7,
  'consent-unproven + disconnected': 6,
  'consent-unproven + key-attempts': 4,
  'consent-unproven + key-concurrent': 2,
  'consent-unproven + key-cool-down': 7,
  'consent-unproven + reassigned': 4,
  'consent-unproven + restricted-day': 0,
  'consent-unproven + toll-free': 4,
  'consent-unproven + unknown-prefix': 8,
  'disconnected + foreign-number': 5,
  'disconnected + internal-dnc': 0,
  'disconnected + key-attempts': 0,
  'disconnected + key-concurrent': 0,
  'disconnected + key-cool-down': 0,
  'disconnected + key-paused': 6,
  'disconnected + no-consent': 9,
  'disconnected + too-many-attempts': 1,
  'foreign-number + invalid-number': 4,
  'foreign-number + list-unreadable': 0,
  'foreign-number + national-dnc': 4,
  'foreign-number + not-permitted': 3,
  'foreign-number + reassigned': 7,
  'foreign-number + restricted-day': 7,
  'foreign-number + state-dnc': 8,
  'foreign-number + toll-free': 0,
  'internal-dnc + reassigned': 0,
  'invalid-number + restricted-day': 8,
  'invalid-number + unknown-prefix': 8,
  'key-attempts + no-consent': 3,
  'key-attempts + not-permitted': 5,
  'key-attempts + reassigned': 0,
  'key-attempts + restricted-day': 6,
  'key-attempts + unknown-project': 6,
  'key-attempts + wireless-state': 4,
  'key-concurrent + not-permitted': 7,
  'key-concurrent + reassigned': 2,
  'key-concurrent + restricted-day': 4,
  'key-concurrent + state-dnc': 7,
  'key-concurrent + wireless-state': 9,
  'key-cool-down + reassigned': 3,
  'key-paused + reassigned': 6,
  'key-region + reassigned': 8,
  'list-not-covering + unknown-prefix': 8,
  'not-permitted + unknown-prefix': 6,
  'outside-calling-hours + toll-free': 4,
  'restricted-day + state-dnc': 5,
  'state-dnc + toll-free': 7,
  'state-dnc + unknown-prefix': 8,
}

const countOf = (counts: Counts, name: string) => counts.get(name) ?? 0

describe('the frozen calls', () => {
  it('are so many of each kind of world', () => {
    const held = Object.fromEntries(strata)
    expect(held).toEqual({ counted: 20293, one: 20497, own: 61155, two: 16166, 'what-if': 5100 })
    expect(Object.fromEntries(doors)).toEqual({
      decide: 98546,
      predial: 15246,
      ari: 5003,
      permit: 1146,
      use: 736,
      preview: 2534,
    })
    expect({ repeats, pairs }).toEqual({ repeats: 1111, pairs: 2851 })
  })

  it('have each reason a hundred times', () => {
    const lacking = published.flatMap((reason) => {
      const least = reason in cannotHappen ? 0 : 100
      const count = countOf(reasons, reason)
      return count < least ? [`'${reason}': ${count},`] : []
    })
    expect(lacking).toEqual([])
  })

  it('have each check, verdict, mode and kind fifty times', () => {
    const lacking: string[] = []
    for (const check of Object.keys(reasonsOf)) {
      for (const verdict of verdicts) {
        for (const mode of modes) {
          for (const kind of kinds) {
            const cell = `${check} ${verdict} ${mode} ${kind}`
            const isImpossible = findCellObstacle(check, verdict, mode, kind) !== undefined
            const least = isImpossible ? 0 : (fewerCells[cell] ?? 50)
            if (countOf(cells, cell) < least) lacking.push(`'${cell}': ${countOf(cells, cell)},`)
            if (isImpossible && countOf(cells, cell) > 0) lacking.push(`${cell} is possible`)
          }
        }
      }
    }
    expect(lacking).toEqual([])
  })

  it('have denials of each check for each of its reasons', () => {
    const held = [...deniers.keys()].sort()
    const listed = Object.entries(reasonsOf).flatMap(([check, of]) =>
      of.map((reason) => `${check} ${reason}`),
    )
    expect(held).toEqual(listed.sort())
  })

  it('have each pair of denials ten times', () => {
    const denying = [...new Set(Object.values(reasonsOf).flat())].sort()
    const lacking: string[] = []
    for (const [index, one] of denying.entries()) {
      for (const other of denying.slice(index + 1)) {
        const pair = `${one} + ${other}`
        const isImpossible = findPairObstacle(one, other) !== undefined
        const least = isImpossible ? 0 : (fewerPairs[pair] ?? 10)
        if (countOf(denials, pair) < least) lacking.push(`'${pair}': ${countOf(denials, pair)},`)
        if (isImpossible && countOf(denials, pair) > 0) lacking.push(`${pair} is possible`)
      }
    }
    expect(lacking).toEqual([])
  })
})
