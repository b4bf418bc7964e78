import { beforeEach, describe, expect, it } from 'vitest'
import {
  importBlocks,
  importNumbering,
  importOcnClasses,
} from '../../src/data/numbering/import/numbering-import.js'
import { openNumberingPlan, PortAwarePlan } from '../../src/data/numbering/numbering-plan.js'
import type { ListVersion, NumberSet } from '../../src/domain/number-set.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import type { LineClass, NumberFacts, NumberingPlan } from '../../src/domain/place.js'
import { fixedClock, type LocalDay } from '../../src/domain/time/clock.js'
import { blocksText } from './sample-blocks.js'
import { nanpaText } from './sample-feeds.js'
import { useTempFolder } from './temp-folder.js'
import { yearStart } from './zone-clocks.js'

const temp = useTempFolder()
const clock = fixedClock(yearStart)
const day: LocalDay = 20_000

/** A list as the store has it; `stale` is asked by {@link isStale}. */
interface Ported {
  readonly numbers?: readonly string[]
  readonly days?: Readonly<Record<string, LocalDay>>
  readonly stale?: boolean
  /** Area codes it covers; absent is all. */
  readonly covers?: readonly string[]
}

type PortedLists = Readonly<Record<string, Ported>>

const staleAsOf = 1
const isStale = ({ asOf }: ListVersion) => asOf === staleAsOf

function setOf(name: string, ported: Ported): NumberSet {
  const { numbers = [], days = {}, stale = false, covers } = ported
  const all = new Set([...numbers, ...Object.keys(days)])
  return {
    name,
    size: all.size,
    version: 'test',
    asOf: stale ? staleAsOf : 2,
    has: (number) => all.has(number),
    covers: (number) => covers?.includes(number.slice(0, 3)) ?? true,
    dayOf: (number) => days[number],
  }
}

/** Lists that a test may replace, as the store does when a file is. */
function storeOf(start: PortedLists, startProblems: readonly { readonly name?: string }[] = []) {
  const sets = (lists: PortedLists) =>
    new Map(Object.entries(lists).map(([name, list]) => [name, setOf(name, list)]))
  let held = sets(start)
  let problems = startProblems
  let listener = () => {}
  return {
    get: (name: string) => held.get(name),
    problems: () => problems,
    onChange(told: () => void) {
      listener = told
      return () => undefined
    },
    replace(lists: PortedLists, newProblems: typeof problems = []) {
      held = sets(lists)
      problems = newProblems
      listener()
    },
  }
}

let assigned: NumberingPlan

temp.startWith(async () => {
  const { path: folder } = temp
  const nanpa = temp.write(
    'co.txt',
    nanpaText([
      ['FL', '850-550', 'ZZ02', 'EXAMPLE TEL CO', 'PENSACOLA'],
      ['FL', '850-551', 'ZZ04', 'EXAMPLE UNNAMED CO', 'PENSACOLA'],
    ]),
  )
  await importNumbering({ nanpa, cnac: undefined, folder, clock })
  const ocn = temp.write('ocn.csv', 'ocn,class\nZZ01,wireless\nZZ02,wireline\nZZ03,voip\n')
  await importOcnClasses({ file: ocn, folder })
  const blocks = [{ block: '8505501' }, { block: '8505502', ocn: 'ZZ03' }]
  await importBlocks({ file: temp.write('blocks.csv', blocksText(blocks)), folder, clock })
})
beforeEach(() => {
  assigned = openNumberingPlan({ folder: temp.path, unknownPrefix: 'area-code' })
})

/** A number of each kind, by the class of its block or prefix. */
const numbers: Readonly<Record<LineClass, string>> = {
  wireline: '8505500345',
  wireless: '8505501345',
  voip: '8505502345',
  unknown: '8505511345',
}

const ask = (plan: NumberingPlan, number: string): NumberFacts => plan.lookup(toPhoneNumber(number))

