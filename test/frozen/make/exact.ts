/**
 * Worlds at the exact edge of a rule: a record that is dated after an opt-out and stored before it, a number with several
 * regions, and the last call that may be abandoned.
 */
import type { World } from '../script.js'
import { removeEmpty } from './acts.js'
import { dayMs, kinds, Maker } from './maker.js'
import { toCall } from './own.js'
import { edges } from './settings.js'

const day = '2026-11-23T17:00:00.000Z'

/** The fixed records of the sandbox are always as old, so in time they are dated after an opt-out that is stored after them. */
export function makeStoredBeforeWorld(seed: number, calls: number): World {
  const own = { stratum: 'own', mode: 'own', seed, settings: {} } as const
  const maker = new Maker({ name: `stored-before-${seed}`, ...own })
  maker.startAt(day)
  const lines = ['0106', '0106', '0107', '0108', '0109', '0112', '0101']
  const numbers = ['212', '312', '416', '615'].flatMap((area) =>
    lines.map((line) => `${area}555${line}`),
  )
  while (maker.calls < calls) {
    const number = maker.pick(numbers)
    const askAll = () => {
      maker.pass(1_001)
      for (const kind of kinds) maker.call(toCall('decide', 'sandbox', { number, kind }))
    }
    if (maker.once(3)) storeRecord(maker, number)
    stop(maker, number)
    askAll()
    maker.pass(maker.pick([28, 35, 63, 70]) * dayMs)
    askAll()
    if (maker.once(2)) takeOff(maker, number)
    if (maker.once(4)) storeRecord(maker, number)
    askAll()
  }
  return maker.world
}

function ask(maker: Maker, number: string): void {
  maker.call(toCall('decide', 'sandbox', { number, kind: maker.pick(kinds) }))
}

function storeRecord(maker: Maker, phoneNumber: string): void {
  // That day may have begun elsewhere.
  const dateOfLastContact = maker.pick([maker.instant(0), maker.day(1)])
  const record = { phoneNumber, type: maker.pick(['P', 'P', 'P', 'S']), dateOfLastContact }
  const path = '/app/main/rpc/ebr'
  maker.send({ method: 'POST', path, key: 'sandbox', body: { ebrList: [record] } })
}

function stop(maker: Maker, number: string): void {
  const body = { number, said: 'stop' }
  maker.send({ method: 'POST', path: '/v1/opt-outs', key: 'sandbox', body })
}

function takeOff(maker: Maker, number: string): void {
  const path = `/app/main/rpc/pdnc?phoneList=${number}&actionType=remove`
  maker.send({ method: 'GET', path, key: 'sandbox' })
}

/** Of keys: one, some or all regions of an area code or of a number and its postal code. */
const regions: Readonly<Record<string, readonly string[]>> = {
  'one-island': ['NS'],
  'other-island': ['PE'],
  islands: ['NS', 'PE'],
  north: ['NT', 'NU'],
  'all-north': ['NT', 'NU', 'YT'],
  east: ['NY'],
  coasts: ['CA', 'NY', 'FL'],
}

export function makePlacesWorld(seed: number, calls: number): World {
  const counted = { stratum: 'counted', mode: 'own', seed, settings: edges } as const
  const maker = new Maker({ name: `places-${seed}`, ...counted })
  maker.startAt(day)
  const names = Object.keys(regions)
  for (const name of names) {
    const body = { label: name, role: 'Supervisor', regions: regions[name] }
    maker.send({ method: 'POST', path: '/v1/keys', key: 'sandbox', body, as: name })
  }
  while (maker.calls < calls) {
    const area = maker.pick(['902', '902', '782', '867', '867', '212', '212', '305', '213'])
    const door = maker.pick(['decide', 'decide', 'decide', 'predial'] as const)
    const postal = maker.once(2) ? undefined : maker.pick(['10001', '90210', '33101', '84101'])
    const call = toCall(door, maker.pick(names), {
      number: `${area}555${maker.pick(['0100', '0106', '0107'])}`,
      kind: maker.pick(kinds),
      postal: /^[23]/.test(area) ? postal : undefined,
    })
    maker.call(call)
    maker.pass(maker.pick([20, 1_100, 60_000]))
    maker.keepToDay()
  }
  return maker.world
}

interface Campaign {
  readonly areas: readonly string[]
  readonly maxPercent: number
  readonly answered: number
}

/** 5 of 119 and of 199: the next one would be exactly so many percent of all. */
const campaigns: readonly Campaign[] = [
  { areas: ['212', '312', '215', '313', '216', '404'], maxPercent: 3, answered: 199 },
  { areas: ['416', '514', '604', '613', '905'], maxPercent: 5, answered: 119 },
]

export function makeAbandonedExactWorld(seed: number, calls: number): World {
  const counted = { stratum: 'counted', mode: 'own', seed, settings: {} } as const
  const maker = new Maker({ name: `abandoned-exact-${seed}`, ...counted })
  maker.startAt(day)
  const { areas, maxPercent, answered } = campaigns[seed % campaigns.length] as Campaign
  const numbers = areas.flatMap((area) => [`${area}5550106`, `${area}5550107`])
  let abandoned = 0
  for (let told = 0; told < answered; told += 1) {
    const isLate = (abandoned + 2) * 100 <= maxPercent * (told + 2)
    if (isLate) abandoned += 1
    answer(maker, maker.pick(numbers), isLate)
  }
  const probe = (until: number) => {
    while (maker.calls < until) {
      ask(maker, maker.pick([...numbers, '2125550106', '4165550106']))
      maker.pass(maker.pick([20, 1_100, 4_000]))
    }
  }
  probe(maker.calls + (calls - maker.calls) / 2)
  answer(maker, maker.pick(numbers), true)
  probe(calls)
  return maker.world
}

/** A person answers; nobody speaks in time if it is late. */
export function answer(
  maker: Maker,
  number: string,
  isLate: boolean,
  { key = 'sandbox', callerId }: { readonly key?: string; readonly callerId?: string } = {},
): void {
  const fields = removeEmpty({ number, callKind: 'autodialed', callerId })
  maker.call({ door: 'decide', key, fields, as: 'told' })
  const body = {
    state: 'answered',
    answeredBy: 'person',
    greetingEndedAt: maker.instant(1_000),
    connectedAt: maker.instant(isLate ? 6_000 : 2_000),
  }
  maker.pass(8_000)
  maker.add(['report', 'told', body, key])
  maker.pass(1_001)
}
