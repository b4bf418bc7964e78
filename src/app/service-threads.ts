/**
 * The threads that parse and answer long requests, so that the thread that decides never does
 * (`http.serviceThreads`). If a thread ends, its requests fail, what they have not committed is rolled back,
 * and the next request starts it anew.
 */
import { type ResourceLimits, Worker } from 'node:worker_threads'
import type { BytesReply, StreamedReply } from '../api/endpoint.js'
import { shareLists } from '../data/number-list/shared-lists.js'
import { AppError } from '../errors.js'
import type { ReceivedRequest, RequestAnswerer, RequestEvents } from '../http/route-handler.js'
import { connectPort, listMovableBuffers, type PortCalls } from '../runtime/port-calls.js'
import type { Callgate } from './callgate.js'
import { type Configuration, toConfiguration } from './configuration.js'
import { createNumberQuestions } from './numbers/number-questions.js'
import { createEventPort } from './platform-events/event-port.js'
import type {
  MainThreadFunctions,
  MainThreadWrites,
  RequestMessage,
  ServiceThreadFunctions,
  ServiceThreadOptions,
  StreamedReplyMessage,
} from './service-thread.js'
import { readStorageSettings } from './storage-settings.js'

interface ServiceThreadsOptions {
  readonly count: number
  /** See {@link ServedJournal.confirm}. */
  readonly confirmAudited?: () => Promise<void>
  /** What the threads run; tests pass another module. */
  readonly module?: URL
  /** The limits of Node.js when absent. */
  readonly resourceLimits?: ResourceLimits
}

interface RunningThread {
  readonly worker: Worker
  readonly calls: PortCalls<ServiceThreadFunctions>
  requests: number
}

export class ServiceThreads implements RequestAnswerer {
  readonly #callgate: Callgate
  readonly #options: ServiceThreadsOptions & { readonly module: URL }
  readonly #storageSettings: ServiceThreadOptions['storage']
  readonly #running = new Set<RunningThread>()
  /** Requests in progress, by id. */
  readonly #events = new Map<number, RequestEvents>()
  readonly #unsubscribe: readonly (() => void)[]
  #lastRequestId = 0
  #isClosing = false

