/** What a running server reports of itself in `/metrics`. */
import { readFile } from 'node:fs/promises'
import type { Callgate } from '../../app/callgate.js'
import { readDisks, resolveLastBackupPath } from '../../app/data-folders.js'
import { listProviders } from '../../config/settings.js'
import { hasBudget } from '../../config/source.js'
import { checkNames } from '../../domain/decision.js'
import { parseInstant, toUtcDay } from '../../domain/time/dates.js'
import { buildPolicy } from '../../gate/build-policy.js'
import { judgeAbandoned } from '../../law/abandonment-rules.js'
import type { ServerReadings } from '../../observability/server-metrics.js'
import { monotonicSeconds, withTimeout } from '../../runtime/runtime.js'

type ServerReaderDeps = Pick<
  Callgate,
  | 'abandonment'
  | 'changeHead'
  | 'data'
  | 'gate'
  | 'journal'
  | 'keys'
  | 'remote'
  | 'runtime'
  | 'settings'
  | 'storage'
>

type CampaignReadings = Pick<ServerReadings, 'abandonment' | 'disconnectedEarly'>

type FileReadings = Pick<ServerReadings, 'disks' | 'lastBackupAt'>

type StoredReadings = CampaignReadings &
  Pick<ServerReadings, 'edgeOptOutsPending' | 'nextKeyExpiryAt' | 'providerBudgets'>

const nothingRead: StoredReadings = {
  abandonment: [],
  disconnectedEarly: [],
  edgeOptOutsPending: undefined,
  nextKeyExpiryAt: undefined,
  providerBudgets: [],
}

/** Each has time series of its own. */
const maxBudgets = 400

/** A disk or database that does not answer must not keep the other metrics from being read. */
const maxWaitMs = 50

/** How long the previous readings are shown while the next ones hang. */
const maxReadSeconds = 10

export function createServerReader(deps: ServerReaderDeps): () => Promise<ServerReadings> {
  const { changeHead, gate, journal, remote, storage } = deps
  const readStored = keepLatest(() => readDatabase(deps), nothingRead)
  const readFiles = keepLatest(() => readFilesOf(deps.settings), {
    disks: [],
    lastBackupAt: undefined,
  })
  return async () => {
    const [stored, files] = await Promise.all([readStored(), readFiles()])
    const { settings } = deps
    const policy = buildPolicy(settings)
    return {
      ...stored,
      ...files,
      decisionsInFlight: gate.pendingCount,
      maxDecisionsInFlight: settings.gate.maxPending,
      oldestPendingRecordSeconds: journal.oldestWaitingSeconds,
      changeFeed: storage.feed && {
        lagSeconds: (monotonicSeconds() * 1000 - storage.feed.currentAt.monotonicMs) / 1000,
        isLeader: storage.feed.isLeader,
      },
      clockBehindSeconds: Math.abs(changeHead.getLagMs()) / 1000,
      policyExceptions: checkNames.flatMap((check) => {
        const { allowUnknown } = policy[check]
        return allowUnknown ? [{ check, until: allowUnknown.until }] : []
      }),
      rateBudgets: (remote?.providers ?? []).flatMap(({ name, rateBudgets }) =>
        rateBudgets().map((budget) => ({ source: name, ...budget })),
      ),
    }
  }
}

/** One reading at a time; gives the latest within {@link maxWaitMs}, and nothing if it failed or hangs. */
export function keepLatest<Readings>(read: () => Promise<Readings>, nothing: Readings) {
  let latest = nothing
  let reading: Promise<void> | undefined
  let begunAt = 0
  const readOnce = async () => {
    begunAt = monotonicSeconds()
    latest = await read().catch(() => nothing)
    reading = undefined
  }
  return async () => {
    reading ??= readOnce()
    await withTimeout(reading, maxWaitMs, () => {
      if (monotonicSeconds() - begunAt > maxReadSeconds) latest = nothing
    })
    return latest
  }
}

async function countEdgeOptOuts({ db }: ServerReaderDeps['storage']): Promise<number> {
  const { count } = await db
    .selectFrom('edge_opt_outs')
    .select((row) => row.fn.countAll().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Each campaign once, in the worse of its states; a call that two laws count is one call. */
async function countCampaigns({
  abandonment,
  data,
  runtime,
}: ServerReaderDeps): Promise<CampaignReadings> {
  const now = runtime.clock.now()
  const worst = new Map<string, { readonly account: string; readonly state: 'near' | 'over' }>()
  const early = new Map<string, { readonly account: string; readonly calls: number }>()
  for (const count of await abandonment.list({ after: now })) {
    const limit = data.rules.abandonment.limits.find(({ id }) => id === count.rule)
    const state = limit && now >= count.from ? judgeAbandoned(limit, count) : 'few'
    const key = JSON.stringify([count.accountId, count.campaign])
    const isWorse = state === 'over' || (state === 'near' && !worst.has(key))
    if (isWorse) worst.set(key, { account: count.accountId, state })
    const calls = Math.max(count.disconnectedEarly, early.get(key)?.calls ?? 0)
    if (calls > 0) early.set(key, { account: count.accountId, calls })
  }
  const counted = new Map<string, ServerReadings['abandonment'][number]>()
  for (const { account, state } of worst.values()) {
    const key = JSON.stringify([account, state])
    counted.set(key, { account, state, campaigns: (counted.get(key)?.campaigns ?? 0) + 1 })
  }
  const byAccount = new Map<string, number>()
  for (const { account, calls } of early.values())
    byAccount.set(account, (byAccount.get(account) ?? 0) + calls)
  return {
    abandonment: [...counted.values()],
    disconnectedEarly: [...byAccount].map(([account, calls]) => ({ account, calls })),
  }
}

async function readBudgets({
  settings,
  storage,
  runtime,
}: ServerReaderDeps): Promise<ServerReadings['providerBudgets']> {
  if (!listProviders(settings).some(({ budget }) => hasBudget(budget))) return []
  const { readBudgetStates } = await import('./budget-states.js')
  return await readBudgetStates(settings, storage.db, toUtcDay(runtime.clock.now()))
}

async function readDatabase(deps: ServerReaderDeps): Promise<StoredReadings> {
  const { keys, storage } = deps
  const [nextKeyExpiryAt, edgeOptOutsPending, campaigns, providerBudgets] = await Promise.all([
    keys.findNextExpiry(),
    storage.traits.isCopy ? countEdgeOptOuts(storage) : undefined,
    countCampaigns(deps),
    readBudgets(deps),
  ])
  return {
    ...campaigns,
    edgeOptOutsPending,
    nextKeyExpiryAt,
    providerBudgets: providerBudgets.slice(0, maxBudgets),
  }
}

async function readFilesOf(settings: ServerReaderDeps['settings']): Promise<FileReadings> {
  const [disks, lastBackup] = await Promise.all([
    readDisks(settings),
    readFile(resolveLastBackupPath(settings), 'utf8').catch(() => ''),
  ])
  return { disks, lastBackupAt: parseInstant(lastBackup.split(' ', 1)[0] ?? '') }
}
