/**
 * Sends the heads of a journal to those that keep them. Runs in a thread of its own: proofs are read from disk. Each
 * keeper is sent the newest head as soon as it has the one before, so that a slow one holds up no other.
 */
import type { WitnessSettings } from '../../config/settings.js'
import type { Instant } from '../../domain/time/clock.js'
import { getErrorMessage } from '../../errors.js'
import { timestampsPath, treeFolder } from '../../gate/journal/tree/tree-files.js'
import { computeBackoffMs } from '../../runtime/backoff.js'
import { monotonicSeconds, systemClock, withTimeout } from '../../runtime/runtime.js'
import { runInThread, type ThreadWork } from '../../runtime/thread.js'
import { parseVerifierKey } from '../../transparency/signed-note.js'
import { CosignedHead } from './cosigned-head.js'
import { type Head, HeadConflict, HeadReader } from './head.js'
import { FileKeeper, type HeadKeeper, WebhookKeeper, WitnessKeeper } from './keepers.js'
import { TimestampKeeper } from './timestamps.js'

export interface HeadSenderOptions {
  /** Of the journal. */
  readonly folder: string
  readonly witnesses: readonly WitnessSettings[]
}

export interface HeadSenderRequest {
  /** How long to wait for those that find out a rollback; 0 to see only what is known. */
  readonly waitMs: number
}

/** What is known about one that keeps heads. */
export interface KeeperStatus {
  /** For logs and metrics. */
  readonly name: string
  readonly kind: WitnessSettings['kind']
  /** Number of records in the newest head that it has; `undefined` before its first answer. */
  readonly size: number | undefined
  /** When it answered last; `undefined` before that. */
  readonly answeredAt: Instant | undefined
  /** Attempts in a row. */
  readonly failures: number
  /** Why the last attempt failed, for people. */
  readonly problem: string | undefined
  /** Whether it has a head that the journal does not go on from. It is sent no other one then. */
  readonly isConflict: boolean
}

const retryDelays = { firstMs: 1_000, maxMs: 60_000 }
/** A keeper is asked again after so long without a new head, so that its silence is noticed. */
const repeatSeconds = 300

class KeeperLane {
  readonly keeper: HeadKeeper
  readonly #onCosigned: CosignedHead['add']
  #status: KeeperStatus
  #nextSeconds = Number.NEGATIVE_INFINITY
  running: Promise<void> | undefined

  constructor(
    { name, kind }: Pick<KeeperStatus, 'name' | 'kind'>,
    keeper: HeadKeeper,
    onCosigned: CosignedHead['add'],
  ) {
    this.keeper = keeper
    this.#onCosigned = onCosigned
    const nothing = { size: undefined, answeredAt: undefined, problem: undefined }
    this.#status = { name, kind, ...nothing, failures: 0, isConflict: false }
  }

  get status(): KeeperStatus {
    return this.#status
  }

  /** Sends the head unless the keeper has it, is busy, or has failed a moment ago. */
  offer(head: Head): void {
    const { size = -1, failures, isConflict } = this.#status
    if (isConflict || this.running) return
    const isDue = monotonicSeconds() >= this.#nextSeconds
    const isNew = head.size !== size
    if (isNew ? failures > 0 && !isDue : !(isDue && this.keeper.repeats)) return
    this.running = this.#send(head).finally(() => {
      this.running = undefined
    })
  }

  async #send(head: Head): Promise<void> {
    try {
      const { isAsked, cosignature } = await this.keeper.send(head)
      if (cosignature) this.#onCosigned(head, cosignature)
      const { answeredAt } = this.#status
      this.#status = {
        ...this.#status,
        size: head.size,
        answeredAt: isAsked ? systemClock.now() : answeredAt,
        failures: 0,
        problem: undefined,
      }
      this.#nextSeconds = monotonicSeconds() + repeatSeconds
    } catch (cause) {
      const failures = this.#status.failures + 1
      const isConflict = cause instanceof HeadConflict
      const size = isConflict ? cause.size : this.#status.size
      const problem = getErrorMessage(cause)
      this.#status = { ...this.#status, size, failures, problem, isConflict }
      this.#nextSeconds = monotonicSeconds() + computeBackoffMs(failures, retryDelays) / 1_000
    }
  }
}

class HeadSender {
  readonly #heads: HeadReader
  readonly #lanes: readonly KeeperLane[]

  constructor({ folder, witnesses }: HeadSenderOptions) {
    this.#heads = new HeadReader(folder)
    let cosigned: CosignedHead | undefined
    const onCosigned: CosignedHead['add'] = (head, cosignature) => {
      cosigned ??= new CosignedHead(folder)
      cosigned.add(head, cosignature)
    }
    const names = new Set<string>()
    this.#lanes = witnesses.map((witness) => {
      const name = nameWitness(witness, names)
      return new KeeperLane({ name, kind: witness.kind }, createKeeper(witness, folder), onCosigned)
    })
  }

  async handle({ waitMs }: HeadSenderRequest): Promise<readonly KeeperStatus[]> {
    const head = this.#heads.read()
    if (head) for (const lane of this.#lanes) lane.offer(head)
    if (waitMs > 0) {
      const remembering = this.#lanes.filter(({ keeper }) => keeper.remembers)
      const sent = remembering.map(async (lane) => {
        await lane.running
        // It may have been busy with the head before.
        if (head) lane.offer(head)
        await lane.running
      })
      await withTimeout(Promise.all(sent), waitMs, () => undefined)
    }
    return this.#lanes.map(({ status }) => status)
  }

  close(): void {
    // Requests in progress end with the thread.
  }
}

/** Addresses may have secrets in their path. */
function nameWitness(witness: WitnessSettings, taken: Set<string>): string {
  const name = chooseName(witness)
  let distinct = name
  for (let count = 2; taken.has(distinct); count += 1) distinct = `${name} (${count})`
  taken.add(distinct)
  return distinct
}

function chooseName(witness: WitnessSettings): string {
  if (witness.kind === 'witness') return parseVerifierKey(witness.key).name
  return witness.kind === 'file' ? witness.path : new URL(witness.url).host
}

function createKeeper(witness: WitnessSettings, folder: string): HeadKeeper {
  switch (witness.kind) {
    case 'witness':
      return new WitnessKeeper(witness.url, parseVerifierKey(witness.key))
    case 'file':
      return new FileKeeper(witness.path)
    case 'timestamp':
      return new TimestampKeeper({ ...witness, folder: timestampsPath(treeFolder(folder)) })
    case 'webhook':
      return new WebhookKeeper(witness.url)
  }
}

export const headSending: ThreadWork<
  HeadSenderOptions,
  HeadSenderRequest,
  readonly KeeperStatus[]
> = {
  module: import.meta.url,
  create: (options) => new HeadSender(options),
}

runInThread(headSending)
