/** Worlds of our own facts: the sandbox with lines of every kind, and a real account with imported lists. */
import type { Call, Door, World } from '../script.js'
import { change, type Pool, removeEmpty } from './acts.js'
import { dayMs, hourMs, kinds, Maker } from './maker.js'
import { edges, merge, ownSettings } from './settings.js'

/** By what their law says: bans, windows, consents, limits on how often, provinces, several time zones. */
const areaCodes = [
  ...[
    '212',
    '305',
    '407',
    '405',
    '410',
    '503',
    '541',
    '203',
    '207',
    '801',
    '602',
    '307',
    '601',
    '501',
  ],
  ...[
    '803',
    '512',
    '214',
    '213',
    '808',
    '907',
    '787',
    '225',
    '334',
    '401',
    '701',
    '219',
    '502',
    '615',
  ],
  ...['604', '416', '514', '867', '202', '304', '206', '617', '915', '208', '605'],
]

const lines = [
  ...[
    '0100',
    '0101',
    '0102',
    '0103',
    '0104',
    '0105',
    '0106',
    '0107',
    '0108',
    '0109',
    '0110',
    '0111',
    '0112',
  ],
  ...['0113', '0114', '0119', '0130', '0131', '0132'],
]
const odd = [
  '911',
  '988',
  '123',
  '+442079460018',
  '8005551234',
  '2125550',
  'sip:x@y',
  '2001234567',
  '1',
]
const postalCodes = ['10001', '35203', '90210', '33101', 'T2P1J9', '09001', '84101', '96801']
const callerIds = ['101', 'alice', '911', '9005550123', '2125550199', 'anonymous']

export const projects = ['CLINIC', 'DEBT', 'GIVE', 'EXEMPT'] as const

export function createProjects(maker: Maker): void {
  for (const code of projects) {
    maker.add([
      'project',
      code,
      code === 'EXEMPT' ? { industryExemption: true, voipRestricted: true } : {},
    ])
  }
}

export interface CallChoices {
  readonly pool: Pool
  readonly doors: readonly Door[]
  /** Instants of what-ifs. */
  readonly whatIf?: true
}

const purposes = [
  'telemarketing',
  'healthcare',
  'debt-collection',
  'charity',
  'political',
  'informational',
  'emergency',
]

/** One call, mostly of a usual kind. */
export function chooseCall(maker: Maker, { pool, doors, whatIf }: CallChoices): Call {
  const door = maker.pick(doors)
  const number = maker.once(40) ? maker.pick(odd) : maker.pick(pool.numbers)
  const own = `${maker.pick(pool.numbers).slice(0, 3)}5550${150 + maker.below(6)}`
  const isShown = pool.hasRegister ? !maker.once(4) : maker.once(6)
  const callerId = isShown ? (maker.once(5) ? maker.pick(callerIds) : own) : undefined
  const facts = {
    number,
    kind: maker.pick(kinds),
    project: maker.once(3) ? maker.pick([...projects, ...projects, 'NONE']) : undefined,
    postal: maker.once(8) ? maker.pick(postalCodes) : undefined,
    purpose: maker.once(14) ? maker.pick(purposes) : undefined,
    callerId: door === 'permit' ? own : callerId,
    subject: maker.once(12) ? maker.pick(['solar', 'roof', 'boat']) : undefined,
    person: maker.once(12) ? 'p-1' : undefined,
    at: whatIf
      ? maker.instant(maker.pick([-hourMs, 5 * hourMs, 9 * hourMs, dayMs, 30 * dayMs]))
      : undefined,
  }
  return toCall(door, pool.key, facts)
}

interface Facts {
  readonly number: string
  readonly kind: string
  readonly project?: string | undefined
  readonly postal?: string | undefined
  readonly purpose?: string | undefined
  readonly callerId?: string | undefined
  readonly subject?: string | undefined
  readonly person?: string | undefined
  readonly at?: string | undefined
}

export function toCall(door: Door, key: string, facts: Facts): Call {
  const { number, kind, project, postal, purpose, callerId, subject, person, at } = facts
  if (door === 'predial' || door === 'ari') {
    const short = { number, kind, project, postal, purpose, subject, person }
    if (door === 'predial')
      return { door, key, fields: removeEmpty({ ...short, callerid: callerId }) }
    return { door, fields: removeEmpty({ ...short, from: callerId }) }
  }
  const rest = { callKind: kind, projectId: project, postalCode: postal, purpose, callerId }
  const common = removeEmpty({ ...rest, subject, personId: person, at })
  if (door === 'preview') return { door, key, fields: { numbers: [number], ...common } }
  return { door, key, fields: { number, ...common } }
}

