/** What the data folder, the database, the lists and the prefixes show, whether or not a server runs. Changes nothing. */
import { constants } from 'node:fs'
import { access, readdir } from 'node:fs/promises'
import {
  describeUnapproved,
  findUnapproved,
  howToApprove,
} from '../../app/changes/policy-changes.js'
import {
  describeUnwritable,
  getListsFolder,
  getNumberingFolder,
  readDisks,
  unwritableFix,
  type WrittenDisk,
} from '../../app/data-folders.js'
import { openReferenceData, type ReferenceData } from '../../app/service.js'
import { readStorageSettings } from '../../app/storage-settings.js'
import type { Settings } from '../../config/settings.js'
import { formatImportCommand } from '../../data/number-list/list-names.js'
import type { Clock } from '../../domain/time/clock.js'
import { formatDay, msPerDay } from '../../domain/time/dates.js'
import { getIanaVersion } from '../../domain/time/time-zones.js'
import { getErrorCode, getErrorMessage } from '../../errors.js'
import { isPresent } from '../../runtime/folders.js'
import { nodeRuntime } from '../../runtime/runtime.js'
import { readUnneededCountries } from '../../service/lists/list-rights.js'
import { ChangeHead } from '../../storage/change-head.js'
import { resolveDatabasePath } from '../../storage/database-files.js'
import { openDatabase } from '../../storage/engine.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import { findPublicDatabase } from '../../storage/postgres/connect-right.js'
import { openReadOnlyDatabase } from '../../storage/read-only-database.js'
import type { Db } from '../../storage/tables.js'
import { readAccountCallStatuses } from '../serve/call-readiness.js'
import { checkClockReadiness } from '../serve/clock-monitor.js'
import { checkNumberingReadiness } from '../serve/data-watch.js'
import { findExposedFiles } from '../serve/exposed-files.js'
import { findListAgeProblem, isAskedFor } from '../serve/list-age-monitor.js'
import { findBudgetFindings } from './budget-findings.js'
import { findCoverageFindings } from './coverage-findings.js'
import { diskFix, type HealthFinding } from './finding.js'
import { findKeyFindings, findKeylessAccounts, findPauseFindings } from './key-findings.js'
import { findPeopleFindings } from './people-findings.js'
import { findPlatformFindings } from './platform-findings.js'
import { findEarlyDisconnects } from './ring-time.js'
import { findWitnessFindings } from './witness-findings.js'

// These agree with the alerts of config/prometheus/alerts.yml.
const soonFreeBytes = 5e9
const nowFreeBytes = 5e8

/** One look at a disk, which may never answer. */
export interface DataProbe {
  readonly subject: string
  /** What it reads, such as a path. */
  readonly place: string
  /** Never rejects. */
  run(): Promise<readonly HealthFinding[]>
}

export interface DataProbeDeps {
  readonly clock: Clock
  /** For a copy of the database. */
  readonly temporaryFolder: string
}

/** In the order in which they must run: each reads what the later ones need. */
export function listDataProbes(settings: Settings, deps: DataProbeDeps): readonly DataProbe[] {
  const { clock } = deps
  const { dataDir } = settings
  const [lists, numbering] = [getListsFolder(settings), getNumberingFolder(settings)]
  const { engine, url } = settings.storage
  const database = engine === 'postgres' ? `${url}` : resolveDatabasePath(dataDir)
  let data: ReferenceData | undefined
  return [
    {
      subject: 'disk',
      place: dataDir,
      run: () => attempt('disk', diskFix, () => findDiskFindings(settings)),
    },
    ...[settings.lists.folder, settings.numbering.folder].flatMap((place): DataProbe[] =>
      place === undefined ? [] : [{ subject: 'disk', place, run: () => touchFolder(place) }],
    ),
    {
      subject: 'files',
      place: `the modes of the files in ${dataDir}`,
      run: async () => findExposedFiles(settings),
    },
    {
      subject: 'witnesses',
      place: 'the folders of journal.witnesses',
      run: async () => findWitnessFindings(settings),
    },
    {
      subject: 'data',
      place: `the files in ${lists} and ${numbering}`,
      run: () =>
        attempt('data', 'import the file that it names again', async () => {
          data = openReferenceData(settings, { ...nodeRuntime, clock })
          return [
            ...findDamagedFiles(data),
            ...findLawFindings(data, clock),
            ...findReassignedFindings(settings, data),
          ]
        }),
    },
    {
      subject: 'database',
      place: database,
      run: () =>
        attempt(
          'database',
          (cause) =>
            getErrorCode(cause) === 'ENOSPC'
              ? `free space in ${deps.temporaryFolder}, or set TMPDIR: the database is copied there`
              : 'restart callgate serve, which checks its pages (docs/operations.md)',
          () => findStoredFindings(settings, data, deps),
        ),
    },
  ]
}

