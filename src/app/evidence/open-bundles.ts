/** Opens the evidence bundles of a server. What packs and keeps them is loaded when one is asked for, or was. */
import {
  askBundleEndpoint,
  type BundleBody,
  bundleFileEndpoint,
  deleteBundleEndpoint,
  listBundlesEndpoint,
  readBundleEndpoint,
} from '../../api/gate/evidence-bundles.js'
import { createRoute, type Route } from '../../api/route.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import { isPresent } from '../../runtime/folders.js'
import { BackgroundTask } from '../../service/background/background-task.js'
import type { Callgate } from '../callgate.js'
import { resolveBundlesFolder } from '../data-folders.js'
import type { BundleJobs } from './bundle-jobs.js'
import { type BundleJob, keepMs } from './job-files.js'

/** For the journal, the database and what else a server writes. */
const usualMinFreeBytes = 268_435_456

export interface Bundles {
  readonly routes: readonly Route[]
  /** Packs them one after the other. */
  readonly task: Pick<BackgroundTask, 'lastRun' | 'isRunning'>
  /** Sees to those of a server that has ended, or was killed. */
  start(): void
  close(): Promise<void>
}

export function openBundles(callgate: Callgate, minFreeBytes = usualMinFreeBytes): Bundles {
  const { settings, runtime, changes } = callgate
  let opened: Promise<BundleJobs> | undefined
  const open = (): Promise<BundleJobs> => {
    opened ??= load(callgate, { minFreeBytes, onWaiting: wake }).catch((cause) => {
      opened = undefined
      throw cause
    })
    return opened
  }
  const task = new BackgroundTask({
    run: async () => await (await open()).run(),
    timers: runtime.timers,
    onError: (err) => runtime.log.error('evidence bundles could not be seen to', { err }),
  })
  const wake = () => {
    task.start()
    task.wake()
  }
  // An erasure is announced so.
  changes.subscribe({
    numbersChanged: () => undefined,
    everythingChanged: () => opened && wake(),
  })
  return {
    routes: createRoutes(open),
    task,
    start() {
      if (isPresent(resolveBundlesFolder(settings))) task.start()
    },
    async close() {
      await Promise.all([task.close(), opened?.then((jobs) => jobs.close())])
    },
  }
}

async function load(...[callgate, options]: Parameters<typeof BundleJobs.open>) {
  const jobs = await import('./bundle-jobs.js')
  return await jobs.BundleJobs.open(callgate, options)
}

function createRoutes(open: () => Promise<BundleJobs>): readonly Route[] {
  return [
    createRoute(askBundleEndpoint, async (caller, request) => {
      const jobs = await open()
      return toBody(jobs, await jobs.ask(caller, request))
    }),
    createRoute(listBundlesEndpoint, async (caller) => {
      const jobs = await open()
      return { bundles: jobs.list(caller).map((job) => toBody(jobs, job)) }
    }),
    createRoute(readBundleEndpoint, async (caller, { id }) => {
      const jobs = await open()
      return toBody(jobs, jobs.find(caller, id))
    }),
    createRoute(bundleFileEndpoint, async (caller, { id }) => (await open()).openFile(caller, id)),
    createRoute(deleteBundleEndpoint, async (caller, { id, reason }) => {
      await (await open()).remove(caller, id, reason)
      return { deleted: true } as const
    }),
  ]
}

function toBody(jobs: BundleJobs, job: BundleJob): BundleBody {
  const { id, state, number = null, reason, askedBy, askedAt, problem = null, packed } = job
  const progress = jobs.findProgress(job)
  return {
    ...{ id, state, number, from: toText(job.from), to: toText(job.to), reason, askedBy },
    ...{ askedAt: formatInstant(askedAt), startedAt: toText(job.startedAt) },
    ...{ endedAt: toText(job.endedAt), deletedAt: formatInstant(askedAt + keepMs), problem },
    percent: progress === undefined ? null : Math.floor(progress * 100),
    origin: packed?.origin ?? null,
    bytes: packed?.bytes ?? null,
    sha256: packed?.sha256 ?? null,
    decisions: packed?.decisions ?? null,
    records: packed?.records ?? null,
    leftOut: job.without ?? null,
  }
}

const toText = (at: Instant | undefined) => (at === undefined ? null : formatInstant(at))
