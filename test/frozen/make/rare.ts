/** Worlds of what happens seldom: a clock that was set back, too many calls at once, the last seconds of a window. */
import type { VendorRow, World } from '../script.js'
import { limits } from './counted.js'
import { kinds, Maker } from './maker.js'
import { realNumbers, toCall } from './own.js'
import { edges } from './settings.js'

/** The clock is behind what is stored. */
export function makeClockWorld(seed: number, calls: number): World {
  const maker = new Maker({
    name: `clock-${seed}`,
    stratum: 'own',
    mode: 'own',
    seed,
    settings: {},
  })
  const numbers = ['2125550106', '2125550100', '2125550105', '3055550103', '2125550106']
  const ask = () =>
    maker.call(
      toCall('decide', 'sandbox', { number: maker.pick(numbers), kind: maker.pick(kinds) }),
    )
  const setWall = (ms: number) => maker.add(['wall', maker.instant(ms)])
  while (maker.calls < calls) {
    const body = {
      ebrList: [{ phoneNumber: '2125550107', type: 'P', dateOfLastContact: maker.day(0) }],
    }
    maker.send({ method: 'POST', path: '/app/main/rpc/ebr', key: 'sandbox', body })
    maker.pass(1_001)
    ask()
    setWall(-maker.pick([3_600_000, 60_000, 90_000_000]))
    for (let times = 0; times < 3; times += 1) ask()
    setWall(0)
    ask()
    maker.pass(maker.pick([20_000, 3_600_000]))
    maker.keepToDay()
  }
  return maker.world
}

/** Two at a time where one may be under way. */
export function makeCrowdedWorld(seed: number, calls: number): World {
  const settings = { source: { kind: 'remote', refreshAheadMs: 0 }, gate: { maxPending: 1 } }
  const maker = new Maker({ name: `crowded-${seed}`, stratum: 'one', mode: 'one', seed, settings })
  maker.startAt('2026-11-23T15:00:00.000Z')
  while (maker.calls < calls) {
    const [one = '', other = ''] = realNumbers(maker, 2)
    const of = (number: string) => toCall('decide', 'main', { number, kind: maker.pick(kinds) })
    maker.pair(of(one), of(other))
    maker.pass(maker.pick([20, 1_100]))
  }
  return maker.world
}

/** A vendor that does not answer in time. */
export function makeSilentWorld(seed: number, calls: number): World {
  const isTwo = seed % 3 > 0
  const combine = seed % 3 === 1 ? 'fallback' : 'any-no-blocks'
  const unknown = { onUnknown: 'allow', reason: 'an outage', until: '2028-01-01T00:00:00Z' }
  const settings = {
    source: { kind: 'remote', refreshAheadMs: 0, ...(isTwo && { combine }) },
    policy: { litigator: unknown },
    gate: { cache: { allowMs: 60_000 } },
  }
  const mode = isTwo ? combine : 'one'
  const stratum = isTwo ? 'two' : 'one'
  const maker = new Maker({ name: `silent-${seed}`, stratum, mode, seed, settings })
  maker.startAt('2026-11-23T15:00:00.000Z')
  const numbers = realNumbers(maker, 30)
  const rows: readonly VendorRow[] = [
    {},
    {},
    { secondsLeft: 1 },
    { letter: 'G', ebr: 'P', wireless: true, allowed: '111' },
    { litigator: true },
  ]
  for (const vendor of isTwo ? ([0, 1] as const) : ([0] as const)) {
    maker.add(['rows', vendor, Object.fromEntries(numbers.map((one) => [one, maker.pick(rows)]))])
  }
  while (maker.calls < calls) {
    const question = maker.pick([
      'litigator',
      'scrub',
      'legal-time',
      'internal-dnc',
      'all',
    ] as const)
    const vendor = isTwo ? maker.pick([0, 1] as const) : 0
    if (maker.once(2)) maker.add(['fault', vendor, question, 'silent'])
    for (let times = 0; times < 3; times += 1) {
      maker.call(toCall('decide', 'main', { number: maker.pick(numbers), kind: maker.pick(kinds) }))
    }
    maker.add(['fault', vendor, 'all', 'none'])
    maker.pass(maker.pick([20, 1_100, 61_000]))
  }
  return maker.world
}

/** Permits in the last seconds of the calling hours in New York. */
export function makeLateWorld(seed: number, calls: number): World {
  const maker = new Maker({
    name: `late-${seed}`,
    stratum: 'counted',
    mode: 'own',
    seed,
    settings: edges,
  })
  maker.startAt('2026-11-24T01:59:40.000Z')
  while (maker.calls < calls) {
    const number = maker.pick(['2125550106', '2125550100', '2125550106'])
    const fields = { number, callKind: maker.pick(kinds), callerId: '2125550199' }
    maker.call({
      door: maker.pick(['permit', 'permit', 'decide']),
      key: 'sandbox',
      fields,
      as: 'late',
    })
    maker.pass(maker.pick([20, 700, 2_500]))
    const time = maker.instant(0).slice(11, 19)
    if (time >= '02:00:03') maker.pass(86_400_000 - 25_000)
  }
  return maker.world
}

/** Reasons that the others meet too seldom, each in worlds of its own. */
export function makeNarrowWorld(seed: number, calls: number): World {
  const settings = narrowSettings[seed % narrowSettings.length] ?? {}
  const maker = new Maker({
    name: `narrow-${seed}`,
    stratum: 'counted',
    mode: 'own',
    seed,
    settings,
  })
  maker.startAt('2026-11-23T15:00:00.000Z')
  const numbers = [
    '2125550106',
    '3125550106',
    '3055550106',
    '2145550106',
    '2155550106',
    '8035550106',
  ]
  const names = ['hourly', 'daily', 'cool', 'running'] as const
  for (const name of names) {
    const body = { label: name, role: 'Supervisor', ...limits[name] }
    maker.send({ method: 'POST', path: '/v1/keys', key: 'sandbox', body, as: name })
  }
  const own = ['2125550150', '3125550150', '3055550150']
  if (seed % narrowSettings.length === 1) {
    const callerIds = own.map((number) => ({ number, owner: 'Acme Inc.', proof: 'invoice 7' }))
    maker.send({ method: 'POST', path: '/v1/caller-ids', key: 'sandbox', body: { callerIds } })
    maker.pass(1_001)
  }
  while (maker.calls < calls) {
    const isByKey = seed % narrowSettings.length === 0
    const isAbroad = seed % narrowSettings.length === 3 && maker.once(2)
    maker.call(
      toCall('decide', isByKey ? maker.pick(names) : 'sandbox', {
        number: isAbroad ? maker.pick(['123', '+442079460018', '4711']) : maker.pick(numbers),
        kind: maker.pick(kinds),
        callerId: seed % narrowSettings.length === 1 ? maker.pick(own) : undefined,
      }),
    )
    maker.pass(maker.pick([20, 1_100, 60_000]))
    maker.keepToDay()
  }
  return maker.world
}

const narrowSettings: readonly object[] = [
  {},
  { gate: { neighborCallerId: 'block' } },
  { gate: { aiConsentEvidence: 'written' } },
  { gate: { nonNanp: 'allow' } },
]
