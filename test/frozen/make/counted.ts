/** Worlds of limited keys, approvals, permits, repeats, pauses, and of what is counted. */
import type { Call, World } from '../script.js'
import { change, type Pool, removeEmpty } from './acts.js'
import { dayMs, hourMs, kinds, Maker } from './maker.js'
import { createProjects, projects, sandboxNumbers, toCall } from './own.js'
import { edges, merge } from './settings.js'

/** Of keys; each world has one of each. */
export const limits: Readonly<Record<string, object>> = {
  kinds: { kinds: ['manual', 'autodialed'] },
  project: { projects: ['CLINIC'] },
  shown: { callerIds: ['2125550150', '3055550151'] },
  valid: { callerIds: 'valid' },
  regions: { regions: ['NY', 'FL', 'OR'] },
  hourly: { attemptsPerHour: 3 },
  daily: { attemptsPerDay: 4, attemptsPerNumberPerDay: 1 },
  cool: { coolDownSeconds: 600 },
  running: { concurrent: 2 },
  asks: { approval: 'always' },
  first: { approval: 'first-contact' },
  several: {
    attemptsPerHour: 2,
    regions: ['NY', 'FL', 'OK', 'MD'],
    kinds: ['ai', 'manual'],
    concurrent: 5,
  },
}
const names = Object.keys(limits)

/** Clean lines and such with a permission, in states that count. */
const countedLines = ['0100', '0101', '0106', '0106', '0109', '0107']
const countedAreas = ['305', '405', '410', '503', '604', '207', '212', '617', '202']

export function makeCountedWorld(seed: number, calls: number): World {
  const gate = {
    subjects: [{ subjects: ['solar', 'roof'] }],
    houseLimits: seed % 3 === 0 ? [{ calls: 2, seconds: 600 }] : [],
    purposes:
      seed % 2 === 0 ? [{ project: 'DEBT', purpose: 'debt-collection', setBy: 'Ada Nowak' }] : [],
  }
  const policy = seed % 5 === 4 ? { attempts: { mode: 'shadow' } } : {}
  const settings = merge(edges, { gate, policy })
  const maker = new Maker({
    name: `counted-${seed}`,
    stratum: 'counted',
    mode: 'own',
    seed,
    settings,
  })
  maker.startAt(
    maker.pick([
      '2026-11-23T17:00:00.000Z',
      '2026-12-02T18:00:00.000Z',
      '2027-02-10T17:00:00.000Z',
    ]),
  )
  createProjects(maker)
  makeKeys(maker)
  const numbers = [
    ...Array.from(
      { length: 24 },
      () => `${maker.pick(countedAreas)}555${maker.pick(countedLines)}`,
    ),
    ...sandboxNumbers(maker, 6),
  ]
  const pool: Pool = { key: 'sandbox', numbers, projects }
  const paused = new Set<string>()
  const state = { maker, pool, paused, repeats: 0, earlier: [] as Call[] }
  while (maker.calls < calls) {
    if (maker.once(25)) change(maker, pool)
    if (maker.once(20)) togglePause(state)
    if (maker.once(40)) maker.pass(maker.pick([hourMs, dayMs]))
    else maker.pass(maker.pick([20, 20, 20, 1_100, 20_000, 120_000]))
    maker.keepToDay()
    makeOne(state)
  }
  return maker.world
}

interface State {
  readonly maker: Maker
  readonly pool: Pool
  readonly paused: Set<string>
  repeats: number
  readonly earlier: Call[]
}

function makeKeys(maker: Maker): void {
  for (const [name, limit] of Object.entries(limits)) {
    const body = { label: name, role: 'Supervisor', ...limit }
    maker.send({ method: 'POST', path: '/v1/keys', key: 'sandbox', body, as: name })
  }
}

function makeOne(state: State): void {
  const { maker, earlier } = state
  const what = maker.below(12)
  if (what === 0) askForPermit(state)
  else if (what === 1 && earlier.length > 0) maker.call(maker.pick(earlier))
  else if (what === 2) askForApproval(state)
  else if (what === 3) report(state)
  else askByKey(state, what === 4)
}

function askByKey(state: State, isRepeatable: boolean): void {
  const { maker, pool, earlier } = state
  const call = chooseCounted(maker, pool, maker.once(4) ? 'sandbox' : maker.pick(names))
  if (isRepeatable) {
    state.repeats += 1
    const repeated = { ...call, idempotencyKey: `repeat-${state.repeats}` }
    earlier.splice(0, Math.max(0, earlier.length - 6))
    earlier.push(repeated)
    maker.call(repeated)
  } else if (maker.once(12)) maker.pair(call, { ...call })
  else maker.call(call)
}

function chooseCounted(maker: Maker, { numbers }: Pool, key: string): Call {
  const isLimited = key === 'project' || key === 'shown' || key === 'valid'
  return toCall(maker.once(12) ? 'predial' : 'decide', key, {
    number: maker.once(60) ? maker.pick(['911', '8005551234', '123']) : maker.pick(numbers),
    kind: maker.pick(kinds),
    project: maker.pick(
      isLimited ? ['CLINIC', undefined] : [undefined, undefined, 'DEBT', 'CLINIC'],
    ),
    callerId: maker.pick(
      isLimited ? ['2125550150', '3055550151', undefined] : [undefined, undefined, '101'],
    ),
    subject: maker.pick([undefined, undefined, undefined, 'solar', 'roof', 'boat']),
    person: maker.pick([undefined, undefined, undefined, 'p-1', 'p-2']),
  })
}

