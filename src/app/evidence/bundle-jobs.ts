/**
 * Evidence bundles that people have asked this server for. One is packed at a time, in a thread of its own, and kept for some days.
 * Their state is in the data folder, beside their files, since each is of the journal there.
 */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { BundleFile, BundleRequest } from '../../api/gate/evidence-bundles.js'
import { type Caller, isOperator, mainAccountId, nameCaller } from '../../domain/caller.js'
import type { Instant } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import { AppError, getErrorCode } from '../../errors.js'
import { startThread, type Thread } from '../../runtime/thread.js'
import type { Erasure } from '../../service/erasure/erasure.js'
import { findAuthor } from '../../storage/audit/audit-log.js'
import type { Callgate } from '../callgate.js'
import { toConfiguration } from '../configuration.js'
import { resolveBundlesFolder } from '../data-folders.js'
import { openErasures } from '../journal/erasures.js'
import { type BundleJob, JobFiles, keepMs } from './job-files.js'
import { bundlePacking, type PackOptions, type PackReply, type PackRequest } from './pack-thread.js'

export interface BundleJobsOptions {
  readonly minFreeBytes: number
  /** To be called when a job waits. */
  readonly onWaiting: () => void
}

const maxKept = 20
const maxWaiting = 5
/** Of the memory of the thread; it needs about 100 for 200,000 decisions. */
const maxMemoryMegabytes = 1_024
/** While a number is being erased, nothing is packed that may have it. */
const erasureWaitMs = 5_000

const problems: Readonly<Record<string, string>> = {
  'nothing-found':
    'No signed record answers the question. What was recorded in the last seconds is not signed yet',
  'disk-full':
    'The disk of the data folder is full, or nearly. Nothing is left of the bundle; free space there, or ask for a shorter period',
  'too-large':
    'It needs more memory than one bundle may have. Ask for shorter periods, one after the other',
  failed: 'It could not be packed; the log of the server says why',
  erased: 'A number was erased since it was asked for, so it was deleted. Ask again',
  interrupted: 'The server was stopped while it was packed. Ask again',
}

interface Packing {
  readonly id: string
  readonly thread: Thread<PackRequest, PackReply>
  readonly progress: SharedArrayBuffer
}

export class BundleJobs {
  readonly #callgate: Callgate
  readonly #options: BundleJobsOptions
  readonly #files: JobFiles
  readonly #jobs = new Map<string, BundleJob>()
  #packing: Packing | undefined
  #isClosing = false

  private constructor(callgate: Callgate, options: BundleJobsOptions) {
    this.#callgate = callgate
    this.#options = options
    this.#files = new JobFiles(resolveBundlesFolder(callgate.settings))
  }

  static async open(callgate: Callgate, options: BundleJobsOptions): Promise<BundleJobs> {
    const jobs = new BundleJobs(callgate, options)
    for (const job of await jobs.#files.load()) {
      if (job.state === 'packing') await jobs.#end(job, 'interrupted', 'interrupted')
      else jobs.#jobs.set(job.id, job)
    }
    return jobs
  }

  async ask(caller: Caller, { number, from, to, reason }: BundleRequest): Promise<BundleJob> {
    requireMayExport(caller)
    const { storage, runtime, service, changeRequests } = this.#callgate
    if (storage.traits.isCopy) throw notAtEdge()
    const own = this.#listOwn(caller)
    if (own.length >= maxKept) {
      const rule = `This server has ${maxKept} bundles of account ${caller.accountId}, as many as are kept`
      throw new AppError('conflict', `${rule}; delete one, and ask again`)
    }
    if (own.filter(({ state }) => state === 'waiting').length >= maxWaiting) {
      const rule = `${maxWaiting} bundles of account ${caller.accountId} wait already`
      throw new AppError('conflict', `${rule}; ask again when one of them is done`)
    }
    const { accountId } = caller
    await changeRequests.require(caller, {
      kind: 'export',
      what: `packing an evidence bundle of account ${accountId}`,
      request: { accountId, number, from, to },
      reason,
    })
    const id = `ev-${Buffer.from(runtime.randomBytes(12)).toString('hex')}`
    const path = '/v1/evidence'
    const job: BundleJob = {
      ...{ id, accountId, number, from, to, without: findLeftOut(caller), reason },
      askedBy: findAuthor(storage, { ...caller, path }).who,
      askedAt: runtime.clock.now(),
      state: 'waiting',
    }
    await service.recordRead(caller, {
      ...{ path, what: 'evidence.asked', bundle: id, purpose: reason },
      subject: number === undefined ? { kind: 'evidence', id } : { kind: 'number', id: number },
    })
    await this.#write(job)
    this.#jobs.set(id, job)
    this.#options.onWaiting()
    return job
  }