async function attempt(
  subject: string,
  fix: string | ((cause: unknown) => string),
  read: () => Promise<readonly HealthFinding[]>,
): Promise<readonly HealthFinding[]> {
  try {
    return await read()
  } catch (cause) {
    const whatToDo = typeof fix === 'string' ? fix : fix(cause)
    return [{ level: 'now', subject, problem: getErrorMessage(cause), fix: whatToDo }]
  }
}

/** A folder that is missing or cannot be read is reported by what needs its files. */
async function touchFolder(folder: string): Promise<readonly HealthFinding[]> {
  await readdir(folder).catch(() => undefined)
  return []
}

async function findDiskFindings(settings: Settings): Promise<readonly HealthFinding[]> {
  const { dataDir } = settings
  if (!isPresent(dataDir)) {
    const problem = `dataDir '${dataDir}' does not exist`
    const fix = 'start callgate serve, which creates it, or set CALLGATE_DATA_DIR'
    return [{ level: 'now', subject: 'disk', problem, fix }]
  }
  const unwritable = await findUnwritable(settings)
  if (unwritable !== undefined) {
    return [{ level: 'now', subject: 'disk', problem: unwritable, fix: unwritableFix }]
  }
  return (await readDisks(settings)).flatMap(findSpaceFindings)
}

/** Whether the folder and the database in it can be written, without writing. */
async function findUnwritable(settings: Settings): Promise<string | undefined> {
  const { dataDir } = settings
  const database = resolveDatabasePath(dataDir)
  for (const path of isPresent(database) ? [dataDir, database] : [dataDir]) {
    try {
      await access(path, path === dataDir ? constants.W_OK | constants.X_OK : constants.W_OK)
    } catch (cause) {
      return describeUnwritable(settings, path, cause)
    }
  }
  return undefined
}

export function findSpaceFindings({
  holds,
  path,
  freeBytes,
}: WrittenDisk): readonly HealthFinding[] {
  if (freeBytes >= soonFreeBytes) return []
  const level = freeBytes < nowFreeBytes ? 'now' : 'soon'
  const problem = `the disk of ${holds} (${path}): ${(freeBytes / 1e9).toFixed(1)} GB are free`
  const fix = `free space; at least ${soonFreeBytes / 1e9} GB should be free`
  return [{ level, subject: 'disk', problem, fix }]
}

/** Without `data`, which is reported by its own probe, nothing can be said about calls. */
async function findStoredFindings(
  settings: Settings,
  data: ReferenceData | undefined,
  { clock, temporaryFolder }: DataProbeDeps,
): Promise<readonly HealthFinding[]> {
  const path = resolveDatabasePath(settings.dataDir)
  const findCalls = async (db?: Db) =>
    data
      ? [
          ...(await findAgedLists(data, clock, db)),
          ...(await findCallFindings(settings, { data, db, clock })),
        ]
      : []
  const storage = { ...readStorageSettings(settings), blockForLockMs: 0 }
  if (!storage.postgres && !isPresent(path)) return await findCalls()
  const database = storage.postgres
    ? await openDatabase(storage)
    : openReadOnlyDatabase(path, temporaryFolder)
  try {
    const { db } = database
    return [
      // First, since calls are blocked for a list of which another version is in force.
      ...((storage.postgres || storage.isCopy) && data
        ? await findForceFindings(settings, { data, db })
        : []),
      ...(await findCalls(db)),
      ...(data ? await findRecentCoverage(settings, { data, storage: database, clock }) : []),
      ...(await findKeyFindings(db, clock.now())),
      ...(await findKeylessAccounts(db, clock.now())),
      ...(await findBudgetFindings(settings, db, clock)),
      ...(await findPauseFindings(db)),
      ...(await findUnapprovedFindings(settings, db)),
      ...(storage.isCopy
        ? []
        : [
            ...(await findPeopleFindings(settings, db, clock.now())),
            ...(await findOptOutFindings(db)),
            ...(await findPlatformFindings(db, clock.now())),
          ]),
      ...(await findEarlyDisconnects(db, clock.now())),
      ...(await findClockFindings(database, clock)),
      ...(storage.postgres ? await findConnectFindings(db) : []),
    ]
  } finally {
    await database.close()
  }
}

