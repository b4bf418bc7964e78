/** Builds what every command needs: the database, accounts, keys and projects. */

import { readKeyFile } from '../config/secret-file.js'
import type { Settings } from '../config/settings.js'
import { version } from '../config/version.js'
import { type Author, mainAccountId, sandboxAccountId } from '../domain/caller.js'
import { ChangeNotifier } from '../domain/change-notifier.js'
import type { Clock } from '../domain/time/clock.js'
import type { EdgeFeed } from '../edge/edge-feed.js'
import { AppError, DataFileError, getErrorMessage } from '../errors.js'
import { createFindToday, type FindToday } from '../gate/journal/removal/journal-day.js'
import type { Runtime } from '../runtime/runtime.js'
import { Abandonment } from '../service/accounts/abandonment.js'
import { Accounts } from '../service/accounts/accounts.js'
import { ApiKeys } from '../service/accounts/api-keys.js'
import { Approvals } from '../service/accounts/approvals.js'
import { Attempts } from '../service/accounts/attempts.js'
import { CallerIds } from '../service/accounts/caller-ids.js'
import { PauseStore } from '../service/accounts/pauses.js'
import { ChangeRequests } from '../service/changes/change-requests.js'
import { KeyUses } from '../service/keys/key-uses.js'
import { Projects } from '../service/projects/projects.js'
import { GuardedSender } from '../service/webhooks/http-sender/guarded-sender.js'
import type { WebhookObserver } from '../service/webhooks/webhook-deliveries.js'
import type { AttemptOutcome } from '../service/webhooks/webhook-retry-policy.js'
import { Webhooks } from '../service/webhooks/webhooks.js'
import { readInstallation } from '../storage/audit/installation.js'
import { ChangeHead } from '../storage/change-head.js'
import { openDatabase } from '../storage/engine.js'
import { migrateSchema } from '../storage/migrate.js'
import type { OpenDatabase } from '../storage/open-database.js'
import { prepareDataFolder } from './data-folders.js'
import { RecentCalls } from './status/recent-calls.js'
import { readStorageSettings } from './storage-settings.js'

/** The database with accounts, keys and projects, which is all that the smaller commands need. */
export interface AppContext {
  readonly settings: Settings
  readonly runtime: Runtime
  readonly storage: OpenDatabase
  /** Random name that the database, the data folder and the journal have. */
  readonly installation: string
  /** Why nothing that is stored can be relied on, for people; see `journal/parts.ts`. */
  readonly shut: { problem: string | undefined }
  readonly changes: ChangeNotifier
  readonly changeHead: ChangeHead
  /** The monotonic clock for expiry. */
  readonly expiryClock: Clock
  /** The day for every removal by age. */
  readonly findToday: FindToday
  readonly accounts: Accounts
  readonly keys: ApiKeys
  readonly pauses: PauseStore
  readonly callerIds: CallerIds
  readonly abandonment: Abandonment
  /** Counts the calls that keys were given. */
  readonly attempts: Attempts
  readonly recentCalls: RecentCalls
  readonly keyUses: KeyUses
  readonly approvals: Approvals
  /** Of changes that need two people. */
  readonly changeRequests: ChangeRequests
  readonly projects: Projects
  /** Stores webhook events; sends them once a server has started it. */
  readonly webhooks: Webhooks
  readonly webhookObserver: WebhookObserverRelay
  close(): Promise<void>
}

export interface OpenAppOptions {
  /** Create a new database, even in a folder that once had one; fails if one exists. */
  readonly init?: boolean | undefined
  /** Who runs a command. */
  readonly author?: Author | undefined
}

/** Opens the database, makes its schema if it is empty, and creates the two built-in accounts if missing. */
export async function openAppContext(
  settings: Settings,
  runtime: Runtime,
  { init = false, author }: OpenAppOptions = {},
): Promise<AppContext> {
  const { clock, timers } = runtime
  prepareDataFolder(settings)
  const opened = await openDatabase({
    ...readStorageSettings(settings),
    createDatabase: settings.storage.createDatabase,
    init,
    author,
    blockForLockMs: runtime.canBlock ? settings.storage.lockWaitMs : 0,
    inThread: !runtime.canBlock,
  })
  try {
    const edge = runtime.canBlock ? undefined : await openEdge(settings, runtime, opened)
    const storage = edge ? { ...opened, feed: edge } : opened
    await migrateDatabase(storage)
    await requireFolderOfKind(storage)
    const { installation } = await readInstallation(storage.db)
    storage.markInitialized(installation)
    const { db, reads, retryWhileLocked, author: by } = storage
    const changes = new ChangeNotifier()
    const changeHead = new ChangeHead(storage, clock)
    await changeHead.refresh()
    const accounts = new Accounts({ storage, clock, randomBytes: runtime.randomBytes })
    await accounts.ensure({ id: mainAccountId, kind: 'real', name: 'Main account' })
    await accounts.ensure({ id: sandboxAccountId, kind: 'sandbox', name: 'Sandbox' })
    const expiryClock = changeHead.createExpiryClock(timers)
    const { randomBytes } = runtime
    const keyUses = new KeyUses(storage, clock)
    const keys = new ApiKeys({
      db,
      reads,
      retryWhileLocked,
      author: by,
      clock: expiryClock,
      timers,
      randomBytes,
      uses: keyUses,
    })
    const pauses = new PauseStore({ storage, clock, timers })
    const callerIds = new CallerIds({ storage, clock, timers })
    const abandonment = new Abandonment({ storage, clock, timers })
    const findToday = createFindToday(settings.dataDir)
    const webhookObserver = new WebhookObserverRelay()
    const webhooks = createWebhooks({
      settings,
      runtime,
      storage,
      accounts,
      observer: webhookObserver,
      findToday,
    })
    const attempts = new Attempts(storage, webhooks, edge?.counterOf.bind(edge))
    const approvals = new Approvals({ storage, clock })
    const changeRequests = new ChangeRequests({ storage, clock, settings: settings.twoPeople })
    const projects = new Projects({
      ...{ storage, clock, timers, changes, webhooks, changeRequests },
      mayWidenLaw: settings.gate.projectMayWiden,
    })
    const close = async () => {
      // A missing or locked database must not prevent the program from exiting.
      await changeHead.writeBack().catch((err: unknown) => {
        runtime.log.warn('the time of the newest stored record could not be written at shutdown', {
          err,
        })
      })
      await keyUses.store().catch((err: unknown) => {
        runtime.log.warn('when keys were last used could not be written at shutdown', { err })
      })
      await edge?.close()
      await storage.close()
    }
    const base = {
      settings: await keepApproved(settings, storage, runtime),
      ...{ runtime, storage, installation, changes, changeHead, expiryClock, findToday },
      ...{ accounts, keys },
      ...{ keyUses, pauses, callerIds, abandonment, attempts, approvals, changeRequests, projects },
      ...{ shut: { problem: undefined }, recentCalls: new RecentCalls(timers) },
    }
    return { ...base, webhooks, webhookObserver, close }
  } catch (cause) {
    await opened.close()
    throw cause
  }
}