describe('the line type', () => {
  const { wireline, wireless, voip, unknown } = numbers
  const everyone = Object.values(numbers)
  const toWireless = (more: Ported = {}) => ({ 'ported-wireless': more })
  const toWireline = (more: Ported = {}) => ({ 'ported-wireline': more })
  const both = (one: Ported, other: Ported) => ({ ...toWireless(one), ...toWireline(other) })
  const asAssigned = ['wireline', 'wireless', 'voip', 'unknown'] as const
  const doubted = ['unknown', 'wireless', 'unknown', 'unknown'] as const

  /** Classes in the order of {@link asAssigned}. */
  const table: [what: string, lists: PortedLists, classes: readonly LineClass[]][] = [
    ['no list: the class of the block', {}, asAssigned],
    ['lists that name none of them', both({}, {}), asAssigned],
    [
      'ported to wireless',
      toWireless({ numbers: everyone }),
      ['wireless', 'wireless', 'wireless', 'wireless'],
    ],
    [
      'ported to wireline',
      toWireline({ numbers: everyone }),
      ['wireline', 'wireline', 'wireline', 'wireline'],
    ],
    [
      'ported there and back: to wireless counts last',
      both({ numbers: everyone }, { numbers: everyone }),
      ['wireless', 'wireless', 'wireless', 'wireless'],
    ],
    [
      'each its own way',
      both({ numbers: [wireline] }, { numbers: [wireless, voip, unknown] }),
      ['wireless', 'wireline', 'wireline', 'wireline'],
    ],
    ['a stale list of ports to wireless', toWireless({ numbers: everyone, stale: true }), doubted],
    ['a stale list of ports to wireline', toWireline({ numbers: everyone, stale: true }), doubted],
    ['both stale', both({ stale: true }, { numbers: everyone, stale: true }), doubted],
    [
      'to wireline, while the list of ports to wireless is stale',
      both({ stale: true }, { numbers: everyone }),
      doubted,
    ],
    [
      'to wireless, while the list of ports to wireline is stale',
      both({ numbers: [voip, unknown] }, { stale: true }),
      ['unknown', 'wireless', 'wireless', 'wireless'],
    ],
    [
      'lists that speak for another area code, stale or not',
      both({ numbers: everyone, covers: ['212'] }, { covers: ['212'], stale: true }),
      asAssigned,
    ],
  ]
  it.each(table)('%s', (_, lists, classes) => {
    const plan = new PortAwarePlan(assigned, storeOf(lists), { isStale })
    const found = asAssigned.map((kind) => ask(plan, numbers[kind]))
    expect(found.map((facts) => facts.status === 'ok' && facts.lineClass)).toEqual(classes)
    expect(found.map((facts) => facts.status === 'ok' && facts.originalClass)).toEqual(asAssigned)
  })

  const unusable: [what: string, lists: PortedLists, problems: { name?: string }[]][] = [
    ['a list of ports to wireless', {}, [{ name: 'ported-wireless' }]],
    ['a list of ports to wireline', toWireless(), [{ name: 'ported-wireline' }]],
    ['the folder of lists', {}, [{}]],
  ]
  it.each(unusable)('%s that cannot be read counts as a stale one', (_, lists, problems) => {
    const plan = new PortAwarePlan(assigned, storeOf(lists, problems), { isStale })
    const found = asAssigned.map((kind) => ask(plan, numbers[kind]))
    expect(found.map((facts) => facts.status === 'ok' && facts.lineClass)).toEqual(doubted)
  })

  it('a damaged file of which the older content is in use changes nothing', () => {
    const lists = storeOf(toWireless(), [{ name: 'ported-wireless' }, { name: 'us-dnc' }])
    expect(ask(new PortAwarePlan(assigned, lists, { isStale }), wireline)).toBe(
      ask(assigned, wireline),
    )
  })

  it('other damaged lists are none of its business', () => {
    const lists = storeOf({}, [{ name: 'us-dnc' }])
    expect(ask(new PortAwarePlan(assigned, lists, { isStale }), wireline)).toBe(
      ask(assigned, wireline),
    )
  })

  it('follows the lists as they are replaced, and their age as time goes by', () => {
    const lists = storeOf({})
    let now = 0
    const plan = new PortAwarePlan(assigned, lists, { isStale: () => now > 15 })
    const lineClass = () => {
      const facts = ask(plan, wireline)
      return facts.status === 'ok' ? facts.lineClass : facts.status
    }
    expect(lineClass()).toBe('wireline')
    lists.replace(toWireless({ numbers: [wireline] }))
    expect(lineClass()).toBe('wireless')
    lists.replace(toWireless())
    expect(lineClass()).toBe('wireline')
    now = 16
    expect(lineClass()).toBe('unknown')
    lists.replace({}, [{ name: 'ported-wireless' }])
    now = 0
    expect(lineClass()).toBe('unknown')
    lists.replace({})
    expect(lineClass()).toBe('wireline')
  })
})