  constructor(callgate: Callgate, options: ServiceThreadsOptions) {
    this.#callgate = callgate
    this.#storageSettings = readStorageSettings(callgate.settings)
    this.#options = { module: new URL('./service-thread.js', import.meta.url), ...options }
    const { data, changes } = callgate
    // Messages arrive in their order, so a later request uses what is sent here.
    this.#unsubscribe = [
      data.lists.onChange(() => {
        const lists = shareLists(data.lists)
        this.#send((calls) => calls.call('replaceLists', lists))
      }),
      changes.subscribe({
        numbersChanged: () => undefined,
        everythingChanged: () => {
          const { inForce } = data.plan
          this.#send((calls) => calls.call('everythingChanged', inForce))
        },
      }),
    ]
  }

  async answer(
    endpointName: string,
    { body, ...request }: ReceivedRequest,
    events: RequestEvents,
  ): Promise<BytesReply | StreamedReply> {
    // A thread that starts now would open whatever is at the path.
    const fault = await this.#callgate.storage.checkFault()
    if (fault !== undefined) throw new AppError('not-available', fault)
    const thread = this.#chooseThread()
    this.#lastRequestId += 1
    const id = this.#lastRequestId
    const message: RequestMessage = { id, endpointName, request, body }
    this.#events.set(id, events)
    thread.requests += 1
    try {
      const reply = await thread.calls.call('answer', message, listMovableBuffers(body))
      if ('trailerNames' in reply) return toStreamedReply(reply, id, thread.calls)
      const { buffer, byteOffset, length } = reply.bytes
      return { ...reply, bytes: Buffer.from(buffer, byteOffset, length) }
    } finally {
      thread.requests -= 1
      this.#events.delete(id)
    }
  }

  /** A request that comes later is answered by this configuration. */
  reconfigure(configuration: Configuration): void {
    this.#send((calls) => calls.call('reconfigure', configuration))
  }

  /** Ends requests in progress; to be called once the server has closed. */
  async close(): Promise<void> {
    this.#isClosing = true
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    await Promise.all([...this.#running].map(({ worker }) => worker.terminate()))
  }

  /** The thread with the fewest requests. Another one is started only if all are busy. */
  #chooseThread(): RunningThread {
    const [least] = [...this.#running].sort((one, other) => one.requests - other.requests)
    const isFull = this.#running.size >= this.#options.count
    return least && (least.requests === 0 || isFull) ? least : this.#start()
  }

  #start(): RunningThread {
    const { settings, storage, data, changes, metrics, runtime, factSources } = this.#callgate
    const { acknowledgedOptOuts } = this.#callgate
    const storePort = storage.connectThread()
    const writes = listWrites(this.#callgate)
    /** The lists of writes whose items are being sent. */
    const lists = new Map<number, Record<string, unknown[]>>()
    const workerData: ServiceThreadOptions = {
      ...toConfiguration(settings, data),
      lists: shareLists(data.lists),
      numberingInForce: data.plan.inForce,
      storage: this.#storageSettings,
      storePort,
    }
    const { module, resourceLimits, confirmAudited = async () => undefined } = this.#options
    const worker = new Worker(module, {
      workerData,
      transferList: storePort ? [storePort] : [],
      ...(resourceLimits && { resourceLimits }),
    })
    const calls = connectPort<MainThreadFunctions, ServiceThreadFunctions>(worker, {
      admitNumbers: ({ requestId, count }) => this.#events.get(requestId)?.admitNumbers(count),
      reportIgnoredFields: ({ requestId, names }) =>
        this.#events.get(requestId)?.onIgnoredFields(names),
      numbersChanged: ({ accountId, numbers }) => changes.numbersChanged(accountId, numbers),
      recordOptOutEnforced: metrics.recordOptOutEnforced,
      confirmAudited: () => confirmAudited(),
      rememberOptOut: (optOut) => acknowledgedOptOuts.remember(optOut),
      findReassigned: ({ accountId, items }) =>
        factSources.sourcesFor(accountId).lookups.reassigned(items),
      ...createNumberQuestions(this.#callgate),
      ...createEventPort(this.#callgate),
      addItems: ({ writeId, field, items }) => {
        const ofWrite = lists.get(writeId) ?? {}
        lists.set(writeId, ofWrite)
        ofWrite[field] ??= []
        ofWrite[field].push(...items)
      },
      write: ({ writeId, name, caller, request }) => {
        const whole = { ...request, ...lists.get(writeId) }
        lists.delete(writeId)
        return writes[name](caller, whole as never)
      },
    })
    const thread: RunningThread = { worker, calls, requests: 0 }
    let failure = new Error('the service thread has ended')
    worker.on('error', (cause) => {
      failure = cause instanceof Error ? cause : new Error(String(cause))
    })
    worker.on('exit', () => {
      this.#running.delete(thread)
      if (!this.#isClosing) {
        metrics.countServiceThreadFailure()
        const { requests } = thread
        runtime.log.error('a service thread has ended; its requests fail', {
          requests,
          err: failure,
        })
        // It may have committed a change that it could not announce. A write waits for that commit.
        void storage
          .probeWrite()
          .catch(() => undefined)
          .finally(() => changes.everythingChanged())
      }
      calls.fail(failure)
    })
    this.#running.add(thread)
    return thread
  }

  #send(call: (calls: RunningThread['calls']) => Promise<void>): void {
    // A thread that has ended is started with the present data.
    for (const { calls } of this.#running) void call(calls).catch(() => undefined)
  }
}

function listWrites({ service, warmup }: Callgate): MainThreadWrites {
  const { monitor, scans } = service
  return {
    removeMonitored: (caller, request) => monitor.remove(caller, request),
    submitScan: (caller, request) => scans.submit(caller, request),
    startWarmup: (_caller, request) => warmup.start(request),
  }
}

function toStreamedReply(
  head: StreamedReplyMessage,
  requestId: number,
  calls: RunningThread['calls'],
): StreamedReply {
  let trailers: ReturnType<StreamedReply['trailers']> | undefined
  async function* readParts(): AsyncGenerator<string | Uint8Array> {
    try {
      for (;;) {
        const next = await calls.call('nextPart', requestId)
        if ('trailers' in next) {
          trailers = next.trailers
          return
        }
        yield next.part
      }
    } finally {
      if (!trailers) void calls.call('endParts', requestId).catch(() => undefined)
    }
  }
  return { ...head, parts: readParts(), trailers: () => trailers ?? {} }
}
