/** Worlds of the reasons and verdicts that the others have too seldom. */
import type { Mode, VendorRow, World } from '../script.js'
import { limits } from './counted.js'
import { dayMs, kinds, Maker } from './maker.js'
import { realNumbers, toCall } from './own.js'

const day = '2026-11-23T17:00:00.000Z'

/** The window of each number closes while the vendor is silent about litigators, which policy allows. */
export function makeExpiredWorld(seed: number, calls: number): World {
  const unknown = { onUnknown: 'allow', reason: 'an outage', until: '2028-01-01T00:00:00Z' }
  const settings = {
    source: { kind: 'remote', refreshAheadMs: 0 },
    policy: { litigator: unknown, reassigned: unknown },
  }
  const one = { stratum: 'one', mode: 'one', seed, settings } as const
  const maker = new Maker({ name: `expired-${seed}`, ...one })
  maker.startAt(day)
  const numbers = realNumbers(maker, 40)
  const row: VendorRow = { letter: 'G', ebr: 'P', wireless: true, allowed: '111', secondsLeft: 1 }
  maker.add(['rows', 0, Object.fromEntries(numbers.map((number) => [number, row]))])
  maker.add(['fault', 0, 'litigator', 'silent'])
  while (maker.calls < calls) {
    maker.call(toCall('decide', 'main', { number: maker.pick(numbers), kind: maker.pick(kinds) }))
    maker.pass(maker.pick([20, 1_100]))
  }
  return maker.world
}

/** Channels whose arguments say what cannot be. */
export function makeInvalidWorld(seed: number, calls: number): World {
  const own = { stratum: 'own', mode: 'own', seed, settings: { asterisk: {} } } as const
  const maker = new Maker({ name: `invalid-${seed}`, ...own })
  maker.startAt(day)
  const wrong = [
    { kind: 'robot' },
    { purpose: 'fun' },
    { postal: 'x'.repeat(300) },
    { color: 'red' },
    { kind: 'manual', campaign: 'x'.repeat(300) },
  ]
  while (maker.calls < calls) {
    const number = maker.pick(['2125550100', '3055550106', '911', '8005551234', '123'])
    maker.call({ door: 'ari', fields: { number, kind: maker.pick(kinds), ...maker.pick(wrong) } })
    maker.pass(20)
  }
  return maker.world
}

/** Consents with less evidence than the settings require, or exactly that much. */
export function makeUnprovenWorld(seed: number, calls: number): World {
  const settings = { gate: { aiConsentEvidence: seed % 2 === 0 ? 'recorded' : 'certified' } }
  const own = { stratum: 'own', mode: 'own', seed, settings } as const
  const maker = new Maker({ name: `unproven-${seed}`, ...own })
  maker.startAt(day)
  const numbers = ['212', '312', '404', '617', '702', '206', '416', '602'].flatMap((area) =>
    ['0100', '0101', '0103', '0113', '0130'].map((line) => `${area}555${line}`),
  )
  for (const number of numbers) {
    const body = {
      number,
      givenAt: maker.instant(-maker.pick([1, 40]) * dayMs),
      seller: 'Acme Inc.',
      channel: 'web',
      method: maker.pick(['oral', 'oral', 'recorded', 'written']),
      wording: 'I agree to calls.',
    }
    maker.send({ method: 'POST', path: '/v1/consents', key: 'sandbox', body })
  }
  maker.pass(1_001)
  while (maker.calls < calls) {
    const kind = maker.pick(['ai', 'ai', 'manual', 'autodialed'])
    maker.call(toCall('decide', 'sandbox', { number: maker.pick(numbers), kind }))
    maker.pass(maker.pick([20, 1_100, 60_000]))
    maker.keepToDay()
  }
  return maker.world
}

/** One number is called again and again by a key that must leave it alone for a while. */
export function makeCoolDownWorld(seed: number, calls: number): World {
  const counted = { stratum: 'counted', mode: 'own', seed, settings: {} } as const
  const maker = new Maker({ name: `cool-down-${seed}`, ...counted })
  maker.startAt(day)
  const body = { label: 'cool', role: 'Supervisor', ...limits.cool }
  maker.send({ method: 'POST', path: '/v1/keys', key: 'sandbox', body, as: 'cool' })
  const numbers = ['212', '312', '404', '416'].map((area) => `${area}5550106`)
  while (maker.calls < calls) {
    maker.call(toCall('decide', 'cool', { number: maker.pick(numbers), kind: maker.pick(kinds) }))
    maker.pass(maker.pick([20, 60_000, 299_999, 300_000]))
    maker.keepToDay()
  }
  return maker.world
}

/** Calls that rest on a record, in states that count them; and sources that all fail. */
export function makeRestingWorld(mode: Exclude<Mode, 'own'>, seed: number, calls: number): World {
  const isTwo = mode !== 'one'
  const unknown = { onUnknown: 'allow', reason: 'an outage', until: '2028-01-01T00:00:00Z' }
  const settings = {
    source: { kind: 'remote', refreshAheadMs: 0, ...(isTwo && { combine: mode }) },
    gate: { houseLimits: [{ calls: 3, seconds: 3_600 }] },
    policy: { reassigned: unknown },
  }
  const stratum = isTwo ? 'two' : 'one'
  const maker = new Maker({ name: `resting-${mode}-${seed}`, stratum, mode, seed, settings })
  maker.startAt(day)
  const numbers = realNumbers(maker, 40)
  const rows: readonly VendorRow[] = [
    { letter: 'H', ebr: 'P', wireless: true, allowed: '111' },
    { letter: 'O', ebr: 'P', allowed: '111' },
  ]
  const vendors = isTwo ? ([0, 1] as const) : ([0] as const)
  for (const vendor of vendors) {
    maker.add(['rows', vendor, Object.fromEntries(numbers.map((one) => [one, maker.pick(rows)]))])
  }
  // What is known of some numbers is not known of the others.
  const answers = numbers.filter(() => maker.once(4)).map((one) => `${one},${maker.day(-1)},no\n`)
  const file = `reassigned-${maker.day(-1)}.csv`
  maker.add(['facts', 'reassigned', file, `number,date,answer\n${answers.join('')}`])
  let isFaulty = false
  while (maker.calls < calls) {
    if (maker.once(12)) {
      isFaulty = !isFaulty
      for (const vendor of vendors) {
        maker.add([
          'fault',
          vendor,
          'all',
          isFaulty ? maker.pick(['error', 'garbage'] as const) : 'none',
        ])
      }
      // What was read before is asked again.
      maker.pass(700_000)
    }
    maker.call(toCall('decide', 'main', { number: maker.pick(numbers), kind: maker.pick(kinds) }))
    maker.pass(maker.pick([20, 1_100, 61_000]))
    maker.keepToDay()
  }
  return maker.world
}
