/** Copies the journal to PostgreSQL, or to the center of an edge, in the background, so that every server can show every decision. */
import { join } from 'node:path'
import { readKeyFile } from '../../config/secret-file.js'
import type { Settings } from '../../config/settings.js'
import { getErrorMessage } from '../../errors.js'
import type { Journal } from '../../gate/journal/journal.js'
import type { DecisionStore } from '../../gate/journal/projection/decision-store.js'
import type {
  ProjectionProgress,
  ProjectionRequest,
} from '../../gate/journal/projection/journal-projection.js'
import { findSigningKey } from '../../gate/journal/tree/tree-head.js'
import type { Metrics } from '../../observability/metrics.js'
import { startThread, type Thread } from '../../runtime/thread.js'
import { BackgroundTask } from '../../service/background/background-task.js'
import type { AppContext } from '../app-context.js'
import { readStorageSettings } from '../storage-settings.js'

const pauseMs = 1_000
/** A server without calls says so often that it is there; see `callgate decisions give-up`. */
const presenceMs = 60_000

export interface DecisionProjection {
  /** Why decisions are not copied, for people; `undefined` while they are. */
  readonly problem: string | undefined
  /** The journal must be open. */
  start(): void
  /** What is not copied then is copied after the next start. */
  close(): Promise<void>
}

/** Those of all servers, if there may be several. */
export async function openSharedDecisions({
  db,
  traits,
}: Pick<AppContext['storage'], 'db' | 'traits'>): Promise<DecisionStore | undefined> {
  if (!traits.isShared) return undefined
  const projection = await import('../../gate/journal/projection/decision-store.js')
  return new projection.DecisionStore(db)
}

/** `undefined` with SQLite, except on an edge. */
function chooseThread(
  settings: Settings,
): (() => Promise<Thread<ProjectionRequest, ProjectionProgress>>) | undefined {
  const storage = readStorageSettings(settings)
  const journal = {
    folder: join(settings.dataDir, 'journal'),
    keyPath: findSigningKey(settings.dataDir, settings.journal.signingKeyFile),
  }
  const { centers, loginIdFile } = settings.edge
  if (storage.isCopy && loginIdFile !== undefined) {
    const loginId = readKeyFile(loginIdFile, 'edge.loginIdFile')
    return async () => {
      const { journalShipping } = await import('../../edge/ship-journal.js')
      return startThread(journalShipping, { ...journal, centers, loginId, loginIdFile })
    }
  }
  if (storage.postgres === undefined) return undefined
  return async () => {
    const { journalProjecting } = await import(
      '../../gate/journal/projection/journal-projection.js'
    )
    return startThread(journalProjecting, { ...journal, storage })
  }
}

/** `undefined` if decisions are in the journal alone. */
export function createDecisionProjection(
  { settings, runtime }: Pick<AppContext, 'settings' | 'runtime'>,
  journal: Pick<Journal, 'openedSeq' | 'durableSeq'>,
  metrics: Pick<Metrics, 'observeProjectionLag'>,
): DecisionProjection | undefined {
  const start = chooseThread(settings)
  if (start === undefined) return undefined
  const { timers, log } = runtime
  let thread: Thread<ProjectionRequest, ProjectionProgress> | undefined
  /** 0 until the first records were copied. */
  let nextSeq = 0
  let seenAtMs = Number.NEGATIVE_INFINITY
  let problem: string | undefined
  let isClosing = false
  metrics.observeProjectionLag(() => journal.durableSeq + 1 - (nextSeq || journal.openedSeq))
  const run = async () => {
    const { durableSeq, openedSeq } = journal
    const now = timers.monotonicMs()
    if (nextSeq > durableSeq && now < seenAtMs + presenceMs) return pauseMs
    thread ??= await start()
    // Closed meanwhile: a request would start the thread, and nobody would end it.
    if (isClosing) return pauseMs
    const notStoredSeq = nextSeq === 0 ? openedSeq : undefined
    const progress = await thread.ask({ lastSeq: durableSeq, notStoredSeq })
    nextSeq = progress.nextSeq
    seenAtMs = now
    if (problem !== undefined) log.info('decisions are copied again')
    problem = undefined
    return nextSeq > durableSeq ? pauseMs : 0
  }
  const onError = (err: unknown) => {
    if (isClosing) return
    const before = problem
    problem = getErrorMessage(err)
    if (problem !== before) log.warn('decisions could not be copied; trying again', { err })
  }
  const task = new BackgroundTask({ run, timers, onError, retryMs: 1_000 })
  return {
    get problem() {
      return problem
    },
    start: () => task.start(),
    async close() {
      isClosing = true
      // PostgreSQL may not answer.
      await thread?.terminate()
      await task.close()
    },
  }
}