describe('what is told of a port', () => {
  const { wireline, wireless } = numbers

  it('the direction, and the day where the list gives one', () => {
    const lists = storeOf({
      'ported-wireless': { days: { [wireline]: day }, numbers: ['8505500346'] },
      'ported-wireline': { days: { [wireless]: day + 1 } },
    })
    const plan = new PortAwarePlan(assigned, lists, { isStale })
    expect(ask(plan, wireline)).toMatchObject({ ported: { to: 'wireless', on: day } })
    expect(ask(plan, '8505500346')).toMatchObject({ ported: { to: 'wireless', on: undefined } })
    expect(ask(plan, wireless)).toMatchObject({ ported: { to: 'wireline', on: day + 1 } })
    expect(ask(plan, '8505500347')).not.toHaveProperty('ported')
  })

  it('everything else stays as assigned: place, rate centre, company', () => {
    const lists = storeOf({ 'ported-wireless': { numbers: [wireline] } })
    const before = ask(assigned, wireline)
    const after = ask(new PortAwarePlan(assigned, lists, { isStale }), wireline)
    expect(after).toEqual({
      ...before,
      lineClass: 'wireless',
      ported: { to: 'wireless', on: undefined },
    })
  })

  it('nothing of a list that is stale', () => {
    const lists = storeOf({ 'ported-wireless': { days: { [wireline]: day }, stale: true } })
    expect(ask(new PortAwarePlan(assigned, lists, { isStale }), wireline)).not.toHaveProperty(
      'ported',
    )
  })
})

describe('a look-up makes no new facts', () => {
  const { wireline, wireless, voip, unknown } = numbers

  it('for numbers that are not ported', () => {
    const plan = new PortAwarePlan(assigned, storeOf({ 'ported-wireless': {} }), { isStale })
    for (const number of [wireline, wireless, voip, unknown]) {
      expect(ask(plan, number)).toBe(ask(assigned, number))
    }
  })

  it('for ported ones of a prefix and direction, nor for those in doubt', () => {
    const ported = ['8505500345', '8505500346', '8505509345']
    const fresh = storeOf({ 'ported-wireless': { numbers: ported } })
    const stale = storeOf({ 'ported-wireless': { numbers: ported, stale: true } })
    for (const lists of [fresh, stale]) {
      const plan = new PortAwarePlan(assigned, lists, { isStale })
      const found = new Set(ported.map((number) => ask(plan, number)))
      expect(found.size).toBe(1)
      expect([...found][0]).not.toBe(ask(assigned, '8505500345'))
    }
  })
})

it('numbers that are not in service stay so, and coverage is that of the plan', () => {
  const number = '8505590345'
  const lists = storeOf({ 'ported-wireless': { numbers: [number] } })
  const plan = new PortAwarePlan(assigned, lists, { isStale })
  expect(ask(plan, number)).toMatchObject({ status: 'unknown-prefix' })
  expect(ask(plan, '8002345678')).toEqual({ status: 'toll-free' })
  expect(plan.coverage()).toEqual(assigned.coverage())
})
