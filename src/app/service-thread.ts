/**
 * A thread that parses and answers long requests: the same routes over the same services as in the main
 * thread, with its own connection to the database, which cannot write. Started by `service-threads.ts`.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { StaticPage, StreamedReply } from '../api/endpoint.js'
import type { Route } from '../api/route.js'
import type { Settings } from '../config/settings.js'
import { CallingRules } from '../data/calling-rules/calling-rules.js'
import { type ListsMessage, SharedLists } from '../data/number-list/shared-lists.js'
import type { Caller } from '../domain/caller.js'
import { ChangeNotifier } from '../domain/change-notifier.js'
import { answerReceived, type ReceivedRequest } from '../http/route-handler.js'
import { encodeReply } from '../http/send-reply.js'
import { connectPort, listMovableBuffers, type PortCalls } from '../runtime/port-calls.js'
import { nodeRuntime } from '../runtime/runtime.js'
import { lowerThreadPriority } from '../runtime/thread.js'
import { Accounts } from '../service/accounts/accounts.js'
import { ProjectScopes } from '../service/projects/project-scope.js'
import type { SandboxFile } from '../service/sandbox/sandbox-file.js'
import type { CallServices } from '../service/service.js'
import { createCallRoutes } from '../service/service-routes.js'
import { ChangeHead } from '../storage/change-head.js'
import { openDatabase } from '../storage/engine.js'
import type { OpenDatabase } from '../storage/open-database.js'
import {
  type CallData,
  createAccountViews,
  createDecisionServices,
  openCallData,
} from './service.js'

/** What a thread starts with. The main thread has read the files, which may have changed since. */
export interface ServiceThreadOptions {
  readonly settings: Settings
  readonly lists: ListsMessage
  readonly rules: CallingRules['document']
  readonly sandboxFile: SandboxFile
}

export interface RequestMessage {
  /** Identifies the request in later calls. */
  readonly id: number
  readonly endpointName: string
  readonly request: Omit<ReceivedRequest, 'body'>
  readonly body: Uint8Array | undefined
}

/** A reply whose parts are asked for with `nextPart`. */
export type StreamedReplyMessage = Omit<StreamedReply, 'parts' | 'trailers'>

export type ReplyPart =
  | { readonly part: string }
  | { readonly trailers: ReturnType<StreamedReply['trailers']> }

interface Stream extends Pick<StreamedReply, 'trailers'> {
  readonly parts: AsyncIterator<string>
}

type BytesMessage = Omit<StaticPage, 'bytes'> & { readonly bytes: Uint8Array }

/** What the main thread calls. */
export interface ServiceThreadFunctions {
  answer(
    message: RequestMessage,
    transfer: ArrayBuffer[],
  ): Promise<BytesMessage | StreamedReplyMessage>
  nextPart(requestId: number): Promise<ReplyPart>
  /** Of a reply whose client has gone. */
  endParts(requestId: number): Promise<void>
  replaceLists(lists: ListsMessage): void
  /** Projects have changed. */
  forgetScopes(): void
}

/** What a thread calls. Only the main thread counts and writes. */
export interface MainThreadFunctions {
  /** Rejects to refuse the numbers. */
  admitNumbers(message: { readonly requestId: number; readonly count: number }): void
  reportIgnoredFields(message: {
    readonly requestId: number
    readonly names: readonly string[]
  }): void
  addOptOuts: WriteFunction<CallServices['internalDnc']['add']>
  removeOptOuts: WriteFunction<CallServices['internalDnc']['remove']>
  recordConsent: WriteFunction<CallServices['consent']['record']>
  removeConsent: WriteFunction<CallServices['consentRecords']['remove']>
}

type WriteFunction<Write extends (caller: Caller, request: never) => unknown> = (message: {
  readonly caller: Caller
  readonly request: Parameters<Write>[1]
}) => ReturnType<Write>

class ServiceThread implements ServiceThreadFunctions {
  readonly #main: PortCalls<MainThreadFunctions>
  readonly #data: CallData<SharedLists>
  readonly #projects: ProjectScopes
  readonly #routes: ReadonlyMap<string, Route>
  readonly #streams = new Map<number, Stream>()
  #reloaded: Promise<unknown> = Promise.resolve()

