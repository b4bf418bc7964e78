/** Worlds of calls that much speaks against at the same time: each pair of denials that can occur. */
import type { VendorRow, World } from '../script.js'
import { removeEmpty } from './acts.js'
import { answer } from './exact.js'
import { dayMs, hourMs, kinds, Maker } from './maker.js'
import { createProjects, toCall } from './own.js'
import { merge } from './settings.js'

const areas = ['212', '305', '512', '602', '416'] as const

/** A denial of each check, or none. */
const rows = {
  letters: [
    { letter: 'D', reason: 'National (USA) 2026-01-01;;;' },
    { letter: 'D', reason: ';State (TX) 2026-01-01;;' },
    { letter: 'D', reason: 'Litigator' },
    ...['L', 'I', 'B', 'M', 'S', 'P', 'C'].map((letter) => ({ letter })),
    { letter: 'P', ebr: 'P' },
    { letter: 'C', closedToday: true },
    { letter: 'E', ebr: 'P', allowed: '000' },
    { letter: 'E', ebr: 'P', allowed: '000', closedToday: true },
  ] as readonly VendorRow[],
  hours: [undefined, 'closed', 'unknown'] as const,
}

const keys: Readonly<Record<string, object>> = {
  elsewhere: { regions: ['HI'] },
  held: {},
  hourly: { attemptsPerHour: 1 },
  running: { concurrent: 1 },
  cool: { coolDownSeconds: 86_400 },
  asks: { approval: 'always' },
}

/**
 * What is asked only of calls that all else allows is met beside other denials where all checks are in shadow. `lists` is why
 * the national lists cannot be used.
 */
interface Variant {
  readonly account: string
  readonly isShadow: boolean
  readonly lists?: 'stale' | 'unreadable' | 'partial'
}

const variants: Readonly<Record<'own' | 'one', readonly Variant[]>> = {
  own: [
    { account: 'main', isShadow: true, lists: 'stale' },
    { account: 'main', isShadow: true, lists: 'unreadable' },
    { account: 'main', isShadow: true, lists: 'partial' },
    { account: 'sandbox', isShadow: true },
    { account: 'main', isShadow: false, lists: 'stale' },
    { account: 'main', isShadow: false, lists: 'unreadable' },
    { account: 'main', isShadow: false, lists: 'partial' },
    { account: 'sandbox', isShadow: false },
  ],
  one: [
    { account: 'main', isShadow: true },
    { account: 'main', isShadow: false },
  ],
}

export function makePairsWorld(mode: 'own' | 'one', seed: number, calls: number): World {
  const variant = variants[mode][seed % variants[mode].length] as Variant
  const { account, isShadow } = variant
  const gate = {
    neighborCallerId: 'block',
    aiConsentEvidence: 'written',
    houseLimits: [{ calls: 1, seconds: 2_592_000 }],
    subjects: [{ subjects: ['solar'] }],
    ...(isShadow && { shadow: { accounts: [account] } }),
  }
  const isOwn = mode === 'own'
  const settings = merge(isOwn ? {} : { source: { kind: 'remote', refreshAheadMs: 0 } }, { gate })
  const stratum = isOwn ? 'counted' : 'one'
  const maker = new Maker({ name: `pairs-${mode}-${seed}`, stratum, mode, seed, settings })
  maker.startAt('2026-11-23T17:00:00.000Z')
  createProjects(maker)
  const numbers = chooseNumbers(maker, variant)
  registerNumbers(maker, account)
  const pool = { maker, numbers, ...variant }
  if (isShadow || !isOwn) abandon(pool)
  if (isOwn) storeFacts(pool)
  else addRows(pool)
  makeKeys(pool, seed)
  while (maker.calls < calls) {
    if (!isOwn && maker.once(60)) addRows(pool)
    if (!isShadow && maker.once(60)) callPaused(pool)
    askOne(pool)
    maker.pass(maker.pick([20, 20, 1_100, 60_000]))
    if (maker.once(40)) maker.pass(maker.pick([hourMs, 7 * hourMs]))
  }
  return maker.world
}

interface Pool extends Variant {
  readonly maker: Maker
  readonly numbers: readonly string[]
}

function chooseNumbers(maker: Maker, { account, isShadow }: Variant): readonly string[] {
  const numbers = Array.from({ length: isShadow ? 24 : 45 }, () => {
    const line = `5550${100 + maker.below(15)}`
    const any = String(2_000_000 + maker.below(7_999_999))
    return `${maker.pick(areas)}${account === 'sandbox' ? line : any}`
  })
  return [...numbers, '8005551234', '8885551234', '8775551234']
}

/** One number that may be shown, and one for each reason why it may not. */
function registerNumbers(maker: Maker, account: string): void {
  const callerIds = areas.map((area, index) =>
    removeEmpty({
      number: `${area}5550150`,
      owner: 'Acme Inc.',
      proof: 'invoice 7',
      until: index === 1 ? maker.instant(60_000) : undefined,
    }),
  )
  maker.send({ method: 'POST', path: '/v1/caller-ids', key: account, body: { callerIds } })
  maker.add(['do-not-originate', ['5125550150']])
  maker.pass(61_001)
}

