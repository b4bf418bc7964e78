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

type StoredReadings = CampaignReadings &
  Pick<
    ServerReadings,
    'disks' | 'edgeOptOutsPending' | 'lastBackupAt' | 'nextKeyExpiryAt' | 'providerBudgets'
  >

const nothingRead: StoredReadings = {
  abandonment: [],
  disconnectedEarly: [],
  disks: [],
  edgeOptOutsPending: undefined,
  lastBackupAt: undefined,
  nextKeyExpiryAt: undefined,
  providerBudgets: [],
}

/** Each has time series of its own. */
const maxBudgets = 400

/** A disk that does not answer must not keep the other metrics from being read. */
const maxWaitMs = 50

export function createServerReader(deps: ServerReaderDeps): () => Promise<ServerReadings> {
  const { changeHead, gate, journal, remote, storage } = deps
  let stored = nothingRead
  let reading: Promise<void> | undefined
  const readStored = async () => {
    stored = await readFromDisk(deps).catch(() => nothingRead)
    reading = undefined
  }
  return async () => {
    reading ??= readStored()
    await withTimeout(reading, maxWaitMs, () => undefined)
    const { settings } = deps
    const policy = buildPolicy(settings)
    return {
      ...stored,
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

async function readFromDisk(deps: ServerReaderDeps): Promise<StoredReadings> {
  const { keys, settings, storage } = deps
  const [disks, nextKeyExpiryAt, lastBackup, edgeOptOutsPending, campaigns, providerBudgets] =
    await Promise.all([
      readDisks(settings),
      keys.findNextExpiry(),
      readFile(resolveLastBackupPath(settings), 'utf8').catch(() => ''),
      storage.traits.isCopy ? countEdgeOptOuts(storage) : undefined,
      countCampaigns(deps),
      readBudgets(deps),
    ])
  const lastBackupAt = parseInstant(lastBackup.split(' ', 1)[0] ?? '')
  return {
    ...campaigns,
    disks,
    edgeOptOutsPending,
    lastBackupAt,
    nextKeyExpiryAt,
    providerBudgets: providerBudgets.slice(0, maxBudgets),
  }
}
