/**
 * A thread for work that waits for a disk or takes long, so that the thread that decides never does. Requests
 * are carried out one at a time, in their order.
 */
import { parentPort, type ResourceLimits, Worker, workerData } from 'node:worker_threads'

export interface Thread<Request, Reply> {
  /** Rejects as the work does, or when the thread ends before it replies; the next request starts it anew. */
  ask(request: Request): Promise<Reply>
  /** Ends after the requests so far. */
  close(): Promise<void>
  /** Ends at once; pending and later requests reject. */
  terminate(): Promise<void>
}

/** What a thread does, made from options that can be copied to another thread. */
export interface ThreadWork<Options, Request, Reply> {
  /** The module that calls {@link runInThread} with this work, as its `import.meta.url`. */
  readonly module: string
  create(options: Options): {
    handle(request: Request): Reply | Promise<Reply>
    close(): void | Promise<void>
  }
}

type Answer<Reply> =
  | { readonly ok: true; readonly reply: Reply }
  | { readonly ok: false; readonly message: string; readonly code: string | undefined }

interface StartData<Options> {
  readonly threadModule: string
  readonly options: Options
}

export function startThread<Options, Request, Reply>(
  work: ThreadWork<Options, Request, Reply>,
  options: Options,
  resourceLimits?: ResourceLimits,
): Thread<Request, Reply> {
  // Node.js loads compiled files in a thread. Run from its sources, as in tests, the program does the
  // same work in its one thread.
  return work.module.endsWith('.ts')
    ? startInline(work, options)
    : new WorkerThread<Options, Request, Reply>(work.module, options, resourceLimits)
}

function startInline<Options, Request, Reply>(
  work: ThreadWork<Options, Request, Reply>,
  options: Options,
): Thread<Request, Reply> {
  let worker: ReturnType<typeof work.create> | undefined
  let isTerminated = false
  const close = async () => {
    await worker?.close()
    worker = undefined
  }
  return {
    async ask(request) {
      if (isTerminated) throw createEndedError()
      worker ??= work.create(options)
      return worker.handle(request)
    },
    close,
    terminate() {
      isTerminated = true
      return close()
    },
  }
}

interface PendingRequest<Reply> {
  readonly resolve: (reply: Reply) => void
  readonly reject: (cause: Error) => void
}

class WorkerThread<Options, Request, Reply> implements Thread<Request, Reply> {
  readonly #module: string
  readonly #options: Options
  readonly #resourceLimits: ResourceLimits | undefined
  /** In their order, which is that of the answers. */
  readonly #pending: PendingRequest<Reply>[] = []
  #worker: Worker | undefined
  #isTerminated = false

  constructor(module: string, options: Options, resourceLimits: ResourceLimits | undefined) {
    this.#module = module
    this.#options = options
    this.#resourceLimits = resourceLimits
  }

  ask(request: Request): Promise<Reply> {
    if (this.#isTerminated) return Promise.reject(createEndedError())
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject })
      this.#worker ??= this.#start()
      this.#worker.postMessage(request)
    })
  }

  close(): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return Promise.resolve()
    return new Promise((resolve) => {
      worker.once('exit', () => resolve())
      worker.postMessage(closeRequest)
    })
  }

  async terminate(): Promise<void> {
    this.#isTerminated = true
    await this.#worker?.terminate()
  }

  #start(): Worker {
    const data: StartData<Options> = { threadModule: this.#module, options: this.#options }
    const resourceLimits = this.#resourceLimits
    const worker = new Worker(new URL(this.#module), {
      workerData: data,
      ...(resourceLimits && { resourceLimits }),
    })
    let failure = createEndedError()
    worker.on('message', (answer: Answer<Reply>) => {
      const pending = this.#pending.shift()
      if (answer.ok) pending?.resolve(answer.reply)
      else pending?.reject(Object.assign(new Error(answer.message), { code: answer.code }))
    })
    worker.on('error', (cause) => {
      failure = cause instanceof Error ? cause : new Error(String(cause))
    })
    worker.on('exit', () => {
      this.#worker = undefined
      for (const { reject } of this.#pending.splice(0)) reject(failure)
    })
    return worker
  }
}

const createEndedError = () => new Error('the thread has ended')

const closeRequest = 'close'

/** Does the work if this module was started as a thread for it; otherwise nothing. */
export function runInThread<Options, Request, Reply>(
  work: ThreadWork<Options, Request, Reply>,
): void {
  const started: StartData<Options> | undefined = workerData
  const port = parentPort
  if (port === null || started?.threadModule !== work.module) return
  const worker = work.create(started.options)
  let last = Promise.resolve()
  port.on('message', (request: Request | typeof closeRequest) => {
    last = last.then(async () => {
      if (request === closeRequest) {
        await worker.close()
        port.close()
      } else port.postMessage(await answer(() => worker.handle(request)))
    })
  })
}

async function answer<Reply>(work: () => Reply | Promise<Reply>): Promise<Answer<Reply>> {
  try {
    return { ok: true, reply: await work() }
  } catch (cause) {
    const { message, code } = cause as NodeJS.ErrnoException
    return { ok: false, message, code }
  }
}
