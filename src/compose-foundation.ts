/** Builds what every command stands on: the database, accounts, keys and projects. */
import type { Settings } from './config.js'
import { prepareDataFolder } from './data-folders.js'
import { Changes } from './domain/changes.js'
import type { Clock } from './domain/clock.js'
import { AppError, DataFileError } from './errors.js'
import { GuardedSender } from './outgoing/guarded-sender.js'
import { Accounts } from './service/accounts/accounts.js'
import { ApiKeys } from './service/accounts/api-keys.js'
import { Projects } from './service/projects/projects.js'
import { sandboxAccountId } from './service/sandbox/sandbox.js'
import type { WebhookWatch } from './service/webhooks/deliveries.js'
import type { AttemptOutcome } from './service/webhooks/retry-plan.js'
import { Webhooks } from './service/webhooks/webhooks.js'
import { ChangeHead } from './storage/change-head.js'
import { type OpenDatabase, openDatabase } from './storage/engine.js'
import { migrate } from './storage/migrate.js'
import { version } from './version.js'
import type { World } from './world.js'

export const mainAccountId = 'main'

/** Accounts, keys and projects over the database: all that the smaller commands need. */
export interface Foundation {
  readonly settings: Settings
  readonly world: World
  readonly storage: OpenDatabase
  readonly changes: Changes
  readonly changeHead: ChangeHead
  /** What expires is judged by it. */
  readonly expiryClock: Clock
  readonly accounts: Accounts
  readonly keys: ApiKeys
  readonly projects: Projects
  /** Keeps notifications; a server starts it, and then it sends them. */
  readonly webhooks: Webhooks
  readonly webhookNews: WebhookNews
  close(): Promise<void>
}

export interface OpenOptions {
  /** Makes a new database, also in a folder that has held one; refused where there is one. */
  readonly init?: boolean | undefined
}

/** Opens and migrates the database, and makes the two accounts that are always there. */
export async function openFoundation(
  settings: Settings,
  world: World,
  { init = false }: OpenOptions = {},
): Promise<Foundation> {
  const { clock, timers } = world
  prepareDataFolder(settings)
  const storage = openDatabase({
    ...settings.storage,
    dataDir: settings.dataDir,
    init,
    blockForLockMs: world.mayBlock ? settings.storage.lockWaitMs : 0,
  })
  try {
    await migrateOrExplain(storage)
    storage.markInitialized()
    const { db } = storage
    const changes = new Changes()
    const changeHead = new ChangeHead(db, clock)
    await changeHead.refresh()
    const accounts = new Accounts({ storage, clock, randomBytes: world.randomBytes })
    await accounts.ensure({ id: mainAccountId, kind: 'real', name: 'Main account' })
    await accounts.ensure({ id: sandboxAccountId, kind: 'sandbox', name: 'Sandbox' })
    const expiryClock = changeHead.expiryClock(timers)
    const { randomBytes } = world
    const keys = new ApiKeys({ db, clock: expiryClock, timers, randomBytes })
    const webhookNews = new WebhookNews()
    const webhooks = createWebhooks({ settings, world, storage, accounts, news: webhookNews })
    const projects = new Projects({ storage, clock, timers, changes, webhooks })
    const close = async () => {
      // A database that is gone or locked must not keep the program from ending.
      await changeHead.writeBack().catch((err: unknown) => {
        world.log.warn('the newest stored instant could not be written at the end', { err })
      })
      await storage.close()
    }
    const base = {
      settings,
      world,
      storage,
      changes,
      changeHead,
      expiryClock,
      accounts,
      keys,
      projects,
    }
    return { ...base, webhooks, webhookNews, close }
  } catch (cause) {
    await storage.close()
    throw cause
  }
}

async function migrateOrExplain({ db, path }: OpenDatabase): Promise<void> {
  try {
    await migrate(db)
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new DataFileError(path, why, cause)
  }
}

/** What the sending of webhooks tells, once there is somebody to count it. */
export class WebhookNews implements WebhookWatch {
  #listener: WebhookWatch | undefined

  tell(listener: WebhookWatch): void {
    this.#listener = listener
  }

  attempted(outcome: AttemptOutcome): void {
    this.#listener?.attempted(outcome)
  }

  pending(count: number): void {
    this.#listener?.pending(count)
  }
}

interface WebhookParts extends Pick<Foundation, 'settings' | 'world' | 'storage' | 'accounts'> {
  readonly news: WebhookNews
}

function createWebhooks({ settings, world, storage, accounts, news }: WebhookParts): Webhooks {
  const { clock, timers, random, randomBytes, log } = world
  const { allow, ...sending } = settings.webhooks
  return new Webhooks({
    ...{ storage, clock, timers, random, randomBytes },
    sender: new GuardedSender({ allow, timers }),
    secretOf: (accountId) => accounts.webhookSecret(accountId),
    settings: { ...sending, version },
    watch: {
      attempted: (outcome) => news.attempted(outcome),
      pending: (count) => news.pending(count),
      gaveUp: (event) => log.warn('a webhook could not be delivered and is given up', { ...event }),
    },
    onError: (cause) => log.error('webhooks could not be worked on; tried again', { err: cause }),
  })
}
