/** What the settings and the data folder show, whether or not a server runs. Changes nothing there. */
import { constants, existsSync } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { openReferenceData, type ReferenceData } from '../../app/service.js'
import type { Settings } from '../../config/settings.js'
import { isUsedByChecks } from '../../data/number-list/list-names.js'
import { formatInstant, msPerDay } from '../../domain/time/dates.js'
import { getErrorMessage } from '../../errors.js'
import { buildPolicy, listPolicyWarnings } from '../../gate/build-policy.js'
import { nodeRuntime, withTimeout } from '../../runtime/runtime.js'
import { ChangeHead } from '../../storage/change-head.js'
import { resolveDatabasePath } from '../../storage/database-files.js'
import { openReadOnlyDatabase } from '../../storage/read-only-database.js'
import type { Db } from '../../storage/tables.js'
import { listBlockedCountries, readAccountCallStatuses } from '../serve/call-readiness.js'
import { checkClockReadiness } from '../serve/clock-monitor.js'
import { checkNumberingReadiness } from '../serve/data-watch.js'
import { findExposedFiles } from '../serve/exposed-files.js'
import { listSourceWarnings } from '../serve/source-readiness.js'
import type { HealthFinding } from './finding.js'

// These agree with the alerts of config/prometheus/alerts.yml.
const soonFreeBytes = 5e9
const nowFreeBytes = 5e8
const keyExpiryMs = 7 * msPerDay
const exceptionEndMs = 3 * msPerDay

const maxDiskWaitMs = 2_000
const { clock } = nodeRuntime

/** Findings of the settings alone. */
export function findSettingsFindings(settings: Settings): readonly HealthFinding[] {
  const policy = buildPolicy(settings)
  const ending = Object.entries(policy).flatMap(([check, { allowUnknown }]): HealthFinding[] => {
    if (!allowUnknown || allowUnknown.until - clock.now() > exceptionEndMs) return []
    if (allowUnknown.until <= clock.now()) return []
    const until = formatInstant(allowUnknown.until)
    const problem = `the policy exception of ${check} ends at ${until}; unknown is blocked then`
    return [{ level: 'soon', subject: 'policy', problem, fix: 'mend its cause, or renew it' }]
  })
  return [
    ...ending,
    ...listPolicyWarnings(settings, clock.now()).map(
      (problem): HealthFinding => ({
        level: 'note',
        subject: 'policy',
        problem,
        fix: 'docs/policy.md',
      }),
    ),
    ...listSourceWarnings(settings).map(
      (problem): HealthFinding => ({
        level: 'soon',
        subject: 'source',
        problem,
        fix: 'set an https address',
      }),
    ),
    ...findExposedFiles(settings).map(
      ({ path, mode, count, fixCommand: fix }): HealthFinding => ({
        level: 'soon',
        subject: 'files',
        problem: `other users can read or write ${path} (mode ${mode})${count > 1 ? ` and ${count - 1} more` : ''}`,
        fix,
      }),
    ),
  ]
}

/** Findings of the data folder, the database, the lists and the prefixes. */
export async function findDataFindings(settings: Settings): Promise<readonly HealthFinding[]> {
  const disk = await withTimeout(findDiskFindings(settings), maxDiskWaitMs, () => undefined)
  if (!disk) {
    const problem = `dataDir '${settings.dataDir}': the disk does not answer within ${maxDiskWaitMs} ms`
    return [{ level: 'now', subject: 'disk', problem, fix: 'check the disk or the mount: dmesg' }]
  }
  return [...disk, ...(await findStoredFindings(settings))]
}

async function findDiskFindings({ dataDir }: Settings): Promise<readonly HealthFinding[]> {
  try {
    await access(dataDir, constants.W_OK | constants.X_OK)
    const { bavail, bsize } = await statfs(dataDir)
    const free = bavail * bsize
    if (free >= soonFreeBytes) return []
    const level = free < nowFreeBytes ? 'now' : 'soon'
    const problem = `dataDir '${dataDir}': ${(free / 1e9).toFixed(1)} GB are free`
    const fix = `free space; at least ${soonFreeBytes / 1e9} GB should be free`
    return [{ level, subject: 'disk', problem, fix }]
  } catch (cause) {
    const isMissing = !existsSync(dataDir)
    const problem = isMissing
      ? `dataDir '${dataDir}' does not exist`
      : `dataDir '${dataDir}' cannot be written: ${getErrorMessage(cause)}`
    const fix = isMissing
      ? 'start callgate serve, which creates it, or set CALLGATE_DATA_DIR'
      : 'run this as the user of callgate; set its owner and mode, or mount it writable'
    return [{ level: 'now', subject: 'disk', problem, fix }]
  }
}