  /** The newest first. */
  list(caller: Caller): readonly BundleJob[] {
    requireMayExport(caller)
    return this.#listOwn(caller).sort((one, other) => other.askedAt - one.askedAt)
  }

  /** Throws `not-found` for one of another account, or of another server. */
  find(caller: Caller, id: string): BundleJob {
    requireMayExport(caller)
    const job = this.#jobs.get(id)
    if (job?.accountId === caller.accountId) return job
    const rule = `this server has no such bundle of account ${caller.accountId}`
    throw new AppError(
      'not-found',
      `id '${id}': ${rule}. They are deleted after ${keepMs / msPerDay} days, and each server has its own`,
    )
  }

  /** From 0 to 1; `undefined` unless it is being packed. */
  findProgress({ id }: BundleJob): number | undefined {
    const packing = this.#packing?.id === id ? this.#packing : undefined
    return packing && new Float64Array(packing.progress)[0]
  }

  async openFile(caller: Caller, id: string): Promise<BundleFile> {
    const job = this.find(caller, id)
    if (job.state !== 'done') {
      throw new AppError('conflict', `id '${id}': it has no file; its state is ${job.state}`)
    }
    const path = this.#files.zipOf(job)
    const { size } = await stat(path)
    await this.#callgate.service.recordRead(caller, {
      path: '/v1/evidence/:id/file',
      what: 'evidence.downloaded',
      subject: { kind: 'evidence', id },
    })
    return { name: `evidence-${id}.zip`, bytes: size, parts: readParts(path) }
  }

  async remove(caller: Caller, id: string, reason: string): Promise<void> {
    const job = this.find(caller, id)
    await this.#callgate.service.recordRead(caller, {
      path: '/v1/evidence/:id/delete',
      what: 'evidence.deleted',
      subject: { kind: 'evidence', id },
      purpose: reason,
    })
    this.#jobs.delete(id)
    if (this.#packing?.id === id) await this.#packing.thread.terminate()
    await this.#files.remove(job)
  }

  /** Deletes what is over, and packs the next one. Resolves to the milliseconds until there is more to do. */
  async run(): Promise<number> {
    const { runtime, journal } = this.#callgate
    if (this.#jobs.size === 0) return msPerDay
    const erasures = openErasures(this.#callgate)
    const requested = await erasures.list()
    const now = runtime.clock.now()
    const today = await this.#callgate.findToday(2)
    await this.#removeOld(Math.min(now, today ?? now), requested)
    const unfinished = await erasures.findUnfinished(journal.origin)
    const waiting = [...this.#jobs.values()].filter(({ state }) => state === 'waiting')
    if (waiting.length === 0 || this.#isClosing) return msPerDay
    const next = waiting.find((job) => !unfinished.some((erasure) => isAbout(erasure, job)))
    if (next === undefined) return erasureWaitMs
    await this.#pack({ ...next, erasures: countAbout(requested, next) })
    return 0
  }

  /** What is being packed is said to have been interrupted when the server starts again. */
  async close(): Promise<void> {
    this.#isClosing = true
    await this.#packing?.thread.terminate()
  }

  #listOwn({ accountId }: Caller): BundleJob[] {
    return [...this.#jobs.values()].filter((job) => job.accountId === accountId)
  }

  async #removeOld(now: Instant, erasures: readonly Erasure[]): Promise<void> {
    for (const job of [...this.#jobs.values()]) {
      const { erasures: known = Number.POSITIVE_INFINITY } = job
      if (job.askedAt + keepMs <= now) {
        this.#jobs.delete(job.id)
        await this.#files.remove(job)
      } else if (countAbout(erasures, job) > known && job.problem !== problems.erased) {
        await this.#end({ ...job, number: undefined }, 'failed', 'erased')
      }
    }
  }

  async #pack(waiting: BundleJob): Promise<void> {
    const { settings, data, runtime } = this.#callgate
    const job = { ...waiting, state: 'packing', startedAt: runtime.clock.now() } as const
    const progress = new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT)
    const options: PackOptions = {
      configuration: toConfiguration(settings, data),
      ...{ progress, minFreeBytes: this.#options.minFreeBytes },
    }
    const thread = startThread(bundlePacking, options, {
      maxOldGenerationSizeMb: maxMemoryMegabytes,
    })
    this.#packing = { id: job.id, thread, progress }
    this.#jobs.set(job.id, job)
    try {
      await this.#files.write(job)
      if (!this.#jobs.has(job.id)) return await this.#files.remove(job)
      const { id, accountId, number, from, to, without } = job
      const question = { accountId, number, from, to, without }
      const reply = await thread.ask({ question, out: this.#files.zipOf({ id }) })
      if (!this.#jobs.has(id)) await this.#files.remove(job)
      else if ('packed' in reply) await this.#end(job, 'done', undefined, reply.packed)
      else {
        const { problem, detail } = reply
        if (problem === 'failed') this.#logFailure(id, detail)
        await this.#end(job, 'failed', problem)
      }
    } catch (err) {
      if (this.#isClosing) return
      if (!this.#jobs.has(job.id)) return await this.#files.remove(job)
      const isTooLarge = getErrorCode(err) === 'ERR_WORKER_OUT_OF_MEMORY'
      if (!isTooLarge) this.#logFailure(job.id, err)
      await this.#end(job, 'failed', isTooLarge ? 'too-large' : 'failed')
    } finally {
      this.#packing = undefined
      await thread.terminate()
    }
  }

  #logFailure(bundle: string, err: unknown): void {
    this.#callgate.runtime.log.error('an evidence bundle could not be packed', { bundle, err })
  }

  async #end(
    job: BundleJob,
    state: BundleJob['state'],
    problem: string | undefined,
    packed?: BundleJob['packed'],
  ): Promise<void> {
    const endedAt = this.#callgate.runtime.clock.now()
    const ended = { ...job, state, endedAt, packed, problem: problem && problems[problem] }
    if (!packed) {
      this.#jobs.set(job.id, ended)
      await this.#files.removeZip(job)
    }
    // Without this it is known until the server ends; then it is said to have been interrupted.
    await this.#files.write(ended).catch((err: unknown) => this.#logFailure(job.id, err))
    if (this.#jobs.has(job.id)) this.#jobs.set(job.id, ended)
    else await this.#files.remove(job)
  }

  async #write(job: BundleJob): Promise<void> {
    try {
      await this.#files.write(job)
    } catch (cause) {
      const message = 'What was asked for could not be stored: is the disk of the data folder full?'
      throw new AppError('not-available', message, { cause })
    }
  }
}

async function* readParts(path: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path, { highWaterMark: 262_144 })
}

function isAbout(
  { accountId }: { readonly accountId: string | undefined },
  job: Pick<BundleJob, 'accountId'>,
): boolean {
  return accountId === undefined || accountId === job.accountId
}

const countAbout = (erasures: readonly Erasure[], job: BundleJob): number =>
  erasures.filter((erasure) => isAbout(erasure, job)).length

function findLeftOut(caller: Caller): BundleJob['without'] {
  if (caller.accountId !== mainAccountId) return 'others'
  return isOperator(caller) ? undefined : 'settings'
}

function requireMayExport(caller: Caller): void {
  if (caller.role !== 'Agent' && caller.limits.projects === 'any') return
  const rule = 'evidence needs role Supervisor or Administrator and no limit to projects'
  throw new AppError('forbidden', `${nameCaller(caller)}: ${rule}`)
}

function notAtEdge(): AppError {
  const rule =
    'This server is an edge: what decisions rest on, and who asked, is stored at its center'
  return new AppError(
    'not-available',
    `${rule}. Ask one of edge.centers; what the journal here has is packed by callgate evidence pack on this machine`,
  )
}
