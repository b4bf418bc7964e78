/**
 * The whole program in process, over a data folder with a registry, litigators, list entries and
 * relationship records in it. Log lines are formatted and written, to nowhere.
 */
import { mkdtempSync, openSync, rmSync } from 'node:fs'
import { devNull, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Callgate, openCallgate } from '../src/compose.js'
import { mainAccountId } from '../src/compose-foundation.js'
import { NumberListBuilder } from '../src/data/number-list/number-list-builder.js'
import { numberListExtension } from '../src/data/number-list/number-list-format.js'
import { listsFolder, numberingFolder } from '../src/data-folders.js'
import { type Caller, noLimits } from '../src/domain/caller.js'
import { type Clock, formatDay, systemClock } from '../src/domain/clock.js'
import type { PhoneNumber } from '../src/domain/phone-number.js'
import { loadSettings } from '../src/load-settings.js'
import { createLogger, LineWriter } from '../src/log.js'
import { realWorld } from '../src/world.js'
import { importNumberingIfPresent } from './numbering-data.js'
import { randomNumbers } from './random.js'

export interface DecisionFixture {
  readonly callgate: Callgate
  readonly dataDir: string
  readonly accountId: string
  /** In service, different from one another. */
  readonly numbers: readonly PhoneNumber[]
  /** What the data folder holds, for the reader of the figures. */
  readonly description: string
  close(): Promise<void>
}

/** A Monday, noon in New York, when most calls are allowed; the clock runs on from there. */
const startsAt = Date.UTC(2026, 10, 23, 17)
const dayMs = 86_400_000
const caller: Caller = {
  accountId: mainAccountId,
  role: 'Administrator',
  keyId: 'bench',
  limits: noLimits,
}

/** `asked` numbers that will be decided about; as many more fill the tables around them. */
export async function openDecisionFixture(asked: number): Promise<DecisionFixture> {
  const dataDir = mkdtempSync(join(tmpdir(), 'callgate-bench-'))
  const settings = loadSettings({ environment: { CALLGATE_DATA_DIR: dataDir } })
  const numbering = await importNumberingIfPresent(numberingFolder(settings))
  await writeList(
    listsFolder(settings),
    'us-dnc',
    randomNumbers(1_000_000, 3, () => true),
  )
  await writeList(
    listsFolder(settings),
    'canada-dnc',
    randomNumbers(100_000, 4, () => true),
  )
  await writeList(
    listsFolder(settings),
    'litigators',
    randomNumbers(20_000, 5, () => true),
  )
  const clock = clockFrom(startsAt)
  const sink = openSync(devNull, 'w')
  const log = createLogger('info', new LineWriter(sink))
  const callgate = await openCallgate(settings, { ...realWorld, clock, log, processMetrics: false })
  const { plan } = callgate.data
  const numbers = randomNumbers(asked * 2, 6, (number) => plan.lookup(number).status === 'ok')
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