  constructor(
    port: MessagePort,
    storage: OpenDatabase,
    { settings, ...options }: ServiceThreadOptions,
  ) {
    const { clock, timers, randomBytes } = nodeRuntime
    this.#projects = new ProjectScopes(storage.reads, timers)
    this.#data = openCallData(settings, nodeRuntime, {
      lists: new SharedLists(options.lists),
      rules: new CallingRules(options.rules),
      sandboxFile: options.sandboxFile,
    })
    const context = {
      storage,
      projects: this.#projects,
      accounts: new Accounts({ storage, clock, randomBytes }),
      changes: new ChangeNotifier(),
      changeHead: new ChangeHead(storage.db, clock),
    }
    const views = createAccountViews(settings, nodeRuntime, this.#data)
    const services = this.#withWritesOfMain(createDecisionServices(context, this.#data, views))
    const { wrappedRows } = settings.callingHours
    const routes = createCallRoutes(services, { wrappedRows })
    this.#routes = new Map(routes.map((route) => [route.endpoint.name, route]))
    this.#main = connectPort<ServiceThreadFunctions, MainThreadFunctions>(port, this)
  }

  async answer(
    { id: requestId, endpointName, request, body }: RequestMessage,
    transfer: ArrayBuffer[],
  ): Promise<BytesMessage | StreamedReplyMessage> {
    const route = this.#routes.get(endpointName)
    if (!route) throw new TypeError(`endpoint '${endpointName}' has no route in this thread`)
    await this.#reloadNumbering()
    const received = {
      ...request,
      body: body && Buffer.from(body.buffer, body.byteOffset, body.length),
    }
    const reply = await answerReceived(route, received, {
      admitNumbers: (count) => this.#main.call('admitNumbers', { requestId, count }),
      onIgnoredFields: (names) => void this.#main.call('reportIgnoredFields', { requestId, names }),
    })
    if ('parts' in reply) {
      const { parts, trailers, ...head } = reply
      this.#streams.set(requestId, { parts: parts[Symbol.asyncIterator](), trailers })
      return head
    }
    const encoded = await encodeReply(reply)
    transfer.push(...listMovableBuffers(encoded.bytes))
    return encoded
  }

  async nextPart(requestId: number): Promise<ReplyPart> {
    const stream = this.#streams.get(requestId)
    if (!stream) throw new TypeError(`request ${requestId} has no parts`)
    const next = await stream.parts.next()
    if (!next.done) return { part: next.value }
    this.#streams.delete(requestId)
    return { trailers: stream.trailers() }
  }

  async endParts(requestId: number): Promise<void> {
    await this.#streams.get(requestId)?.parts.return?.()
    this.#streams.delete(requestId)
  }

  replaceLists(lists: ListsMessage): void {
    this.#data.lists.replace(lists)
  }

  forgetScopes(): void {
    this.#projects.clear()
  }

  /** The services of this thread, except that the main thread writes. */
  #withWritesOfMain(services: CallServices): CallServices {
    const { internalDnc, consentRecords } = services
    return {
      ...services,
      internalDnc: {
        add: (caller, request) => this.#main.call('addOptOuts', { caller, request }),
        remove: (caller, request) => this.#main.call('removeOptOuts', { caller, request }),
        readStatus: (caller, request) => internalDnc.readStatus(caller, request),
        count: (caller, request) => internalDnc.count(caller, request),
      },
      consent: {
        record: (caller, request) => this.#main.call('recordConsent', { caller, request }),
      },
      consentRecords: {
        list: (caller, request) => consentRecords.list(caller, request),
        remove: (caller, request) => this.#main.call('removeConsent', { caller, request }),
      },
    }
  }

  /** One at a time. The main thread reports files that cannot be read. */
  #reloadNumbering(): Promise<unknown> {
    const reload = () => this.#data.plan.reloadIfChanged()
    this.#reloaded = this.#reloaded.then(reload).catch(() => undefined)
    return this.#reloaded
  }
}

/** Decisions are more urgent. */
const niceness = 10

if (parentPort) {
  lowerThreadPriority(niceness)
  const { settings }: ServiceThreadOptions = workerData
  const storage = await openDatabase({
    ...settings.storage,
    dataDir: settings.dataDir,
    createDatabase: false,
    readOnly: true,
    blockForLockMs: settings.storage.lockWaitMs,
  })
  new ServiceThread(parentPort, storage, workerData)
}