export function sandboxNumbers(maker: Maker, count: number): readonly string[] {
  return Array.from({ length: count }, () => `${maker.pick(areaCodes)}555${maker.pick(lines)}`)
}

/** The sandbox. */
export function makeSandboxWorld(seed: number, calls: number): World {
  const settings = ownSettings[seed % ownSettings.length] ?? {}
  const maker = new Maker({ name: `sandbox-${seed}`, stratum: 'own', mode: 'own', seed, settings })
  createProjects(maker)
  const numbers = sandboxNumbers(maker, 60)
  const pool = { key: 'sandbox', numbers, projects, hasRegister: seed % 4 === 0 }
  while (maker.calls < calls) {
    if (maker.once(8)) change(maker, pool)
    if (maker.once(25)) maker.pass(maker.pick([hourMs, 3 * hourMs, 7 * hourMs, dayMs]))
    else maker.pass(maker.pick([20, 20, 20, 20, 1_100, 4_000]))
    maker.keepToDay()
    const choices = {
      pool,
      doors: ['decide', 'decide', 'decide', 'decide', 'decide', 'predial'],
    } as const
    if (maker.once(20)) maker.pair(chooseCall(maker, choices), chooseCall(maker, choices))
    else maker.call(chooseCall(maker, choices))
  }
  return maker.world
}

export function realNumbers(maker: Maker, count: number): readonly string[] {
  return Array.from(
    { length: count },
    () =>
      `${maker.pick(areaCodes)}${2 + maker.below(8)}${String(maker.below(1e6)).padStart(6, '0')}`,
  )
}

/** Lists, as often as they change. */
export function importLists(
  maker: Maker,
  numbers: readonly string[],
  names: readonly string[],
): void {
  for (const name of names) {
    const areas = maker.once(3)
      ? [...new Set(numbers.map((one) => one.slice(0, 3)))].slice(0, 20)
      : 'all'
    maker.add([
      'list',
      {
        name,
        numbers: numbers.filter(
          (one) => maker.once(6) && (areas === 'all' || areas.includes(one.slice(0, 3))),
        ),
        asOf: maker.instant(-maker.pick([1, 1, 1, 10, 29, 40]) * dayMs),
        areaCodes: name.includes('-dnc') && !name.startsWith('state') ? areas : 'all',
      },
    ])
  }
}

/** A real account, with Asterisk. */
export function makeRealWorld(seed: number, calls: number): World {
  const chosen = merge(ownSettings[seed % ownSettings.length] ?? {}, { asterisk: {} })
  const settings = merge(chosen, edges)
  const maker = new Maker({ name: `real-${seed}`, stratum: 'own', mode: 'own', seed, settings })
  createProjects(maker)
  const numbers = realNumbers(maker, 60)
  const pool = { key: 'main', numbers, projects, hasRegister: seed % 4 === 0 }
  const lists = ['us-dnc', 'canada-dnc', 'litigators', 'state-dnc-tx', 'state-dnc-fl'] as const
  if (!maker.once(5)) importLists(maker, numbers, lists)
  while (maker.calls < calls) {
    if (maker.once(8)) change(maker, pool)
    if (maker.once(60)) importLists(maker, numbers, [maker.pick(lists)])
    if (maker.once(70)) importFacts(maker, numbers)
    if (maker.once(120)) maker.add(['damage', maker.pick(lists)])
    if (maker.once(60) && pool.hasRegister)
      maker.add(['do-not-originate', [maker.pick(numbers).slice(0, 3), '9005']])
    if (maker.once(25)) maker.pass(maker.pick([hourMs, 3 * hourMs, 7 * hourMs, dayMs]))
    else maker.pass(maker.pick([20, 20, 20, 20, 1_100, 4_000]))
    maker.keepToDay()
    maker.call(
      chooseCall(maker, {
        pool,
        doors: ['decide', 'decide', 'decide', 'decide', 'predial', 'ari'],
      }),
    )
  }
  return maker.world
}

function importFacts(maker: Maker, numbers: readonly string[]): void {
  const file = (feed: string) => `${feed}-${maker.day(-1)}.csv`
  if (maker.once(2)) {
    const rows = numbers
      .filter(() => maker.once(2))
      .map(
        (number) =>
          `${number},${maker.day(-maker.pick([1, 30, 300]))},${maker.pick(['yes', 'no', 'no'])}\n`,
      )
    maker.add(['facts', 'reassigned', file('reassigned'), `number,date,answer\n${rows.join('')}`])
  } else {
    const rows = numbers
      .filter(() => maker.once(3))
      .map((number) => `${number},${maker.pick(['disconnected', 'connected'])},${maker.day(-2)}\n`)
    maker.add([
      'facts',
      'line-status',
      file('line-status'),
      `number,status,checked-on\n${rows.join('')}`,
    ])
  }
}
