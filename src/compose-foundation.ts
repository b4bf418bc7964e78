/** Builds what every command stands on: the database, accounts, keys and projects. */
import type { Settings } from './config.js'
import { Changes } from './domain/changes.js'
import { Accounts } from './service/accounts/accounts.js'
import { ApiKeys } from './service/accounts/api-keys.js'
import { Projects } from './service/accounts/projects.js'
import { sandboxAccountId } from './service/sandbox/sandbox.js'
import { type OpenDatabase, openDatabase } from './storage/engine.js'
import { migrate } from './storage/migrate.js'
import type { World } from './world.js'

export const mainAccountId = 'main'

/** Accounts, keys and projects over the database: all that the smaller commands need. */
export interface Foundation {
  readonly settings: Settings
  readonly world: World
  readonly storage: OpenDatabase
  readonly changes: Changes
  readonly accounts: Accounts
  readonly keys: ApiKeys
  readonly projects: Projects
  close(): Promise<void>
}

/** Opens and migrates the database, and makes the two accounts that are always there. */
export async function openFoundation(settings: Settings, world: World): Promise<Foundation> {
  const { clock } = world
  const storage = openDatabase({
    ...settings.storage,
    dataDir: settings.dataDir,
    blockForLockMs: world.mayBlock ? settings.storage.lockWaitMs : 0,
  })
  try {
    await migrate(storage.db)
    const { db } = storage
    const changes = new Changes()
    const accounts = new Accounts(db, clock)
    await accounts.ensure({ id: mainAccountId, kind: 'real', name: 'Main account' })
    await accounts.ensure({ id: sandboxAccountId, kind: 'sandbox', name: 'Sandbox' })
    const keys = new ApiKeys({ db, clock, randomBytes: world.randomBytes })
    const projects = new Projects({ storage, clock, changes })
    const close = () => storage.close()
    return { settings, world, storage, changes, accounts, keys, projects, close }
  } catch (cause) {
    await storage.close()
    throw cause
  }
}