function askForPermit({ maker, pool }: State): void {
  const key = maker.pick(['sandbox', 'sandbox', 'hourly', 'running', 'valid'])
  const number = maker.pick(pool.numbers)
  const callerId = maker.pick(['2125550150', '3055550151'])
  const fields = {
    number,
    callerId,
    callKind: maker.pick(kinds),
    format: maker.pick(['passport', 'jwt']),
  }
  maker.call({ door: 'permit', key, fields, as: 'permit' })
  if (maker.once(4)) change(maker, { ...pool, numbers: [number] })
  if (maker.once(5)) maker.pass(61_000)
  const value = '{permit.permit.value}'
  const shown = maker.once(6) ? '2125550199' : callerId
  maker.call({ door: 'use', key, fields: { value, number, callerId: shown } })
  if (maker.once(3)) maker.call({ door: 'use', key, fields: { value, number, callerId } })
}

function askForApproval({ maker, pool }: State): void {
  const key = maker.pick(['asks', 'first'])
  const call = toCall('decide', key, { number: maker.pick(pool.numbers), kind: maker.pick(kinds) })
  maker.call(call)
  maker.add(['approve', maker.pick(['approve', 'approve', 'refuse'])])
  maker.pass(maker.pick([1_100, 1_100, 700_000]))
  maker.call(call)
  if (maker.once(3)) maker.call(call)
}

/** A call whose end is told. */
function report({ maker, pool }: State): void {
  const call = chooseCounted(maker, pool, 'sandbox')
  maker.call({
    ...call,
    door: 'decide',
    fields: toCall('decide', '', readFacts(call)).fields,
    as: 'told',
  })
  const state = maker.pick(['not-placed', 'dialed', 'answered', 'answered', 'failed'])
  const body = removeEmpty({
    state,
    answeredBy: state === 'answered' ? maker.pick(['person', 'machine', undefined]) : undefined,
    greetingEndedAt: state === 'answered' ? maker.instant(5_000) : undefined,
    connectedAt: state === 'answered' && maker.once(2) ? maker.instant(6_000) : undefined,
  })
  maker.pass(8_000)
  maker.add(['report', 'told', body])
  maker.pass(1_001)
}

function readFacts({ fields }: Call) {
  const text = (name: string) => fields[name] as string | undefined
  return {
    number: text('number') ?? '',
    kind: text('kind') ?? text('callKind') ?? 'manual',
    project: text('project') ?? text('projectId'),
    subject: text('subject'),
    person: text('person') ?? text('personId'),
  }
}

const subjects = ['ai:sandbox', 'agents:sandbox', 'country:CA:sandbox', 'key:{cool.id}']

function togglePause({ maker, paused }: State): void {
  const subject = maker.pick(subjects)
  const path = paused.has(subject) ? '/v1/pauses/end' : '/v1/pauses'
  maker.send({ method: 'POST', path, key: 'sandbox', body: { subject, reason: 'a test' } })
  if (!paused.delete(subject)) paused.add(subject)
  maker.pass(1_001)
}

/** Many answered calls of a campaign, too many of which are abandoned. */
export function makeAbandonedWorld(seed: number, calls: number): World {
  const policy = seed % 4 === 3 ? { abandonment: { mode: 'shadow' } } : {}
  const maker = new Maker({
    name: `abandoned-${seed}`,
    stratum: 'counted',
    mode: 'own',
    seed,
    settings: { policy },
  })
  maker.startAt('2026-11-23T17:00:00.000Z')
  const numbers = [
    ...sandboxNumbers(maker, 20),
    '2125550106',
    '3055550106',
    '2125550107',
    '4165550106',
    '2065550100',
  ]
  const good = ['212', '312', '214', '215', '313', '216', '404', '702', '612'].map(
    (area) => `${area}5550106`,
  )
  const limit = 125
  for (let told = 0; told < limit && maker.calls < calls; told += 1) {
    maker.call({
      door: 'decide',
      key: 'sandbox',
      fields: { number: maker.pick(good), callKind: 'autodialed' },
      as: 'told',
    })
    const isLate = maker.once(12)
    const times = {
      greetingEndedAt: maker.instant(1_000),
      connectedAt: maker.instant(isLate ? 6_000 : 2_000),
    }
    maker.pass(8_000)
    maker.add(['report', 'told', { state: 'answered', answeredBy: 'person', ...times }])
  }
  maker.pass(1_001)
  while (maker.calls < calls) {
    maker.call(
      toCall('decide', 'sandbox', { number: maker.pick(numbers), kind: maker.pick(kinds) }),
    )
    maker.pass(maker.pick([20, 20, 20, 20, 1_100, 4_000]))
    if (maker.once(60)) maker.pass(maker.pick([hourMs, 12 * hourMs]))
  }
  return maker.world
}
