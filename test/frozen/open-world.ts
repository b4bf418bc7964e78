/** Opens the whole program for a world: the server with its sockets, the vendors and the Asterisk that it asks or answers. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCallgate } from '../../src/app/callgate.js'
import { Reloader } from '../../src/app/reloader.js'
import { openHttpServer } from '../../src/commands/serve/http-server.js'
import { attachAsterisk } from '../../src/commands/serve/serve.js'
import { loadSettings } from '../../src/config/load.js'
import { writeMigratedDatabase } from '../support/database.js'
import { FakeAsterisk, user } from '../support/fake-asterisk.js'
import { makePersonal } from '../support/person-keys.js'
import { instant } from '../support/test-clock.js'
import { Client } from './client.js'
import type { World } from './script.js'
import { createWorldTime, type WorldTime } from './time.js'
import { RowVendor } from './vendor.js'

export interface OpenWorld {
  readonly callgate: Awaited<ReturnType<typeof openCallgate>>
  readonly time: WorldTime
  readonly dataDir: string
  readonly client: Client
  connect(): Promise<Client>
  readonly vendors: readonly RowVendor[]
  readonly asterisk: FakeAsterisk | undefined
  /** Keys of the start by the name of their account. */
  readonly keys: Readonly<Record<string, string>>
  reload(settings: object): Promise<void>
  close(): Promise<void>
}

type Close = () => Promise<unknown> | unknown

/** So many that no world meets them, and deadlines that only a script reaches. */
const patient = { CALLGATE_GATE_CACHE_MAX_ENTRIES: '1000', CALLGATE_HTTP_PORT: '0' }

export async function openWorld(world: World): Promise<OpenWorld> {
  const opened: Close[] = []
  const close = async () => {
    for (const one of opened.splice(0).reverse()) await one()
  }
  try {
    return await openParts(world, opened, close)
  } catch (cause) {
    await close()
    throw cause
  }
}

async function openParts(world: World, opened: Close[], close: () => Promise<void>) {
  const dataDir = mkdtempSync(join(tmpdir(), 'callgate-frozen-'))
  opened.push(() => rmSync(dataDir, { recursive: true, force: true }))
  const time = createWorldTime(instant(world.at), world.seed)
  const vendors = await openVendors(world, opened)
  const asterisk = hasAsterisk(world.settings) ? await new FakeAsterisk().listen() : undefined
  if (asterisk) opened.push(() => asterisk.close())
  const file = join(dataDir, 'callgate.yaml')
  const write = (settings: object) => writeFileSync(file, JSON.stringify(settings))
  write(world.settings)
  const environment = {
    ...patient,
    CALLGATE_DATA_DIR: dataDir,
    ...describeVendors(vendors.map(({ url }) => url)),
    ...(asterisk && {
      CALLGATE_ASTERISK_URL: asterisk.url,
      CALLGATE_ASTERISK_USERNAME: user.username,
      CALLGATE_ASTERISK_PASSWORD: user.password,
    }),
  }
  Object.assign(process.env, environment)
  opened.push(() => {
    for (const name of Object.keys(environment)) delete process.env[name]
  })
  await writeMigratedDatabase(dataDir)
  const callgate = await openCallgate(loadSettings({ file }), time.runtime)
  opened.push(() => callgate.close())
  await callgate.journal.open()
  const server = await openHttpServer(callgate)
  opened.push(() => server.close(0))
  if (asterisk) await attach(callgate, asterisk, opened)
  // A first request is as old as its connection may be, so time must not pass between the two.
  const connect = async () => {
    const connected = await Client.connect(server.port)
    await connected.send({ method: 'GET', path: '/healthz', key: '' })
    return connected
  }
  const client = await connect()
  opened.push(() => client.close())
  const reloader = new Reloader(callgate, { file, onReconfigured: () => undefined })
  return {
    ...{ callgate, time, dataDir, client, connect, vendors, asterisk, close },
    keys: await makeKeys(callgate, time),
    async reload(settings: object) {
      write(settings)
      const { problems, needRestart } = await reloader.reload()
      const wrong = [...problems, ...needRestart.map((change) => JSON.stringify(change))]
      if (wrong.length > 0) throw new Error(`${world.name}: ${wrong.join('; ')}`)
    },
  }
}

async function openVendors({ mode }: World, opened: Close[]): Promise<readonly RowVendor[]> {
  const vendors: RowVendor[] = []
  for (let left = mode === 'own' ? 0 : mode === 'one' ? 1 : 2; left > 0; left -= 1) {
    const vendor = await new RowVendor().open()
    vendors.push(vendor)
    opened.push(() => vendor.close())
  }
  return vendors
}

/** Rates and circuits that no world reaches: what fails is said by its script. */
function describeVendors(urls: readonly string[]): Readonly<Record<string, string>> {
  const questions = ['SCRUB', 'INTERNAL_DNC', 'LITIGATOR', 'LEGAL_TIME']
  const of = (which: string, url: string) => {
    const settings = {
      NAME: which === 'PROVIDER' ? 'acme' : 'bolt',
      BASE_URL: url,
      LOGIN_ID: `${which}-login-id-0123456789`,
      COALESCE_MS: '0',
      RETRIES: '0',
      CIRCUIT_FAILURES: '1000',
      ...Object.fromEntries(
        questions.map((question) => [`${question}_REQUESTS_PER_MINUTE`, '1000000']),
      ),
    }
    return Object.entries(settings).map(([name, value]) => [
      `CALLGATE_SOURCE_${which}_${name}`,
      value,
    ])
  }
  const names = ['PROVIDER', 'SECOND_PROVIDER']
  return Object.fromEntries(urls.flatMap((url, index) => of(names[index] ?? '', url)))
}

const hasAsterisk = (settings: object) => 'asterisk' in settings

async function attach(
  callgate: OpenWorld['callgate'],
  asterisk: FakeAsterisk,
  opened: Close[],
): Promise<void> {
  const registered = new Promise<void>((resolve) => {
    asterisk.changed = () => {
      if (asterisk.attached > 0 && asterisk.of('channels.list').length > 0) resolve()
    }
  })
  const attached = await attachAsterisk(callgate)
  opened.push(() => attached.close())
  await registered
}

/** Of people who may approve. */
async function makeKeys(callgate: OpenWorld['callgate'], time: WorldTime) {
  const keys: Record<string, string> = {}
  for (const [name, accountId] of [
    ['main', 'main'],
    ['sandbox', 'sandbox'],
    ['second-sandbox', 'sandbox'],
  ] as const) {
    const made = await callgate.keys.create({ accountId, role: 'Administrator', label: name })
    keys[name] = made.key
    await makePersonal({ callgate, clock: { at: time.now() } }, made.key, name)
  }
  return keys
}
