/**
 * The whole program in process, with a data folder that has a registry, litigators, list entries and
 * relationship records. Log lines are formatted and written, but discarded.
 */
import { mkdtempSync, openSync, rmSync } from 'node:fs'
import { devNull, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Callgate, openCallgate } from '../src/app/callgate.js'
import { getListsFolder, getNumberingFolder } from '../src/app/data-folders.js'
import { loadSettings } from '../src/config/load.js'
import { NumberListBuilder } from '../src/data/number-list/format/number-list-builder.js'
import { numberListExtension } from '../src/data/number-list/format/number-list-format.js'
import { type Caller, mainAccountId, noLimits } from '../src/domain/caller.js'
import type { PhoneNumber } from '../src/domain/phone-number.js'
import type { Clock } from '../src/domain/time/clock.js'
import { formatDay } from '../src/domain/time/dates.js'
import { createLogger, LineWriter } from '../src/observability/log.js'
import { nodeRuntime, systemClock } from '../src/runtime/runtime.js'
import { importNumberingIfPresent } from './numbering-data.js'
import { randomNumbers } from './random.js'
import { unlimitedAreaCodes } from './unlimited-area-codes.js'

export interface DecisionFixture {
  readonly callgate: Callgate
  readonly dataDir: string
  readonly accountId: string
  /** Distinct numbers in service. */
  readonly numbers: readonly PhoneNumber[]
  /** Describes the content of the data folder, to be printed with the figures. */
  readonly description: string
  close(): Promise<void>
}

/** A Monday, noon in New York, when most calls are allowed; the clock starts there. */
const startsAt = Date.UTC(2026, 10, 23, 17)
const dayMs = 86_400_000
const caller: Caller = {
  accountId: mainAccountId,
  role: 'Administrator',
  keyId: 'bench',
  limits: noLimits,
}

/** `asked` is how many numbers are decided about; the tables also get as many other numbers. */
export async function openDecisionFixture(asked: number): Promise<DecisionFixture> {
  const dataDir = mkdtempSync(join(tmpdir(), 'callgate-bench-'))
  const settings = loadSettings({ environment: { CALLGATE_DATA_DIR: dataDir } })
  const numbering = await importNumberingIfPresent(getNumberingFolder(settings))
  await writeList(
    getListsFolder(settings),
    'us-dnc',
    randomNumbers(1_000_000, 3, () => true),
  )
  await writeList(
    getListsFolder(settings),
    'canada-dnc',
    randomNumbers(100_000, 4, () => true),
  )
  await writeList(
    getListsFolder(settings),
    'litigators',
    randomNumbers(20_000, 5, () => true),
  )
  const clock = clockFrom(startsAt)
  const sink = openSync(devNull, 'w')
  const log = createLogger('info', new LineWriter(sink))
  const callgate = await openCallgate(settings, {
    ...nodeRuntime,
    clock,
    log,
    processMetrics: false,
  })
  await callgate.journal.open()
  const { plan } = callgate.data
  const areaCodes = new Set(unlimitedAreaCodes)
  const numbers = randomNumbers(
    asked * 2,
    6,
    (number) => areaCodes.has(number.slice(0, 3)) && plan.lookup(number).status === 'ok',
  )
  const stored = await storeRows(callgate, numbers)
  return {
    callgate,
    dataDir,
    accountId: mainAccountId,
    numbers: numbers.slice(0, asked),
    description: `${numbering}; a registry of 1,000,000 numbers; ${stored}`,
    async close() {
      await callgate.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

function clockFrom(start: number): Clock {
  const shift = start - systemClock.now()
  return { now: () => systemClock.now() + shift }
}

async function writeList(folder: string, name: string, numbers: readonly PhoneNumber[]) {
  const builder = new NumberListBuilder()
  for (const number of numbers) builder.add(number)
  const now = systemClock.now()
  const origin = { feed: 'list', previous: null, sources: [] }
  const about = { name, ...origin, asOf: now, importedAt: now, coverage: 'all' } as const
  await builder.write(join(folder, `${name}${numberListExtension}`), about)
}

/** Every tenth number is on the internal list, every fifth has a record, half of them permissions. */
async function storeRows({ service }: Callgate, numbers: readonly PhoneNumber[]): Promise<string> {
  const listed = numbers.filter((_, index) => index % 10 === 0)
  const known = numbers.filter((_, index) => index % 5 === 2)
  await service.internalDnc.add(caller, { numbers: listed, ignoreInvalid: false })
  const dateOfLastContact = formatDay(Math.floor(startsAt / dayMs) - 30)
  const records = known.map((phoneNumber, index) => ({
    phoneNumber,
    type: index % 2 === 0 ? 'P' : 'S',
    dateOfLastContact,
  }))
  await service.consent.record(caller, { keepBetterEbr: false, records })
  return `${listed.length} internal list entries, ${known.length} relationship records`
}
