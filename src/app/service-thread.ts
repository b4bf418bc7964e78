/**
 * A thread that parses and answers long requests, and those with long answers: the same routes over the
 * same services as in the main thread, with its own connection to the database for reads. Started by
 * `service-threads.ts`.
 */
import { getPriority, platform, setPriority } from 'node:os'
import { join } from 'node:path'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { BytesReply, StreamedReply } from '../api/endpoint.js'
import type { Route } from '../api/route.js'
import type { Settings } from '../config/settings.js'
import { type FactStore, openFactStore } from '../data/facts/fact-store.js'
import { ImportedFacts } from '../data/facts/imported-facts.js'
import { type ListsMessage, SharedLists } from '../data/number-list/shared-lists.js'
import type { NumberingInForce } from '../data/numbering/numbering-files.js'
import { type Caller, sandboxAccountId } from '../domain/caller.js'
import type { ChangeObserver } from '../domain/change-notifier.js'
import type { MaybePromise } from '../domain/compliance.js'
import type { LookupSource } from '../domain/lookups.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import type { RemovedNumber } from '../domain/reputation.js'
import type { ComplaintSource } from '../domain/spam-labels.js'
import { createEdgeDecisionsRoute } from '../edge/edge-decisions-route.js'
import { answerReceived, type ReceivedRequest } from '../http/route-handler.js'
import { encodeReply } from '../http/send-reply.js'
import { connectPort, listMovableBuffers, type PortCalls } from '../runtime/port-calls.js'
import { nodeRuntime } from '../runtime/runtime.js'
import type { AccountView } from '../service/account-view.js'
import { Accounts } from '../service/accounts/accounts.js'
import { ChangeRequests } from '../service/changes/change-requests.js'
import type { AcknowledgedOptOut } from '../service/internal-dnc/acknowledged-opt-outs.js'
import { CombinedComplaints } from '../service/lookups/combined-labels.js'
import { ReassignedChecks } from '../service/lookups/reassigned-checks.js'
import type { CallPort } from '../service/platform-events/call-port.js'
import { EventInbox } from '../service/platform-events/event-inbox.js'
import { ProjectScopes } from '../service/projects/project-scope.js'
import { distinctPages, NumberRecords } from '../service/reputation/number-records.js'
import { chooseByAccount } from '../service/sandbox/sandbox.js'
import { SandboxFacts } from '../service/sandbox/sandbox-facts.js'
import { readScanProgress } from '../service/scans/scans.js'
import type { BulkFactServices, CallServices } from '../service/service.js'
import { createBulkFactRoutes, createCallRoutes } from '../service/service-routes.js'
import type { WarmupRequest } from '../sources/warming/warmer.js'
import type { WarmupProgress } from '../sources/warming/warmup-job.js'
import { createWarmupStartRoute } from '../sources/warming/warmup-routes.js'
import { ChangeHead } from '../storage/change-head.js'
import { openDatabaseInThread } from '../storage/engine.js'
import type { ThreadDatabase, ThreadStorageSettings } from '../storage/open-database.js'
import type { Configuration } from './configuration.js'
import { getFactsFolder } from './data-folders.js'
import { openEvidenceRoutes } from './journal/open-evidence.js'
import { openSearchRoute, openStreamRoute, openUnloggedSearch } from './journal/open-search.js'
import { createListsRoutes } from './lists/lists-routes.js'
import type { NumberPageDeps } from './numbers/number-page.js'
import type { NumberQuestions } from './numbers/number-questions.js'
import { createNumberRoute } from './numbers/number-route.js'
import { createEventReaders, createEventRoutes } from './platform-events/event-routes.js'
import { createRulesRoute } from './rules/rules-route.js'
import {
  type AccountViews,
  type CallData,
  createAccountViews,
  createDecisionServices,
  openCallData,
  replaceRules,
} from './service.js'

