/** What the frozen calls hold, and what they do not, with the reason. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { modes } from './script.js'
import { readFrozen } from './store.js'
import { type Counts, tally } from './tally.js'

const { frozen } = readFrozen()
const { strata, doors, reasons, cells, denials, repeats, pairs } = tally(frozen)

const checks = [
  ...['litigator', 'internal-dnc', 'permission', 'calling-hours', 'attempts'],
  ...['caller-id', 'reassigned', 'abandonment', 'mandate'],
]
const verdicts = ['pass', 'deny', 'unknown']
const kinds = ['manual', 'autodialed', 'ai']

const page = readFileSync(join(import.meta.dirname, '../../docs/gate.md'), 'utf8')
/** As the page on the gate lists them. */
const published = [
  ...page
    .slice(page.indexOf('## Reasons'), page.indexOf('\n## Checks'))
    .matchAll(/^\| `([a-z-]+)` +\|/gm),
].map(([, name = '']) => name)

/** No act of a script causes them. */
const cannotHappen: Readonly<Record<string, string>> = {
  'not-recorded': 'the disk or the database must fail',
  'clock-ahead': 'needs the clock of another machine, a PostgreSQL server',
  'not-current': 'needs servers that share a database',
}

/** Why a check cannot have a verdict; `undefined` if it can. */
function findObstacle(
  check: string,
  verdict: string,
  mode: string,
  kind: string,
): string | undefined {
  const isStored = ['attempts', 'caller-id', 'abandonment', 'mandate'].includes(check)
  if (verdict === 'unknown' && isStored) return 'the database must fail'
  if (check === 'abandonment' && kind === 'manual')
    return 'calls that a person dials are not counted'
  if (check === 'reassigned' && verdict === 'deny' && mode !== 'own') {
    return 'a provider does not say since when there is a consent, so nobody can be asked'
  }
  return undefined
}

/** Those that occur less often than the rule asks, with the number that is held. */
const fewerReasons: Readonly<Record<string, number>> = {
  expired: 1,
  'key-cool-down': 49,
  'invalid-request': 0,
  'consent-unproven': 19,
}
const fewerCells: Readonly<Record<string, number>> = {
  'litigator unknown fallback manual': 20,
  'litigator unknown fallback autodialed': 18,
  'litigator unknown fallback ai': 20,
  'internal-dnc unknown fallback manual': 23,
  'internal-dnc unknown fallback autodialed': 18,
  'internal-dnc unknown fallback ai': 17,
  'permission unknown fallback manual': 42,
  'permission unknown fallback autodialed': 31,
  'permission unknown fallback ai': 39,
  'calling-hours unknown own manual': 9,
  'calling-hours unknown fallback manual': 20,
  'calling-hours unknown fallback autodialed': 39,
  'calling-hours unknown fallback ai': 28,
  'attempts pass fallback ai': 27,
  'attempts pass any-no-blocks ai': 9,
  'reassigned deny own manual': 18,
  'reassigned unknown own manual': 19,
  'reassigned unknown one manual': 3,
  'reassigned unknown one autodialed': 28,
  'reassigned unknown one ai': 35,
  'reassigned unknown fallback manual': 1,
  'reassigned unknown fallback autodialed': 19,
  'reassigned unknown fallback ai': 23,
  'reassigned unknown any-no-blocks manual': 4,
  'reassigned unknown any-no-blocks autodialed': 25,
  'reassigned unknown any-no-blocks ai': 28,
  'abandonment deny one ai': 49,
}

const countOf = (counts: Counts, name: string) => counts.get(name) ?? 0

describe('the frozen calls', () => {
  it('are so many of each kind of world', () => {
    const held = Object.fromEntries(strata)
    expect(held).toEqual({ counted: 15903, own: 60457, one: 17402, two: 15306, 'what-if': 5100 })
    expect(Object.fromEntries(doors)).toEqual({
      decide: 89722,
      predial: 15177,
      ari: 4853,
      permit: 1146,
      use: 736,
      preview: 2534,
    })
    expect({ repeats, pairs }).toEqual({ repeats: 1111, pairs: 2851 })
  })

  it('have each reason a hundred times', () => {
    const lacking = published.flatMap((reason) => {
      const least = reason in cannotHappen ? 0 : (fewerReasons[reason] ?? 100)
      const count = countOf(reasons, reason)
      return count < least ? [`'${reason}': ${count},`] : []
    })
    expect(lacking).toEqual([])
  })

  it('have each check, verdict, mode and kind fifty times', () => {
    const lacking: string[] = []
    for (const check of checks) {
      for (const verdict of verdicts) {
        for (const mode of modes) {
          for (const kind of kinds) {
            const cell = `${check} ${verdict} ${mode} ${kind}`
            const isImpossible = findObstacle(check, verdict, mode, kind) !== undefined
            const least = isImpossible ? 0 : (fewerCells[cell] ?? 50)
            if (countOf(cells, cell) < least) lacking.push(`'${cell}': ${countOf(cells, cell)},`)
            if (isImpossible && countOf(cells, cell) > 0) lacking.push(`${cell} is possible`)
          }
        }
      }
    }
    expect(lacking).toEqual([])
  })

  it('have so many pairs of denials ten times', () => {
    expect([...denials.values()].filter((count) => count >= 10).length).toBe(200)
  })
})
