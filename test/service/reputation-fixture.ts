/** The reputation monitor over a test database, with label and complaint books the test fills. */

import type { PhoneNumber } from '../../src/domain/phone-number.js'
import type { Country } from '../../src/domain/place.js'
import type {
  Complaint,
  ComplaintSource,
  LabelIssuer,
  LabelSource,
  NumberLabels,
} from '../../src/domain/spam-labels.js'
import { monotonicTimestamps } from '../../src/domain/time/clock.js'
import { RemovedFlagsReport } from '../../src/service/reputation/flags-removed.js'
import { LabelChecks } from '../../src/service/reputation/label-checks.js'
import { ReputationMonitor } from '../../src/service/reputation/reputation-monitor.js'
import type { OpenDatabase } from '../../src/storage/open-database.js'
import { buildSubjects } from '../support/service-subjects.js'
import { type TestClock, testClock } from '../support/test-clock.js'

export const hour = 3_600_000
export const day = 24 * hour

export const allClean: NumberLabels = {
  CarrierA: false,
  CarrierB: false,
  CarrierC: false,
  CarrierD: false,
  AppA: false,
  AppB: false,
}

interface TestBook extends LabelSource {
  readonly facts: Map<string, NumberLabels>
  readonly asked: { readonly numbers: readonly string[]; readonly wanted: readonly LabelIssuer[] }[]
  /** What a question rejects with while it is set. */
  failure: Error | undefined
  /** Runs before each answer. */
  meanwhile: () => Promise<void>
}

/** Answers for sources that were not asked too, as a careless book may. */
function testBook(): TestBook {
  const book: TestBook = {
    facts: new Map(),
    asked: [],
    failure: undefined,
    meanwhile: async () => undefined,
    async labels(numbers, wanted) {
      book.asked.push({ numbers, wanted })
      await book.meanwhile()
      if (book.failure) throw book.failure
      const found = new Map<PhoneNumber, NumberLabels>()
      for (const number of numbers) {
        const labels = book.facts.get(number)
        if (labels) found.set(number, labels)
      }
      return found
    },
  }
  return book
}

export interface MonitorParts {
  readonly clock: TestClock
  readonly book: TestBook
  readonly complaints: Map<PhoneNumber, readonly Complaint[]>
  readonly countries: Map<string, Country>
  /** `account:id` of the legal entities there are. */
  readonly entities: Set<string>
  readonly failures: string[]
  readonly woken: { times: number }
  readonly monitor: ReputationMonitor
  readonly checks: LabelChecks
  readonly flags: RemovedFlagsReport
  /** Runs rounds until nothing is due. */
  checkAll(): Promise<void>
}

export interface MonitorSettings {
  readonly clock?: TestClock
  readonly firstCheckWithinMs?: number
  readonly keepDays?: number
  readonly random?: () => number
}

export async function monitorParts(
  storage: OpenDatabase,
  { clock = testClock(), firstCheckWithinMs = 0, keepDays = 365, random }: MonitorSettings = {},
): Promise<MonitorParts> {
  await buildSubjects(storage, { clock })
  const book = testBook()
  const countries = new Map<string, Country>()
  const complaints: MonitorParts['complaints'] = new Map()
  const entities = new Set<string>()
  const failures: string[] = []
  const woken = { times: 0 }
  const complaintBook: ComplaintSource = {
    complaints: async (numbers) =>
      new Map(
        numbers.flatMap((number) => {
          const filed = complaints.get(number)
          return filed ? [[number, filed] as const] : []
        }),
      ),
  }
  const shared = {
    storage,
    clock,
    timestamps: monotonicTimestamps(clock),
    random: random ?? (() => 0),
    countryOf: async (accountId: string) => countries.get(accountId) ?? 'US',
  }
  const monitor = new ReputationMonitor({
    ...shared,
    firstCheckWithinMs,
    legalEntities: { owns: async (accountId, id) => entities.has(`${accountId}:${id}`) },
    complaintSourceFor: () => complaintBook,
    onAdded: () => {
      woken.times += 1
    },
  })
  const checks = new LabelChecks({
    ...shared,
    findToday: () => shared.clock.now(),
    checkEveryMs: day,
    keepDays,
    labelSourceFor: () => book,
    onError: (accountId, cause) => failures.push(`${accountId}: ${cause}`),
  })
  const checkAll = async () => {
    while ((await checks.run()) === 0) {
      // Another round is due at once.
    }
  }
  return {
    clock,
    book,
    complaints,
    countries,
    entities,
    failures,
    woken,
    monitor,
    checks,
    checkAll,
    flags: new RemovedFlagsReport(shared),
  }
}
