/**
 * A journal of calls with random numbers, kinds, times, records and list answers under changing policies,
 * decided by the real gate over a data folder of its own.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Callgate, openCallgate } from '../../src/app/callgate.js'
import { computeVersions } from '../../src/app/configuration.js'
import { getListsFolder } from '../../src/app/data-folders.js'
import { readConfiguration } from '../../src/app/read-configuration.js'
import { loadSettings } from '../../src/config/load.js'
import { NumberListBuilder } from '../../src/data/number-list/format/number-list-builder.js'
import { numberListExtension } from '../../src/data/number-list/format/number-list-format.js'
import { type Caller, noLimits } from '../../src/domain/caller.js'
import { type CallRequest, callKinds } from '../../src/domain/decision.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import type { Instant } from '../../src/domain/time/clock.js'
import { formatDay, msPerDay, msPerHour, toUtcDay } from '../../src/domain/time/dates.js'
import { findAreaCodePlace, listAreaCodes } from '../../src/law/area-codes.js'
import { nodeRuntime, silentLogger } from '../../src/runtime/runtime.js'
import { seededRandom } from '../data/random-numbers.js'
import { writeMigratedDatabase } from './database.js'
import { instant } from './test-clock.js'

export interface ReplayCalls {
  readonly callgate: Callgate
  readonly dataDir: string
  /** The settings from each instant on. */
  readonly phases: readonly { readonly from: Instant; readonly environment: ReplayEnvironment }[]
  end(): Promise<void>
}

export type ReplayEnvironment = Readonly<Record<string, string>>

const startsAt = instant('2026-01-02T00:00:00Z')
/** The clocks change twice, and every holiday of a year is among them. */
const days = 450
const batchSize = 40
const knownNumbers = 500

const caller: Caller = {
  accountId: 'main',
  role: 'Administrator',
  keyId: 'key-replay',
  limits: noLimits,
}

/** The state has only 212, so that a number shows whether it is there. */
const newYorkAreaCodes: ReadonlySet<string> = new Set(
  listAreaCodes().filter((code) =>
    findAreaCodePlace(code)?.candidates.some(({ region }) => region === 'NY'),
  ),
)

const policies: readonly ReplayEnvironment[] = [
  {},
  { CALLGATE_POLICY_PERMISSION_MODE: 'shadow' },
  {
    CALLGATE_POLICY_LITIGATOR_ON_UNKNOWN: 'allow',
    CALLGATE_POLICY_LITIGATOR_REASON: 'the list is late; J. Doe',
    CALLGATE_POLICY_LITIGATOR_UNTIL: '2026-11-01T00:00:00Z',
    CALLGATE_GATE_NON_NANP: 'allow',
  },
  {
    CALLGATE_GATE_SHADOW_ACCOUNTS: '["sandbox"]',
    CALLGATE_GATE_BLOCK_VALID_MS: '86400000',
    CALLGATE_GATE_PROJECT_MAY_WIDEN: 'true',
    CALLGATE_CALLING_HOURS_EMERGENCIES:
      '[{ region: NY, from: 2026-12-01T00:00:00Z, until: 2027-01-08T00:00:00Z, name: storm }]',
  },
]