/** So many that the next one would be too many. */
function abandon({ maker, account, isShadow }: Pool): void {
  // Some calls are blocked where they can be.
  const calls = isShadow ? 100 : 112
  for (let told = 0; told < calls; told += 1) {
    const line = account === 'sandbox' ? '5550100' : String(2_000_000 + maker.below(7_999_999))
    const number = `${maker.pick(['312', '404', '615'])}${line}`
    answer(maker, number, isShadow || told % 10 === 0, { key: account, callerId: '2125550150' })
  }
}

/** Lists that are stale, unreadable or of other places, opt-outs, consents and facts about numbers. */
function storeFacts({ maker, account, numbers, lists }: Pool): void {
  const some = (inTimes: number) => numbers.filter(() => maker.once(inTimes))
  const list = (name: string, ageDays: number, areaCodes: readonly string[] | 'all' = 'all') => {
    const listed = some(3).filter(
      (one) => areaCodes === 'all' || areaCodes.includes(one.slice(0, 3)),
    )
    maker.add(['list', { name, numbers: listed, asOf: maker.instant(-ageDays * dayMs), areaCodes }])
  }
  const ageDays = lists === 'stale' ? 40 : 1
  list('litigators', 1)
  list('state-dnc-tx', 1)
  if (lists === 'unreadable') {
    maker.add(['damage', 'us-dnc'])
    maker.add(['damage', 'canada-dnc'])
  } else {
    list('us-dnc', ageDays, lists === 'partial' ? ['212', '512'] : 'all')
    list('canada-dnc', ageDays)
  }
  for (const number of some(2)) {
    const body = {
      number,
      givenAt: maker.instant(-maker.pick([1, 40, 300]) * dayMs),
      seller: 'Acme Inc.',
      channel: 'web',
      method: maker.pick(['oral', 'oral', 'written']),
      wording: 'I agree to calls.',
    }
    maker.send({ method: 'POST', path: '/v1/consents', key: account, body })
  }
  maker.pass(1_001)
  for (const number of some(4)) {
    maker.send({ method: 'POST', path: '/v1/opt-outs', key: account, body: { number } })
  }
  if (account === 'main') {
    const answers = numbers.map((one) => `${one},${maker.day(-1)},${maker.pick(['yes', 'no'])}\n`)
    const states = numbers.map(
      (one) =>
        `${one},${maker.pick(['disconnected', 'connected', 'connected'])},${maker.day(-2)}\n`,
    )
    const files = [
      ['reassigned', `number,date,answer\n${answers.join('')}`],
      ['line-status', `number,status,checked-on\n${states.join('')}`],
    ] as const
    for (const [feed, text] of files) {
      maker.add(['facts', feed, `${feed}-${maker.day(-1)}.csv`, text])
    }
  }
  maker.pass(1_001)
}

function addRows({ maker, numbers }: Pool): void {
  const rowOf = (): VendorRow => {
    const hours = maker.pick(rows.hours)
    return {
      ...maker.pick(rows.letters),
      ...(maker.once(3) && { onList: true }),
      ...(maker.once(3) && { litigator: true }),
      ...(hours && { hours }),
    }
  }
  maker.add(['rows', 0, Object.fromEntries(numbers.map((number) => [number, rowOf()]))])
}

function makeKeys({ maker, account }: Pool, seed: number): void {
  for (const [name, limit] of Object.entries(keys)) {
    const body = { label: name, role: 'Supervisor', ...limit }
    maker.send({ method: 'POST', path: '/v1/keys', key: account, body, as: name })
  }
  pause(maker, account, 'key:{held.id}')
  if (seed % 3 === 0) pause(maker, account, `country:CA:${account}`)
}

function pause(maker: Maker, account: string, subject: string, path = '/v1/pauses'): void {
  maker.send({ method: 'POST', path, key: account, body: { subject, reason: 'a test' } })
  maker.pass(1_001)
}

/** Calls of AI agents are paused for a while. */
function callPaused(pool: Pool): void {
  const { maker, account } = pool
  pause(maker, account, `ai:${account}`)
  for (let left = 20; left > 0; left -= 1) askOne(pool, 'ai')
  pause(maker, account, `ai:${account}`, '/v1/pauses/end')
}

const counting = ['cool', 'cool', 'cool', 'asks', 'running', 'hourly'] as const

function askOne(
  { maker, account, numbers, isShadow }: Pool,
  kind = maker.pick([...kinds, 'ai'] as const),
): void {
  const number = maker.pick(numbers)
  const limited = isShadow ? counting : (['elsewhere', 'held'] as const)
  const shown = ['2125550150', '3055550150', '5125550150', '2125550199', '911', undefined] as const
  const call = toCall('decide', maker.once(4) ? account : maker.pick(limited), {
    number,
    kind,
    project: maker.once(8) ? 'NONE' : undefined,
    callerId: maker.once(5) ? `${number.slice(0, 3)}5550150` : maker.pick(shown),
    subject: maker.once(2) ? maker.pick(['boat', 'solar']) : undefined,
  })
  maker.call(call)
}
