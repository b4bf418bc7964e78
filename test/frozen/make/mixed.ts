/** Worlds in each mode of what is ours in all of them: registers of own numbers, keys, pauses, reports, facts about numbers. */
import type { Mode, World } from '../script.js'
import { removeEmpty } from './acts.js'
import { limits } from './counted.js'
import { dayMs, hourMs, kinds, Maker } from './maker.js'
import { createProjects, realNumbers, sandboxNumbers, toCall } from './own.js'
import { merge } from './settings.js'
import { addRows } from './vendors.js'

export function makeMixedWorld(mode: Mode, seed: number, calls: number): World {
  const isOwn = mode === 'own'
  const isTwo = mode === 'fallback' || mode === 'any-no-blocks'
  const source = { kind: 'remote', refreshAheadMs: 0, ...(isTwo && { combine: mode }) }
  const gate = {
    neighborCallerId: seed % 2 === 0 ? 'block' : 'warn',
    neighborPrefix: seed % 4 < 2 ? 'area-code' : 'exchange',
  }
  const settings = merge(isOwn ? {} : { source }, { gate })
  const stratum = isOwn ? 'counted' : mode === 'one' ? 'one' : 'two'
  const maker = new Maker({ name: `mixed-${mode}-${seed}`, stratum, mode, seed, settings })
  maker.startAt(
    maker.pick([
      '2026-11-23T15:00:00.000Z',
      '2026-12-02T15:00:00.000Z',
      '2027-02-10T15:00:00.000Z',
    ]),
  )
  createProjects(maker)
  const account = isOwn ? 'sandbox' : 'main'
  const numbers = isOwn ? sandboxNumbers(maker, 50) : realNumbers(maker, 50)
  for (const vendor of isOwn ? [] : isTwo ? ([0, 1] as const) : ([0] as const)) {
    addRows(maker, vendor, numbers)
  }
  const place = { maker, account, numbers, calls }
  const part = seed % 3
  if (part === 0) showNumbers(place)
  else if (part === 1) reportCalls(place)
  else useKeys(place)
  return maker.world
}

interface Place {
  readonly maker: Maker
  readonly account: string
  readonly numbers: readonly string[]
  readonly calls: number
}

/** The account has a register, and somebody's list says what nobody may show. */
function showNumbers({ maker, account, numbers, calls }: Place): void {
  const areas = [...new Set(numbers.map((one) => one.slice(0, 3)))].slice(0, 8)
  const own = areas.map((area, index) => `${area}555015${index}`)
  const callerIds = own.map((number, index) =>
    removeEmpty({
      number,
      owner: 'Acme Inc.',
      proof: 'invoice 7',
      presence: index % 3 === 0 ? 'office' : undefined,
      projectId: index === 5 ? 'CLINIC' : undefined,
      until: index === 6 ? maker.instant(60_000) : undefined,
      from: index === 7 ? maker.instant(20 * dayMs) : undefined,
    }),
  )
  maker.send({ method: 'POST', path: '/v1/caller-ids', key: account, body: { callerIds } })
  maker.add(['do-not-originate', [own[4] ?? '', '888555']])
  maker.pass(61_001)
  while (maker.calls < calls) {
    const shown = maker.pick([
      ...own,
      ...own,
      '8885550123',
      '2125550199',
      '9005550123',
      '101',
      undefined,
    ])
    const number = maker.pick(numbers)
    const near = own.find((one) => one.slice(0, 3) === number.slice(0, 3))
    const callerId = maker.once(3) ? (near ?? shown) : shown
    const project = maker.pick([undefined, undefined, 'CLINIC'])
    maker.call(toCall('decide', account, { number, kind: maker.pick(kinds), project, callerId }))
    maker.pass(maker.pick([20, 20, 20, 4_000]))
    if (maker.once(80)) maker.pass(hourMs)
    maker.keepToDay()
  }
}

/** So many answered calls that the share of the abandoned ones is judged, at first low, then too high. */
function reportCalls({ maker, account, numbers, calls }: Place): void {
  const areas = ['212', '312', '214', '215', '313', '216', '404', '702', '612']
  const told = 130
  // At a vendor, a number that it has no row for is clean.
  const good = areas.map((area) => `${area}${account === 'main' ? '7362106' : '5550106'}`)
  for (let nth = 0; nth < told; nth += 1) {
    const fields = { number: maker.pick(good), callKind: 'autodialed' }
    maker.call({ door: 'decide', key: account, fields, as: 'told' })
    const isLate = nth > 110 ? maker.once(2) : maker.once(60)
    const connectedAt = maker.instant(isLate ? 6_000 : 2_000)
    const body = {
      state: 'answered',
      answeredBy: 'person',
      greetingEndedAt: maker.instant(1_000),
      connectedAt,
    }
    maker.pass(7_000)
    maker.add(['report', 'told', body, account])
  }
  maker.pass(1_001)
  while (maker.calls < calls) {
    maker.call(toCall('decide', account, { number: maker.pick(numbers), kind: maker.pick(kinds) }))
    maker.pass(maker.pick([20, 20, 4_000]))
  }
}

const subjects = ['ai:', 'agents:', 'country:CA:', 'country:US:'] as const

/** Keys with limits, pauses, and imported facts about numbers. */
function useKeys({ maker, account, numbers, calls }: Place): void {
  const names = Object.keys(limits).filter((name) => name !== 'asks' && name !== 'first')
  for (const name of names) {
    const body = { label: name, role: 'Supervisor', ...limits[name] }
    maker.send({ method: 'POST', path: '/v1/keys', key: account, body, as: name })
  }
  const rows = numbers.map((one) => `${one},${maker.day(-1)},${maker.pick(['yes', 'no'])}\n`)
  const isKnown = account === 'main' && maker.once(2)
  if (isKnown) {
    const file = `reassigned-${maker.day(-1)}.csv`
    maker.add(['facts', 'reassigned', file, `number,date,answer\n${rows.join('')}`])
  }
  let paused = ''
  while (maker.calls < calls) {
    if (maker.once(15)) {
      const path = paused === '' ? '/v1/pauses' : '/v1/pauses/end'
      const subject = paused === '' ? `${maker.pick(subjects)}${account}` : paused
      maker.send({ method: 'POST', path, key: account, body: { subject, reason: 'a test' } })
      paused = paused === '' ? subject : ''
      maker.pass(1_001)
    }
    const callerId = maker.pick(['2125550150', '3055550151', '2125550150', undefined])
    const project = maker.pick([undefined, undefined, 'CLINIC'])
    const call = { number: maker.pick(numbers), kind: maker.pick(kinds), project, callerId }
    maker.call(toCall('decide', maker.pick(names), call))
    maker.pass(maker.pick([20, 20, 1_100, 60_000]))
    maker.keepToDay()
  }
}
