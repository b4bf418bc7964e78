/** Worlds with one provider, or two in each of their modes. */
import type { Mode, VendorFault, VendorQuestion, VendorRow, World } from '../script.js'
import { addCallerIds, optOut, type Pool, storeRecord } from './acts.js'
import { dayMs, hourMs, Maker } from './maker.js'
import { chooseCall, createProjects, projects, realNumbers } from './own.js'
import { merge, vendorSettings } from './settings.js'

const national = 'National (USA) 2026-01-01;;;'
const state = ';State (TX) 2026-01-01;;'

/** Rows as vendors send them, some of which contradict themselves. */
const rows: readonly VendorRow[] = [
  ...[{}, {}, {}, {}],
  { letter: 'G', ebr: 'P', wireless: true, allowed: '111' },
  { letter: 'G', ebr: 'P', wireless: true, allowed: '111' },
  { letter: 'E', ebr: 'P', allowed: '111' },
  { letter: 'O', ebr: 'P', allowed: '111' },
  { letter: 'H', ebr: 'P', wireless: true, allowed: '111' },
  { letter: 'E', ebr: 'S' },
  { letter: 'O', ebr: 'I' },
  { letter: 'W', wireless: true, allowed: '100' },
  { letter: 'Y', wireless: true, allowed: '100' },
  { letter: 'X' },
  { letter: 'R', ebr: 'S' },
  { letter: 'D', reason: national, allowed: '000' },
  { letter: 'D', reason: state, allowed: '000' },
  { letter: 'D', reason: 'Litigator', allowed: '000', litigator: true },
  { letter: 'P', allowed: '000', onList: true },
  { letter: 'P', ebr: 'P', allowed: '000', onList: true },
  { letter: 'B', allowed: '000' },
  { letter: 'I', allowed: '000' },
  { letter: 'M', allowed: '000' },
  { letter: 'S', allowed: '000' },
  { letter: 'L', wireless: true, allowed: '000' },
  { litigator: true },
  { onList: true },
  { letter: 'E', ebr: 'P', allowed: '111', onList: true },
  { letter: 'O', ebr: 'P', allowed: '111', onList: true },
  { hours: 'closed' },
  { hours: 'closed', allowed: '000' },
  { hours: 'unknown' },
  { allowed: '000' },
  { allowed: '000', closedToday: true },
  { letter: 'G', ebr: 'P', wireless: true, allowed: '111', secondsLeft: 30 },
  { allowed: '111' },
  { letter: 'Q' },
]

const questions: readonly (VendorQuestion | 'all')[] = [
  ...['scrub', 'internal-dnc', 'litigator', 'legal-time', 'all'],
] as never
const faults: readonly VendorFault[] = ['error', 'error', 'garbage', 'no-row']

export function makeVendorWorld(mode: Exclude<Mode, 'own'>, seed: number, calls: number): World {
  const source = { kind: 'remote', refreshAheadMs: 0, ...(mode !== 'one' && { combine: mode }) }
  const chosen = vendorSettings[seed % vendorSettings.length] ?? {}
  const settings = merge({ source }, chosen)
  const stratum = mode === 'one' ? 'one' : 'two'
  const maker = new Maker({ name: `${mode}-${seed}`, stratum, mode, seed, settings })
  createProjects(maker)
  const numbers = realNumbers(maker, 70)
  const pool: Pool = { key: 'main', numbers, projects, hasRegister: seed % 5 === 0 }
  const vendors = mode === 'one' ? ([0] as const) : ([0, 1] as const)
  for (const vendor of vendors) addRows(maker, vendor, numbers)
  if (!maker.once(3)) {
    const listed = numbers.filter(() => maker.once(12))
    const asOf = maker.instant(-dayMs)
    maker.add(['list', { name: 'litigators', numbers: listed, asOf, areaCodes: 'all' }])
  }
  const faulty = new Set<number>()
  while (maker.calls < calls) {
    for (const vendor of vendors) toggleFault(maker, vendor, faulty)
    if (maker.once(25)) addRows(maker, maker.pick(vendors), numbers)
    if (maker.once(15))
      maker.pick([optOut, storeRecord, pool.hasRegister ? addCallerIds : storeRecord])(maker, pool)
    if (maker.once(30)) maker.pass(maker.pick([hourMs, 7 * hourMs, dayMs]))
    else maker.pass(maker.pick([20, 20, 20, 1_100, 61_000, 400_000]))
    maker.keepToDay()
    const call = chooseCall(maker, {
      pool,
      doors: ['decide', 'decide', 'decide', 'decide', 'predial'],
    })
    if (maker.once(25)) maker.pair(call, chooseCall(maker, { pool, doors: ['decide'] }))
    else maker.call(call)
  }
  return maker.world
}

export function addRows(maker: Maker, vendor: 0 | 1, numbers: readonly string[]): void {
  maker.add([
    'rows',
    vendor,
    Object.fromEntries(numbers.map((number) => [number, maker.pick(rows)])),
  ])
}

/** A vendor fails for a few calls. */
function toggleFault(maker: Maker, vendor: 0 | 1, faulty: Set<number>): void {
  if (faulty.has(vendor) && maker.once(8)) {
    maker.add(['fault', vendor, 'all', 'none'])
    faulty.delete(vendor)
  } else if (!faulty.has(vendor) && maker.once(20)) {
    maker.add(['fault', vendor, maker.pick(questions), maker.pick(faults)])
    faulty.add(vendor)
  }
}