/** Callgate over a new folder with lists, projects and records, and some calls decided. */
export async function recordReplayCalls(count: number, seed: number): Promise<ReplayCalls> {
  const dataDir = mkdtempSync(join(tmpdir(), 'callgate-replay-'))
  const below = seededRandom(seed)
  const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T
  const otherAreaCodes = listAreaCodes().filter((code) => !newYorkAreaCodes.has(code))
  const areaCodes = [...otherAreaCodes, ...Array.from({ length: 100 }, () => '212')]
  const numbers = Array.from({ length: knownNumbers }, () =>
    toPhoneNumber(`${pick(areaCodes)}${2_000_000 + below(8_000_000)}`),
  )
  const environmentOf = (phase: ReplayEnvironment): ReplayEnvironment => ({
    ...phase,
    CALLGATE_DATA_DIR: dataDir,
    CALLGATE_GATE_DEADLINE_MS: '10000',
    CALLGATE_GATE_CACHE_MAX_ENTRIES: '1000',
    CALLGATE_LISTS_MAX_AGE_DAYS_US_DNC: '400',
    CALLGATE_LISTS_MAX_AGE_DAYS_LITIGATORS: '230',
  })
  const clock = {
    at: startsAt,
    now() {
      return this.at
    },
  }
  await writeMigratedDatabase(dataDir)
  const settings = loadSettings({ environment: environmentOf({}) })
  const listed = () => numbers.filter(() => below(8) === 0)
  for (const name of ['us-dnc', 'canada-dnc', 'litigators', 'state-dnc-tx']) {
    const builder = new NumberListBuilder()
    for (const number of listed()) builder.add(number)
    const about = { name, feed: 'list', previous: null, sources: [], coverage: 'all' } as const
    const when = { asOf: startsAt, importedAt: startsAt }
    const path = join(getListsFolder(settings), `${name}${numberListExtension}`)
    await builder.write(path, { ...about, ...when })
  }
  const runtime = { ...nodeRuntime, clock, log: silentLogger, processMetrics: false }
  const callgate = await openCallgate(settings, runtime)
  await callgate.journal.open()
  await createProjects(callgate)
  const phases: { from: Instant; environment: ReplayEnvironment }[] = []
  const phaseSize = Math.ceil(count / policies.length)
  for (let made = 0; made < count; made += batchSize) {
    const policy = policies[Math.floor(made / phaseSize)] ?? {}
    if (phases.length <= Math.floor(made / phaseSize)) {
      const environment = environmentOf(policy)
      const { configuration, problems } = readConfiguration({ environment })
      if (!configuration) throw new Error(problems.join())
      callgate.reconfigure(configuration, computeVersions(configuration))
      phases.push({ from: clock.at, environment })
    }
    await changeRecords(callgate, { below, pick, numbers, now: clock.at })
    const calls = Array.from({ length: Math.min(batchSize, count - made) }, () =>
      makeCall({ below, pick, numbers, now: clock.at }),
    )
    await Promise.all(calls.map((call) => callgate.gate.decide(call)))
    const isAbout = startsAt + (days * msPerDay * (made + below(2 * batchSize))) / count
    clock.at = Math.max(clock.at + 1, findCallTime(Math.round(isAbout), below))
  }
  await callgate.journal.drain()
  return {
    callgate,
    dataDir,
    phases,
    async end() {
      await callgate.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Mostly by day in North America, often at a full hour, when windows open and close. */
function findCallTime(about: Instant, below: (bound: number) => number): Instant {
  const midnight = about - (about % msPerDay)
  const hour = Math.floor((about - midnight) / msPerHour)
  const isNight = hour > 3 && hour < 13
  if (isNight && below(3) > 0) return midnight + (19 + below(7)) * msPerHour
  return below(3) === 0 ? Math.ceil(about / msPerHour) * msPerHour : about
}

async function createProjects({ projects }: Callgate): Promise<void> {
  const accountId = 'main'
  await projects.create({ accountId, code: 'HOURS', name: 'Own hours' })
  await projects.create({
    accountId,
    code: 'EXEMPT',
    name: 'Exempt',
    industryExemption: true,
    voipRestricted: true,
  })
  for (const region of ['NY', 'FL', 'TX', 'CA']) {
    const hours = { monFri: '07:00-22:00', sat: '10:00-12:00', sun: 'none' }
    await projects.setHours({ accountId, code: 'HOURS' }, region, hours)
  }
}

interface Choices {
  readonly below: (bound: number) => number
  readonly pick: <T>(values: readonly T[]) => T
  readonly numbers: readonly ReturnType<typeof toPhoneNumber>[]
  readonly now: Instant
}

/** Now and then somebody opts out, is taken off the list, buys something or gives consent. */
async function changeRecords({ service }: Callgate, choices: Choices): Promise<void> {
  const { below, pick, numbers, now } = choices
  const projectId = pick([undefined, undefined, 'EXEMPT'])
  const some = Array.from({ length: 20 }, () => pick(numbers))
  const what = below(10)
  if (what === 0)
    await service.internalDnc.add(caller, { numbers: some, ignoreInvalid: false, projectId })
  if (what === 1) await service.internalDnc.remove(caller, { numbers: some, projectId })
  if (what > 4) return
  const records = some.map((phoneNumber) => ({
    phoneNumber,
    type: pick(['P', 'P', 'S', 'I', 'T']),
    dateOfLastContact: formatDay(toUtcDay(now) - below(300)),
    projectId,
  }))
  if (what > 1) await service.ebrRecords.record(caller, { keepBetterEbr: below(2) === 0, records })
}

const oddDials = [
  '911',
  '123',
  '+44 20 7946 0018',
  '8005551234',
  '2125550',
  'sip:x@y',
  '2001234567',
]

function makeCall({ below, pick, numbers, now }: Choices): CallRequest {
  const fresh = () => `${pick(numbers).slice(0, 3)}${2_000_000 + below(8_000_000)}`
  const isOdd = below(50) === 0
  const isSandbox = below(12) === 0
  const dialed = isOdd ? pick(oddDials) : below(4) === 0 ? fresh() : pick(numbers)
  const line = String(100 + below(13)).padStart(4, '0')
  return {
    accountId: isSandbox ? 'sandbox' : 'main',
    dialed: isSandbox ? `${dialed.slice(0, 3)}555${line}` : dialed,
    callKind: pick(callKinds),
    postalCode: below(6) === 0 ? pick(['10001', '35203', '90210', 'T2P 1J9', '09001']) : undefined,
    projectId: pick([
      undefined,
      undefined,
      undefined,
      'HOURS',
      'EXEMPT',
      pick([undefined, 'NONE']),
    ]),
    trunk: pick([undefined, 'carrier-a', 'carrier-b']),
    reference: below(3) === 0 ? `call-${below(1e6)}` : undefined,
    at: below(10) === 0 ? now + (below(400) - 200) * msPerDay + below(msPerDay) : undefined,
    via: 'http',
  }
}