/** The index of decisions may be locked, or be made anew. */
async function findRecentCoverage(
  ...given: Parameters<typeof findCoverageFindings>
): Promise<readonly HealthFinding[]> {
  try {
    return await findCoverageFindings(...given)
  } catch (cause) {
    const problem = `the area codes of the calls of the last day could not be compared with the lists: ${getErrorMessage(cause)}`
    const fix =
      'run callgate doctor again; the index of decisions is made anew at the start of the server'
    return [{ level: 'soon', subject: 'lists', problem, fix }]
  }
}

async function findConnectFindings(db: Db): Promise<readonly HealthFinding[]> {
  const name = await findPublicDatabase(db)
  if (name === undefined) return []
  const problem = `every role of PostgreSQL can connect to database ${name}, and hold the locks that servers wait for`
  const fix = `revoke connect on database "${name.replaceAll('"', '""')}" from public;`
  return [{ level: 'soon', subject: 'database', problem, fix }]
}

async function findUnapprovedFindings(
  settings: Settings,
  db: Db,
): Promise<readonly HealthFinding[]> {
  return (await findUnapproved(settings, db)).map((change) => ({
    level: 'now',
    subject: 'policy',
    problem: describeUnapproved(change),
    fix: howToApprove,
  }))
}

/** Of lists whose version in force is not in the folder. Only those in force are used from then on. */
async function findForceFindings(
  settings: Settings,
  { data: { lists }, db }: { readonly data: ReferenceData; readonly db: Db },
): Promise<readonly HealthFinding[]> {
  const { openListFiles, toListInForce } = await import('../../app/lists/list-files.js')
  const { readListsInForce } = await import('../../storage/cluster/list-versions.js')
  const place = openListFiles(settings)?.place
  const inForce = await readListsInForce(db)
  lists.setInForce(inForce.map((list) => toListInForce(list, place)))
  const fix =
    place === undefined
      ? 'set lists.files as on the server that imported it'
      : 'start callgate serve, which fetches it; import the list again if its file is gone'
  const isLoaded = lists.findInForce()
  return lists
    .problems()
    .filter(({ name }) => name !== undefined && isLoaded.get(name) === false)
    .map(({ detail: problem }) => ({ level: 'now', subject: 'lists', problem, fix }))
}

async function findCallFindings(
  settings: Settings,
  {
    data,
    db,
    clock,
  }: { readonly data: ReferenceData; readonly db: Db | undefined; readonly clock: Clock },
): Promise<readonly HealthFinding[]> {
  const list = async () =>
    db
      ? await db.selectFrom('accounts').select(['id', 'kind']).orderBy('id').execute()
      : [{ id: settings.gate.account, kind: 'real' as const }]
  const statuses = await readAccountCallStatuses({
    settings,
    data,
    runtime: { clock },
    accounts: { list },
    storage: db && { db },
    journal: { listActiveAccounts: () => new Set<string>() },
  })
  return statuses.flatMap((status) => {
    return status.blockers.map(({ countries, problem, fix }): HealthFinding => {
      const isEvery = countries.length === status.called.length
      const which = isEvery ? 'every call' : `every ${countries.join()} call`
      const text = `${which} of account ${status.accountId} is blocked: ${problem}`
      return { level: 'now', subject: 'calls', account: status.accountId, problem: text, fix }
    })
  })
}

