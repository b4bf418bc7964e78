/** What a running server reports of itself in `/metrics`. */
import { readFile, statfs } from 'node:fs/promises'
import type { Callgate } from '../../app/callgate.js'
import { resolveLastBackupPath } from '../../app/data-folders.js'
import { checkNames } from '../../domain/decision.js'
import { parseInstant } from '../../domain/time/dates.js'
import { buildPolicy } from '../../gate/build-policy.js'
import type { ServerReadings } from '../../observability/server-metrics.js'
import { monotonicSeconds, withTimeout } from '../../runtime/runtime.js'

type ServerReaderDeps = Pick<
  Callgate,
  'changeHead' | 'gate' | 'journal' | 'keys' | 'remote' | 'settings' | 'storage'
>

type StoredReadings = Pick<
  ServerReadings,
  'dataFreeBytes' | 'edgeOptOutsPending' | 'lastBackupAt' | 'nextKeyExpiryAt'
>

const nothingRead: StoredReadings = {
  dataFreeBytes: undefined,
  edgeOptOutsPending: undefined,
  lastBackupAt: undefined,
  nextKeyExpiryAt: undefined,
}

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

async function readFromDisk({
  keys,
  settings,
  storage,
}: ServerReaderDeps): Promise<StoredReadings> {
  const [{ bavail, bsize }, nextKeyExpiryAt, lastBackup, edgeOptOutsPending] = await Promise.all([
    statfs(settings.dataDir),
    keys.findNextExpiry(),
    readFile(resolveLastBackupPath(settings), 'utf8').catch(() => ''),
    storage.traits.isCopy ? countEdgeOptOuts(storage) : undefined,
  ])
  const lastBackupAt = parseInstant(lastBackup.split(' ', 1)[0] ?? '')
  return { dataFreeBytes: bavail * bsize, edgeOptOutsPending, lastBackupAt, nextKeyExpiryAt }
}