/** What a thread starts with. The main thread has read the files, which may have changed since. */
export interface ServiceThreadOptions extends Configuration {
  readonly lists: ListsMessage
  readonly numberingInForce: NumberingInForce
  readonly storage: Omit<ThreadStorageSettings, 'port'>
  /** Of the database, which the main thread has open, if its engine has one. */
  readonly storePort: MessagePort | undefined
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
  | { readonly part: string | Uint8Array }
  | { readonly trailers: ReturnType<StreamedReply['trailers']> }

interface Stream extends Pick<StreamedReply, 'trailers'> {
  readonly parts: AsyncIterator<string | Uint8Array>
}

type BytesMessage = Omit<BytesReply, 'bytes'> & { readonly bytes: Uint8Array }

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
  /** Projects, and which prefixes are in force. */
  everythingChanged(numberingInForce: NumberingInForce): void
  /** The settings have been reloaded. */
  reconfigure(configuration: Configuration): void
}

/** What a thread calls. Only the main thread counts, asks a provider, and starts background work. */
export interface MainThreadFunctions extends NumberQuestions, CallPort {
  /** Rejects to refuse the numbers. */
  admitNumbers(message: { readonly requestId: number; readonly count: number }): void
  reportIgnoredFields(message: {
    readonly requestId: number
    readonly names: readonly string[]
  }): void
  /** Before a request that changed them is answered. */
  numbersChanged(message: {
    readonly accountId: string
    readonly numbers: readonly PhoneNumber[]
  }): void
  /** With the seconds it took. */
  recordOptOutEnforced(seconds: number): void
  /** Of a change that the thread has committed; rejects while it is not on disk in the journal. */
  confirmAudited(): Promise<void>
  /** Before it is acknowledged. */
  rememberOptOut(optOut: AcknowledgedOptOut): void
  findReassigned(message: {
    readonly accountId: string
    readonly items: Parameters<LookupSource['reassigned']>[0]
  }): ReturnType<LookupSource['reassigned']>
  /** Items of a list of a later {@link write}. */
  addItems(message: {
    readonly writeId: number
    readonly field: string
    readonly items: readonly unknown[]
  }): void
  write(message: WriteMessage): unknown
}

export interface WriteMessage {
  readonly writeId: number
  readonly name: keyof MainThreadWrites
  readonly caller: Caller
  /** Without its lists, whose items have been sent before. */
  readonly request: object
}

export interface MainThreadWrites {
  readonly removeMonitored: BulkFactServices['monitor']['remove']
  readonly submitScan: BulkFactServices['scans']['submit']
  readonly startWarmup: (caller: Caller, request: WarmupRequest) => MaybePromise<WarmupProgress>
}

/** The main thread reads a message in one go; so many items take it less than a millisecond. */
const maxItemsInMessage = 250

interface BulkFactDeps {
  readonly storage: ThreadDatabase
  readonly viewOf: (accountId: string) => AccountView
  readonly records: NumberRecords
}

interface NumberDeps extends BulkFactDeps {
  readonly complaintsFor: (accountId: string) => ComplaintSource
  readonly services: Pick<CallServices, 'consentHistories'>
}

class ServiceThread implements ServiceThreadFunctions {
  readonly #main: PortCalls<MainThreadFunctions>
  readonly #data: CallData<SharedLists>
  readonly #views: AccountViews
  readonly #projects: ProjectScopes
  readonly #routes: ReadonlyMap<string, Route>
  readonly #streams = new Map<number, Stream>()
  readonly #facts: FactStore
  #reloaded: Promise<unknown> = Promise.resolve()
  #lastWriteId = 0
  #settings: Settings