/** Opt-outs that a person still has to read; they are in force anyway. */
async function findOptOutFindings(db: Db): Promise<readonly HealthFinding[]> {
  const rows = await db
    .selectFrom('opt_out_statements')
    .select(['account_id', (row) => row.fn.countAll().as('count')])
    .where('understood', '=', 0)
    .where('read_at', 'is', null)
    .groupBy('account_id')
    .orderBy('account_id')
    .execute()
  return rows.map(({ account_id: account, count }) => {
    const problem = `account ${account}: opt-outs with words that were not understood wait for a person to read them: ${count}`
    const fix = `callgate opt-outs list --unclear --account ${account}, then: callgate opt-outs read <id>`
    return { level: 'soon', subject: 'opt-outs', account, problem, fix }
  })
}

async function findClockFindings(
  database: Pick<OpenDatabase, 'db' | 'traits'>,
  clock: Clock,
): Promise<readonly HealthFinding[]> {
  const changeHead = new ChangeHead(database, clock)
  await changeHead.refresh()
  const { ready, detail = '' } = checkClockReadiness({ changeHead, runtime: { clock } })
  if (ready) return []
  return [
    { level: 'now', subject: 'clock', problem: detail, fix: 'check the time with timedatectl' },
  ]
}

/** Without a source, calls are not checked for reassigned numbers. */
function findReassignedFindings(
  { lookups }: Settings,
  { facts }: ReferenceData,
): readonly HealthFinding[] {
  const asksProvider = lookups.baseUrl !== undefined && lookups.asksForCalls
  const files = [
    ...facts.all().map(({ name }) => name),
    ...facts.problems().map(({ feed }) => feed),
  ]
  if (asksProvider || files.includes('reassigned') || files.includes('carrier-reassigned'))
    return []
  const problem =
    'no source of reassigned numbers is configured: calls that rest on a consent may reach another person'
  const fix =
    'callgate import reassigned with answers of the national database, or set lookups.baseUrl (docs/gate.md)'
  return [{ level: 'note', subject: 'reassigned', problem, fix }]
}

/** The law changes within a year, and so do some time zones. */
const maxLawAgeMs = 366 * msPerDay

function findLawFindings({ rules }: ReferenceData, clock: Clock): readonly HealthFinding[] {
  const zones = getIanaVersion()
  // A release names only its year.
  const zonesAt = Date.UTC(Number.parseInt(zones, 10) + 1, 0, 1)
  const parts = [
    [rules.asOf * msPerDay, `the calling rules were collected on ${formatDay(rules.asOf)}`],
    [zonesAt, `the rules of time zones are of IANA ${zones}`],
  ] as const
  const old = parts.filter(([at]) => clock.now() - at > maxLawAgeMs)
  return old.map(([, text]) => ({
    level: 'soon',
    subject: 'rules',
    problem: `${text}, more than a year ago: the law may have changed since`,
    fix: 'install the newest callgate, or correct the file of callingHours.rulesFile and its asOf (docs/rules.md)',
  }))
}

/** Lists that are too old or soon will be, without those of countries that no account which may use them calls. */
async function findAgedLists(
  data: ReferenceData,
  clock: Clock,
  db: Db | undefined,
): Promise<readonly HealthFinding[]> {
  const unneeded = db ? await readUnneededCountries(db) : new Set<string>()
  return data.lists.all().flatMap((list): readonly HealthFinding[] => {
    const aged = findListAgeProblem(list, { data, runtime: { clock } })
    if (!aged || !isAskedFor(list.name, unneeded)) return []
    const level = aged.state === 'stale' ? 'now' : 'soon'
    const fix = formatImportCommand(list.name)
    return [{ level, subject: 'lists', problem: aged.text, fix }]
  })
}

function findDamagedFiles(data: ReferenceData): readonly HealthFinding[] {
  const numbering = checkNumberingReadiness({ data })
  return [
    ...data.lists.problems().map(
      ({ name, detail: problem }): HealthFinding => ({
        level: 'now',
        subject: 'lists',
        problem,
        fix: name === undefined ? 'check the folder' : formatImportCommand(name),
      }),
    ),
    ...(numbering.ready
      ? []
      : [
          {
            level: 'now' as const,
            subject: 'numbering',
            problem: numbering.detail ?? '',
            fix: 'callgate import numbering',
          },
        ]),
  ]
}
