/** Answers what state this server is in. Secrets never leave. */
import { hostname } from 'node:os'
import type { StatusBody } from '../../api/accounts/status.js'
import { findSettingOrigin, listSettingLeaves } from '../../config/load.js'
import type { Settings } from '../../config/settings.js'
import { version } from '../../config/version.js'
import { type Caller, isOperator, nameCaller } from '../../domain/caller.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import { AppError, getErrorMessage } from '../../errors.js'
import type { Readiness, WatchedCheck } from '../../http/health.js'
import { withTimeout } from '../../runtime/runtime.js'
import { findEdgeAccount } from '../../storage/cluster/edge-origins.js'
import type { Callgate } from '../callgate.js'
import { describeSettings } from '../configuration.js'
import { findProblem } from './check-problems.js'

export interface StatusAnswerDeps {
  readonly callgate: Pick<
    Callgate,
    'settings' | 'storage' | 'runtime' | 'backgroundJobs' | 'sharedDecisions'
  >
  readonly checks: readonly WatchedCheck[]
}

/** A check may wait for a disk. */
const maxCheckMs = 1_000

export async function readStatus(
  { callgate, checks }: StatusAnswerDeps,
  caller: Caller,
): Promise<StatusBody> {
  if (!isOperator(caller)) {
    const rule =
      'the state of the server needs account main, role Administrator and no limit to projects'
    throw new AppError('forbidden', `${nameCaller(caller)}: ${rule}`)
  }
  const { settings, storage, sharedDecisions } = callgate
  const now = callgate.runtime.clock.now()
  const readiness = await Promise.all(checks.map((check) => readReadiness(check, now)))
  return {
    version,
    host: hostname(),
    ready: readiness.every(({ ready }) => ready),
    readiness,
    settings: listSettings(settings),
    jobs: listJobs(callgate, now),
    database: {
      engine: settings.storage.engine,
      isLeader: storage.feed?.isLeader ?? null,
      changesKnownUntil: toText(storage.feed?.currentAt.now),
      problem: storage.feed?.problem ?? null,
    },
    servers: ((await sharedDecisions?.listJournals()) ?? []).map((row) => ({
      journal: row.origin.slice(-64).slice(0, 12),
      account: findEdgeAccount(row.origin) ?? null,
      lastSeenAt: formatInstant(row.seen_at),
      copiedRecords: row.next_seq - 1,
      copiedUntil: row.copied_until === 0 ? null : formatInstant(row.copied_until),
    })),
  }
}

function toText(at: Instant | null | undefined): string | null {
  return at === null || at === undefined ? null : formatInstant(at)
}

async function readReadiness(
  check: WatchedCheck,
  now: Instant,
): Promise<StatusBody['readiness'][number]> {
  const late = (): Readiness => ({
    ready: false,
    detail: `the check did not answer within ${maxCheckMs} ms`,
  })
  const running = check.check().catch((cause: unknown): Readiness => {
    return { ready: false, detail: `the check itself failed: ${getErrorMessage(cause)}` }
  })
  const result = await withTimeout(running, maxCheckMs, late)
  const fix = findProblem({ ...result, name: check.name })?.fix ?? null
  const since = formatInstant(check.since ?? now)
  return { name: check.name, ready: result.ready, detail: result.detail ?? null, fix, since }
}

/** Describing them takes some milliseconds, and only a reload replaces them. */
let described: { readonly of: Settings; readonly rows: StatusBody['settings'] } | undefined

function listSettings(settings: Settings): StatusBody['settings'] {
  if (described?.of !== settings) described = { of: settings, rows: describeEach(settings) }
  return described.rows
}

function describeEach(settings: Settings): StatusBody['settings'] {
  const values = describeSettings(settings)
  return listSettingLeaves().map((leaf) => {
    const name = leaf.path.join('.')
    return {
      name,
      // The rules for addresses permit no password; one must not leave even if some rule is missing.
      value: (values[name] ?? 'unset').replace(/\/\/[^/@\s"]*@/g, '//(hidden)@'),
      origin: findSettingOrigin(settings, leaf),
      variable: leaf.variable,
    }
  })
}

function listJobs(
  { backgroundJobs, runtime: { timers } }: StatusAnswerDeps['callgate'],
  now: Instant,
): StatusBody['jobs'] {
  return [...backgroundJobs.tasks].map(([name, { isRunning, lastRun }]) => ({
    name,
    isRunning,
    lastEndedAt: lastRun ? formatInstant(now - (timers.monotonicMs() - lastRun.endedMs)) : null,
    hasFailed: lastRun?.hasFailed ?? null,
  }))
}