  constructor(
    port: MessagePort,
    storage: ThreadDatabase,
    { lists, numberingInForce, ...configuration }: ServiceThreadOptions,
  ) {
    const { settings } = configuration
    this.#settings = settings
    const { clock, timers, randomBytes } = nodeRuntime
    this.#projects = new ProjectScopes(storage.reads, timers)
    this.#data = openCallData(configuration, nodeRuntime, new SharedLists(lists))
    this.#data.plan.setInForce(numberingInForce)
    this.#facts = openFactStore({ folder: getFactsFolder(settings) })
    const accounts = new Accounts({ storage, clock, randomBytes })
    const context = {
      storage,
      runtime: nodeRuntime,
      projects: this.#projects,
      accounts,
      changes: this.#createChangeObserver(),
      changeHead: new ChangeHead(storage, clock),
      changeRequests: new ChangeRequests({ storage, clock, settings: settings.twoPeople }),
      onOptOutEnforced: (seconds: number) => void this.#main.call('recordOptOutEnforced', seconds),
      onOptOutStored: (optOut: AcknowledgedOptOut) => this.#main.call('rememberOptOut', optOut),
    }
    this.#views = createAccountViews(settings, nodeRuntime, this.#data)
    const viewOf = chooseByAccount(this.#views)
    const services = createDecisionServices(context, viewOf)
    const complaintsFor = this.#createComplaintSources()
    const records = new NumberRecords({
      storage,
      clock,
      countryOf: (accountId) => accounts.findCountry(accountId),
      complaintSourceFor: complaintsFor,
    })
    const { wrappedRows } = settings.callingHours
    const serviceCodes = new Set(settings.gate.serviceCodes)
    const routes = [
      ...createCallRoutes(services, { wrappedRows }),
      ...createBulkFactRoutes(this.#createBulkFactServices({ storage, viewOf, records })),
      createNumberRoute(
        this.#createNumberPageDeps({ storage, viewOf, records, complaintsFor, services }),
      ),
      ...createListsRoutes({ getSettings: () => this.#settings, clock, storage }),
      createRulesRoute({ getSettings: () => this.#settings, viewOf }),
      ...createEventRoutes(this.#createInbox(storage)),
      createEdgeDecisionsRoute(storage, join(settings.dataDir, 'journal')),
      openSearchRoute({ dataDir: settings.dataDir, storage, clock }),
      openStreamRoute({ dataDir: settings.dataDir, storage, clock }),
      ...openEvidenceRoutes({ settings, storage, clock }),
      createWarmupStartRoute((caller, request) => this.#write('startWarmup', caller, request), {
        serviceCodes,
      }),
    ]
    this.#routes = new Map(routes.map((route) => [route.endpoint.name, route]))
    this.#main = connectPort<ServiceThreadFunctions, MainThreadFunctions>(port, this)
    storage.onAudited(() => this.#main.call('confirmAudited', undefined))
  }

  async answer(
    { id: requestId, endpointName, request, body }: RequestMessage,
    transfer: ArrayBuffer[],
  ): Promise<BytesMessage | StreamedReplyMessage> {
    const route = this.#routes.get(endpointName)
    if (!route) throw new TypeError(`endpoint '${endpointName}' has no route in this thread`)
    await this.#reloadFiles()
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

  everythingChanged(numberingInForce: NumberingInForce): void {
    this.#projects.clear()
    this.#data.plan.setInForce(numberingInForce)
  }

  reconfigure(configuration: Configuration): void {
    this.#settings = configuration.settings
    replaceRules(configuration, nodeRuntime, { data: this.#data, views: this.#views })
  }

  /** The main thread has the caches. */
  #createChangeObserver(): ChangeObserver {
    return {
      numbersChanged: (accountId, numbers) =>
        this.#main.call('numbersChanged', { accountId, numbers }),
      everythingChanged: () => {
        throw new TypeError('only the main thread changes lists and settings')
      },
    }
  }

  #createComplaintSources(): (accountId: string) => ComplaintSource {
    const imported = new CombinedComplaints(
      [{ name: 'imported files', source: new ImportedFacts(this.#facts, nodeRuntime.clock) }],
      () => undefined,
    )
    return chooseByAccount<ComplaintSource>({
      real: imported,
      sandbox: new SandboxFacts(this.#data),
    })
  }

  #createInbox(storage: ThreadDatabase): EventInbox {
    return new EventInbox({
      storage,
      clock: nodeRuntime.clock,
      ...createEventReaders(this.#settings),
      port: {
        findCalledNumber: (call) => this.#main.call('findCalledNumber', call),
        noteOutcome: (report) => this.#main.call('noteOutcome', report),
        recordOptOut: (report) => this.#main.call('recordOptOut', report),
        forgetHeldNumbers: (account) => void this.#main.call('forgetHeldNumbers', account),
        reportPlatformEvent: (event) => void this.#main.call('reportPlatformEvent', event),
      },
    })
  }

  #createNumberPageDeps({
    storage,
    viewOf,
    records: monitor,
    complaintsFor,
    services: { consentHistories },
  }: NumberDeps): NumberPageDeps {
    const { clock } = nodeRuntime
    const { dataDir } = this.#settings
    return {
      getSettings: () => this.#settings,
      ...{ storage, projects: this.#projects, viewOf, clock },
      ...{ monitor, complaintsFor, consentHistories },
      search: openUnloggedSearch({ dataDir, storage, clock }),
      questions: {
        previewNumber: (preview) => this.#main.call('previewNumber', preview),
        findReassignedStatus: (question) => this.#main.call('findReassignedStatus', question),
        reportUnreadPart: (failure) => void this.#main.call('reportUnreadPart', failure),
      },
    }
  }

  #createBulkFactServices({ storage, viewOf, records }: BulkFactDeps): BulkFactServices {
    return {
      reassigned: new ReassignedChecks({
        projects: this.#projects,
        lookupSourceFor: (accountId) => ({
          reassigned: (items) => this.#main.call('findReassigned', { accountId, items }),
        }),
        clockOf: (accountId) => viewOf(accountId).clock,
        isSandbox: (accountId) => accountId === sandboxAccountId,
      }),
      monitor: {
        get: (caller, request) => records.get(caller, request),
        all: (caller, request) => records.all(caller, request),
        remove: async (caller, { numbers }) => {
          const removed: RemovedNumber[] = []
          for (const page of distinctPages(numbers)) {
            removed.push(...(await this.#write('removeMonitored', caller, { numbers: page })))
          }
          return removed
        },
      },
      scans: {
        submit: (caller, request) => this.#write('submitScan', caller, request),
        status: (caller, request) => readScanProgress(storage.db, caller, request),
      },
    }
  }

  /** Sends the items of lists before, a part in each turn of the main thread's event loop. */
  async #write<Name extends keyof MainThreadWrites>(
    name: Name,
    caller: Caller,
    request: Parameters<MainThreadWrites[Name]>[1],
  ): Promise<Awaited<ReturnType<MainThreadWrites[Name]>>> {
    this.#lastWriteId += 1
    const writeId = this.#lastWriteId
    const rest: Record<string, unknown> = { ...request }
    for (const [field, items] of Object.entries(request)) {
      if (!Array.isArray(items)) continue
      delete rest[field]
      for (let from = 0; from === 0 || from < items.length; from += maxItemsInMessage) {
        const part = items.slice(from, from + maxItemsInMessage)
        await this.#main.call('addItems', { writeId, field, items: part })
      }
    }
    const result = await this.#main.call('write', { writeId, name, caller, request: rest })
    return result as Awaited<ReturnType<MainThreadWrites[Name]>>
  }

  /** One at a time. The main thread reports files that cannot be read. */
  #reloadFiles(): Promise<unknown> {
    const reload = async () => {
      this.#facts.refresh()
      await this.#data.plan.reloadIfChanged()
    }
    this.#reloaded = this.#reloaded.then(reload).catch(() => undefined)
    return this.#reloaded
  }
}

/** Decisions are more urgent. A process that has a lower priority keeps it: raising one may be forbidden. */
const niceness = Math.max(10, getPriority())

if (parentPort) {
  // Elsewhere it would be that of the whole process.
  if (platform() === 'linux') setPriority(niceness)
  const { storage: stored, storePort }: ServiceThreadOptions = workerData
  const storage = await openDatabaseInThread({ ...stored, port: storePort })
  new ServiceThread(parentPort, storage, workerData)
}