async function findStoredFindings(settings: Settings): Promise<readonly HealthFinding[]> {
  const findings: HealthFinding[] = []
  const attempt = async (subject: string, fix: string, read: () => Promise<HealthFinding[]>) => {
    try {
      findings.push(...(await read()))
    } catch (cause) {
      findings.push({ level: 'now', subject, problem: getErrorMessage(cause), fix })
    }
  }
  await attempt('data', 'import the file that it names again', async () => {
    const data = openReferenceData(settings, nodeRuntime)
    const path = resolveDatabasePath(settings.dataDir)
    const restore = 'restore a backup of the database (docs/operations.md)'
    await attempt('database', restore, async () => {
      if (!existsSync(path)) return await findCallFindings(settings, data, undefined)
      const database = openReadOnlyDatabase(path)
      try {
        const { db } = database
        return [
          ...(await findCallFindings(settings, data, db)),
          ...(await findKeyFindings(db)),
          ...(await findClockFindings(db)),
        ]
      } finally {
        database.close()
      }
    })
    return findFileFindings(data)
  })
  return findings
}

async function findCallFindings(
  settings: Settings,
  data: ReferenceData,
  db: Db | undefined,
): Promise<HealthFinding[]> {
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
    const isEvery = listBlockedCountries(status).length > 1
    return status.blockers.map(({ countries, problem, fix }): HealthFinding => {
      const which =
        isEvery && countries.length > 1 ? 'every call' : `every ${countries.join()} call`
      const text = `${which} of account ${status.accountId} is blocked: ${problem}`
      return { level: 'now', subject: 'calls', account: status.accountId, problem: text, fix }
    })
  })
}

/** An expired key is reported until it is revoked. */
async function findKeyFindings(db: Db): Promise<HealthFinding[]> {
  const keys = await db
    .selectFrom('api_keys')
    .select(['id', 'label', 'account_id', 'expires_at'])
    .where('revoked_at', 'is', null)
    .where('expires_at', '<', clock.now() + keyExpiryMs)
    .orderBy('expires_at')
    .execute()
  return keys.map(({ id, label, account_id: account, expires_at: at }) => {
    const isExpired = (at ?? 0) <= clock.now()
    const verb = isExpired ? 'expired' : 'expires'
    const problem = `key ${id} (${label}) of account ${account} ${verb} at ${formatInstant(at ?? 0)}`
    const create = `callgate keys create --account ${account}`
    const fix = `${create}, then: callgate keys revoke ${id}`
    return { level: isExpired ? 'now' : 'soon', subject: 'keys', account, problem, fix }
  })
}

async function findClockFindings(db: Db): Promise<HealthFinding[]> {
  const changeHead = new ChangeHead(db, clock)
  await changeHead.refresh()
  const { ready, detail = '' } = checkClockReadiness({ changeHead, runtime: { clock } })
  if (ready) return []
  return [
    { level: 'now', subject: 'clock', problem: detail, fix: 'check the time with timedatectl' },
  ]
}

/** Damaged files, and lists that will soon be too old. Calls are blocked by lists that are already. */
function findFileFindings(data: ReferenceData): HealthFinding[] {
  const numbering = checkNumberingReadiness({ data })
  const aging = data.lists.all().filter(({ name }) => isUsedByChecks(name))
  return [
    ...data.lists.problems().map(
      ({ name, detail: problem }): HealthFinding => ({
        level: 'now',
        subject: 'lists',
        problem,
        fix: name === undefined ? 'check the folder' : `callgate import ${name}`,
      }),
    ),
    ...aging
      .filter((list) => data.listAges.findState(list, clock.now()) === 'soon-stale')
      .map((list): HealthFinding => {
        const at = formatInstant(data.listAges.computeStaleAt(list))
        const problem = `${list.name} will be too old from ${at}, and is not used then`
        return { level: 'soon', subject: 'lists', problem, fix: `callgate import ${list.name}` }
      }),
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
