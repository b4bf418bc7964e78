/** Has the heads of the journal kept outside its folder, and finds out that it was rolled back. */
import { join } from 'node:path'
import type { Settings } from '../../config/settings.js'
import { countLossFirst, DataFileError, getErrorMessage } from '../../errors.js'
import type { HeadSenderRequest, KeeperStatus } from '../../evidence/witness/head-sender.js'
import type { ReadinessCheck } from '../../http/health.js'
import type { Metrics } from '../../observability/metrics.js'
import type { Runtime } from '../../runtime/runtime.js'
import { startThread, type Thread } from '../../runtime/thread.js'
import { BackgroundTask } from '../../service/background/background-task.js'

export interface WitnessesDeps {
  readonly settings: Pick<Settings, 'dataDir' | 'journal'>
  readonly runtime: Pick<Runtime, 'clock' | 'log' | 'timers'>
  readonly metrics: Pick<Metrics, 'setWitnesses'>
}

type HeadThread = Thread<HeadSenderRequest, readonly KeeperStatus[]>

const pollMs = 1_000
const startWaitMs = 3_000
/** The head that is signed at the end of the server. */
const closeWaitMs = 2_000

/** What to do about a journal that was rolled back. */
const advice =
  `Restore a later copy of the data folder${countLossFirst}, or go on as another journal that names this one: stop the server, then: ` +
  'callgate evidence new-origin --because <what happened>'

/** `undefined` if nobody keeps them. */
export async function openWitnesses(deps: WitnessesDeps): Promise<Witnesses | undefined> {
  const { witnesses } = deps.settings.journal
  if (witnesses.length === 0) return undefined
  const { headSending } = await import('../../evidence/witness/head-sender.js')
  const folder = join(deps.settings.dataDir, 'journal')
  return new Witnesses(deps, startThread(headSending, { folder, witnesses }))
}

export class Witnesses {
  readonly #deps: WitnessesDeps
  readonly #thread: HeadThread
  readonly #task: BackgroundTask
  readonly #since: number
  #statuses: readonly KeeperStatus[] = []
  #isFailing = false
  #isStarted = false

  constructor(deps: WitnessesDeps, thread: HeadThread) {
    const { timers, clock, log } = deps.runtime
    this.#deps = deps
    this.#thread = thread
    this.#since = clock.now()
    this.#task = new BackgroundTask({
      run: async () => {
        await this.#ask(0)
        this.#isFailing = false
        return pollMs
      },
      timers,
      retryMs: pollMs,
      onError: (err) => {
        if (!this.#isFailing)
          log.error('the head of the journal cannot be read; trying again', { err })
        this.#isFailing = true
      },
    })
  }

  /**
   * To be called before the journal is opened, and anything is written to it. Throws {@link DataFileError} if a
   * witness that answers has a head that the journal does not go on from, or the newest head cannot be read.
   */
  async requireContinuation(): Promise<void> {
    const folder = join(this.#deps.settings.dataDir, 'journal')
    let statuses: readonly KeeperStatus[]
    try {
      statuses = await this.#ask(startWaitMs)
    } catch (cause) {
      const why = getErrorMessage(cause)
      throw new DataFileError(folder, `its newest signed head cannot be read: ${why}`, cause)
    }
    const problem = describeConflicts(statuses)
    if (problem !== undefined) throw new DataFileError(folder, problem)
  }

  start(): void {
    this.#isStarted = true
    this.#task.start()
  }

  /** A witness that cannot be reached is no reason to stop. */
  readonly readiness: ReadinessCheck = {
    name: 'witnesses',
    check: () => {
      const problem = describeConflicts(this.#statuses)
      if (problem !== undefined) return { ready: false, detail: problem }
      return { ready: true, detail: this.#statuses.map(describeStatus).join('; ') }
    },
  }

  /** To be called once the journal has signed its last head. */
  async close(): Promise<void> {
    await this.#task.close()
    if (this.#isStarted) await this.#ask(closeWaitMs).catch(() => undefined)
    await this.#thread.terminate()
  }

  async #ask(waitMs: number): Promise<readonly KeeperStatus[]> {
    const before = this.#statuses
    this.#statuses = await this.#thread.ask({ waitMs })
    this.#deps.metrics.setWitnesses(this.#statuses, this.#since)
    for (const [index, status] of this.#statuses.entries()) this.#log(status, before[index])
    return this.#statuses
  }

  #log({ name, problem, isConflict, size }: KeeperStatus, before: KeeperStatus | undefined): void {
    const { log } = this.#deps.runtime
    if (isConflict && !before?.isConflict) {
      log.error('the journal was rolled back or changed', {
        witness: name,
        detail: problem,
        advice,
      })
    } else if (problem !== undefined && before?.problem === undefined) {
      log.warn('a head of the journal could not be sent; trying again', {
        witness: name,
        detail: problem,
      })
    } else if (problem === undefined && before?.problem !== undefined) {
      log.info('heads of the journal are kept again', { witness: name, size })
    }
  }
}

function describeConflicts(statuses: readonly KeeperStatus[]): string | undefined {
  const conflicts = statuses.filter(({ isConflict }) => isConflict)
  if (conflicts.length === 0) return undefined
  return `${conflicts.map(({ name, problem }) => `witness ${name} ${problem}`).join('; ')}. ${advice}`
}

function describeStatus({ name, size, problem }: KeeperStatus): string {
  if (problem !== undefined) return `${name} could not be sent the newest head: ${problem}`
  return size === undefined ? `${name} was not asked yet` : `${name} has ${size} records`
}