/** Without the exceptions of the policy that need a second person, and have none. */
async function keepApproved(
  settings: Settings,
  { db }: OpenDatabase,
  { log }: Runtime,
): Promise<Settings> {
  if (!settings.twoPeople.for.includes('allow-unknown')) return settings
  const changes = await import('./changes/policy-changes.js')
  const unapproved = await changes.findUnapproved(settings, db)
  for (const change of unapproved) {
    log.warn(changes.describeUnapproved(change), { fix: changes.howToApprove })
  }
  return changes.blockUnknown(settings, unapproved)
}

async function migrateDatabase(storage: OpenDatabase): Promise<void> {
  try {
    await migrateSchema(storage)
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    throw new DataFileError(storage.path, getErrorMessage(cause), cause)
  }
}

/** A copy must not be taken for a database of its own, nor the other way round. Throws {@link DataFileError}. */
async function requireFolderOfKind({ db, traits, path }: OpenDatabase): Promise<void> {
  if (traits.isShared) return
  const copy = await db.selectFrom('edge_copy').select('account_id').executeTakeFirst()
  if (copy && !traits.isCopy) {
    const advice = 'Set edge.centers, or use another data folder'
    throw new DataFileError(path, `it is the copy of an edge, but edge.centers is empty. ${advice}`)
  }
  if (copy || !traits.isCopy) return
  const key = await db.selectFrom('api_keys').select('id').limit(1).executeTakeFirst()
  if (key === undefined) return
  const problem = 'it has keys and perhaps opt-outs of its own, which an edge would replace'
  throw new DataFileError(path, `${problem}. Use a new data folder for the edge`)
}

/** Follows the center, if this server is an edge. */
async function openEdge(
  { edge: { centers, loginIdFile } }: Settings,
  { log, random }: Runtime,
  storage: OpenDatabase,
): Promise<EdgeFeed | undefined> {
  if (loginIdFile === undefined || centers.length === 0) return undefined
  const loginId = readKeyFile(loginIdFile, 'edge.loginIdFile')
  const { EdgeFeed } = await import('../edge/edge-feed.js')
  return new EdgeFeed({ centers, loginId, loginIdFile, storage, log, random })
}

/** Forwards webhook events to an observer that is set later. */
class WebhookObserverRelay implements WebhookObserver {
  #listener: WebhookObserver | undefined

  setObserver(listener: WebhookObserver): void {
    this.#listener = listener
  }

  onAttempt(outcome: AttemptOutcome): void {
    this.#listener?.onAttempt(outcome)
  }

  onPending(count: number): void {
    this.#listener?.onPending(count)
  }
}

interface WebhookDeps
  extends Pick<AppContext, 'settings' | 'runtime' | 'storage' | 'accounts' | 'findToday'> {
  readonly observer: WebhookObserverRelay
}

function createWebhooks({
  settings,
  runtime,
  storage,
  accounts,
  observer,
  findToday,
}: WebhookDeps): Webhooks {
  const { clock, timers, random, randomBytes, log } = runtime
  const { allow, ...sending } = settings.webhooks
  return new Webhooks({
    storage,
    clock,
    timers,
    random,
    randomBytes,
    sender: new GuardedSender({ allow, timers }),
    getSecret: (accountId) => accounts.webhookSecret(accountId),
    findToday,
    settings: { ...sending, version },
    observer: {
      onAttempt: (outcome) => observer.onAttempt(outcome),
      onPending: (count) => observer.onPending(count),
      onFailure: (event) =>
        log.warn('a webhook could not be delivered and is not retried', { ...event }),
    },
    onError: (cause) => log.error('webhooks could not be processed; trying again', { err: cause }),
  })
}
