/** A callgate of its own behind the fake vendor: the sandbox account over a folder that goes again. */
import { appendFileSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Route } from '../api/route.js'
import { type Callgate, openCallgate } from '../compose.js'
import { settingsSchema } from '../config.js'
import { type Caller, noLimits } from '../domain/caller.js'
import { formatInstant, type Instant } from '../domain/clock.js'
import { shippedOr } from '../load-settings.js'
import { sandboxAccountId } from '../service/sandbox/sandbox.js'
import { serviceRoutes } from '../service/service-routes.js'
import type { World } from '../world.js'

/** The line of an area code whose facts every number of it has that is not fictional. */
export const lineOfOthers = '0100'

/** Whoever holds the vendor's key or a token of it. */
export const vendorCaller: Caller = {
  accountId: sandboxAccountId,
  role: 'Administrator',
  keyId: 'fake-vendor',
  limits: noLimits,
}

export interface VendorService {
  readonly routes: readonly Route[]
  /** Also removes the data. */
  close(): Promise<void>
}

export interface VendorServiceOptions {
  readonly world: World
  /** The service stands still there; absent means the world's clock. */
  readonly at: Instant | undefined
  /** Codes of the projects the account has beside its Master Project. */
  readonly projects: readonly string[]
}

/** Settings files and variables of the user are not looked at: they are for the callgate under test. */
export async function openVendorService(options: VendorServiceOptions): Promise<VendorService> {
  const dataDir = mkdtempSync(join(tmpdir(), 'callgate-fake-vendor-'))
  const removeData = () => rmSync(dataDir, { recursive: true, force: true })
  try {
    const callgate = await openIn(dataDir, options)
    return {
      routes: serviceRoutes(callgate.service, { wrappedRows: false }),
      async close() {
        await callgate.close()
        removeData()
      },
    }
  } catch (cause) {
    removeData()
    throw cause
  }
}

async function openIn(dataDir: string, options: VendorServiceOptions): Promise<Callgate> {
  const { world, at, projects } = options
  const sandbox = { file: writeFacts(dataDir), ...(at !== undefined && { at: formatInstant(at) }) }
  const callgate = await openCallgate(settingsSchema.parse({ dataDir, sandbox }), world)
  try {
    for (const code of projects) {
      await callgate.projects.create({ accountId: sandboxAccountId, code, name: code })
    }
    return callgate
  } catch (cause) {
    await callgate.close()
    throw cause
  }
}

/** The shipped facts, and facts for all other numbers. */
function writeFacts(dataDir: string): string {
  const file = join(dataDir, 'sandbox.yaml')
  copyFileSync(shippedOr('config/sandbox.yaml'), file)
  appendFileSync(file, `\notherNumbers: "${lineOfOthers}"\n`)
  return file
}
