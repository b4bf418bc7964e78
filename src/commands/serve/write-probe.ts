/** Checks with real writes that the database and the journal can be written, and in time; an idle server would not notice otherwise. */

import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Callgate } from '../../app/callgate.js'
import { resolveGateDeadlineMs } from '../../config/settings.js'
import { getErrorMessage } from '../../errors.js'
import type { Readiness } from '../../http/health.js'
import { monotonicSeconds, sleep, withTimeout } from '../../runtime/runtime.js'
import type { OpenDatabase } from '../../storage/open-database.js'

/** Readiness needs no API key, so it causes at most one write a second. */
const probeEveryMs = 1_000
/** Readiness waits this long for one; it takes at least that long then. */
const maxWaitMs = 250
/** Opt-outs are refused then, though calls may still be allowed. */
const maxHangMs = 5_000
/** Another process may hold the lock briefly. */
const maxLockMs = 50
const lockPauseMs = 5

interface Measured {
  readonly startedAtMs: number
  /** So far, of one that has not ended. */
  readonly tookMs: number
  /** For people. */
  readonly problem: string | undefined
}

class TimedProbe {
  /** Gives what is wrong; never rejects. */
  readonly #run: () => Promise<string | undefined>
  #startedAtMs = Number.NEGATIVE_INFINITY
  #running: Promise<void> | undefined
  #last: Measured = { startedAtMs: Number.NEGATIVE_INFINITY, tookMs: 0, problem: undefined }

  constructor(run: () => Promise<string | undefined>) {
    this.#run = run
  }

  /** The latest that has ended, and the one that runs. */
  async measure(): Promise<readonly Measured[]> {
    const nowMs = monotonicSeconds() * 1000
    if (nowMs - this.#startedAtMs >= probeEveryMs) this.#running ??= this.#start(nowMs)
    await withTimeout(this.#running ?? Promise.resolve(), maxWaitMs, () => undefined)
    if (!this.#running) return [this.#last]
    const startedAtMs = this.#startedAtMs
    const tookMs = monotonicSeconds() * 1000 - startedAtMs
    return [this.#last, { startedAtMs, tookMs, problem: undefined }]
  }

  async #start(startedAtMs: number): Promise<void> {
    this.#startedAtMs = startedAtMs
    const problem = await this.#run()
    this.#last = { startedAtMs, tookMs: monotonicSeconds() * 1000 - startedAtMs, problem }
    this.#running = undefined
  }
}

type ProbedCallgate = Pick<Callgate, 'settings' | 'storage' | 'journal' | 'recentCalls'>

/** The check `database`. Notices a missing file immediately and any other fault within a second. */
export function createDatabaseCheck(callgate: ProbedCallgate): () => Promise<Readiness> {
  const { storage } = callgate
  const writing = new TimedProbe(() => writeNothing(storage))
  const reading = new TimedProbe(() => readHead(storage))
  // A database that hangs is asked once, not again for each answer.
  let asked: Promise<string | undefined> | undefined
  const findFault = () => {
    asked ??= storage.checkFault().finally(() => {
      asked = undefined
    })
    return asked
  }
  return async () => {
    const [fault, written, read] = await Promise.all([
      withTimeout(findFault(), maxWaitMs, () => undefined),
      writing.measure(),
      storage.traits.isShared ? reading.measure() : undefined,
    ])
    const problem = fault ?? findProblem(written)
    if (problem !== undefined) return { ready: false, detail: problem }
    const slow = findSlow(callgate, read ?? written)
    const writtenMs = Math.max(...written.map(({ tookMs }) => tookMs))
    const hangs = writtenMs >= maxHangMs
    const detail = hangs
      ? `nothing was written to the database for ${Math.round(writtenMs / 1000)} s`
      : slow && `the database takes ${slow}`
    return { ready: !hangs && !(slow && isWaitedFor(callgate)), detail }
  }
}

/** Each call waits for a read of PostgreSQL; with SQLite, for a write if all calls are counted. */
function isWaitedFor({ settings: { gate }, storage }: ProbedCallgate): boolean {
  const isForAll = gate.houseLimits.some((limit) => !limit.account && !limit.project)
  return storage.traits.isShared || isForAll
}

/** The check `records`. */
export function createRecordsCheck(callgate: ProbedCallgate): () => Promise<Readiness> {
  const { journal, settings } = callgate
  const appending = new TimedProbe(() => appendNothing(join(settings.dataDir, 'journal')))
  return async () => {
    const problem = journal.findProblem()
    if (problem !== undefined) return { ready: false, detail: problem }
    const measured = await appending.measure()
    const slow = findSlow(callgate, measured)
    const written = findProblem(withoutRefuted(measured, callgate))
    const detail = written ?? (slow && `an append to the journal takes ${slow}`)
    return { ready: detail === undefined, detail }
  }
}

const findProblem = (measured: readonly Measured[]) =>
  measured.find(({ problem }) => problem !== undefined)?.problem

/** Those since whose start no call was allowed: what calls got counts more. */
const withoutRefuted = (measured: readonly Measured[], { recentCalls }: ProbedCallgate) =>
  measured.filter(({ startedAtMs }) => recentCalls.allowedAtMs <= startedAtMs)

/** For people; `undefined` if a call could wait for it, or was allowed since. */
function findSlow(callgate: ProbedCallgate, measured: readonly Measured[]): string | undefined {
  const deadlineMs = resolveGateDeadlineMs(callgate.settings)
  const tookMs = Math.max(0, ...withoutRefuted(measured, callgate).map((one) => one.tookMs))
  if (tookMs < deadlineMs) return undefined
  return `${Math.round(tookMs)} ms, and a call may wait ${deadlineMs} ms for its decision`
}

async function readHead({ reads }: OpenDatabase): Promise<string | undefined> {
  // A failure is one of the write as well.
  await reads
    .selectFrom('change_head')
    .select('seq')
    .execute()
    .catch(() => undefined)
  return undefined
}

async function writeNothing(storage: OpenDatabase): Promise<string | undefined> {
  const giveUpAt = monotonicSeconds() + maxLockMs / 1000
  for (;;) {
    try {
      await storage.probeWrite()
      return undefined
    } catch (cause) {
      const isLocked = storage.traits.isLockedElsewhere(cause)
      if (isLocked && monotonicSeconds() < giveUpAt) {
        await sleep(lockPauseMs)
        continue
      }
      return isLocked
        ? 'the database is locked by another process, so nothing can be written'
        : `nothing can be written to the database: ${getErrorMessage(cause)}`
    }
  }
}

/** In a file of its own beside the segments, which is empty again after it. A full disk has no room for it. */
async function appendNothing(folder: string): Promise<string | undefined> {
  try {
    const file = await open(join(folder, '.probe'), 'a', 0o600)
    try {
      await file.write('.')
      await file.datasync()
      await file.truncate(0)
    } finally {
      await file.close()
    }
    return undefined
  } catch (cause) {
    return `nothing can be written to the folder of the journal: ${getErrorMessage(cause)}`
  }
}
