/** The callgate behind the fake vendor: its sandbox account, with data in a temporary folder. */
import { appendFileSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Route } from '../api/route.js'
import { type Callgate, openCallgate } from '../app/callgate.js'
import { resolveShippedFile } from '../config/load.js'
import { settingsSchema } from '../config/settings.js'
import { type Caller, noLimits, sandboxAccountId } from '../domain/caller.js'
import type { Instant } from '../domain/time/clock.js'
import { formatInstant } from '../domain/time/dates.js'
import type { Runtime } from '../runtime/runtime.js'
import { createServiceRoutes } from '../service/service-routes.js'

/** The fictional line whose facts apply to all other numbers of its area code. */
const defaultLine = '0100'

/** The caller with the vendor's key or a token. */
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
  readonly runtime: Runtime
  /** Fixed time of the service; the clock of the runtime when absent. */
  readonly at: Instant | undefined
  /** Codes of the projects besides the Master Project. */
  readonly projects: readonly string[]
}

/** Ignores settings files and variables, which are for the callgate under test. */
export async function openVendorService(options: VendorServiceOptions): Promise<VendorService> {
  const dataDir = mkdtempSync(join(tmpdir(), 'callgate-fake-vendor-'))
  const removeData = () => rmSync(dataDir, { recursive: true, force: true })
  try {
    const callgate = await openCallgateIn(dataDir, options)
    return {
      routes: createServiceRoutes(callgate.service, { wrappedRows: false }),
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

async function openCallgateIn(dataDir: string, options: VendorServiceOptions): Promise<Callgate> {
  const { runtime, at, projects } = options
  const sandbox = { file: writeFacts(dataDir), ...(at !== undefined && { at: formatInstant(at) }) }
  // Only its service is used, never its gate, so the gate needs no cache.
  const gate = { cache: { maxEntries: 0 } }
  const callgate = await openCallgate(settingsSchema.parse({ dataDir, sandbox, gate }), runtime)
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

/** The shipped facts, plus facts for all other numbers. */
function writeFacts(dataDir: string): string {
  const file = join(dataDir, 'sandbox.yaml')
  copyFileSync(resolveShippedFile('config/sandbox.yaml'), file)
  appendFileSync(file, `\notherNumbers: "${defaultLine}"\n`)
  return file
}
