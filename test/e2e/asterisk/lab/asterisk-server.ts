/** A real Asterisk of one's own: started on free ports of the loopback address, and ended again. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type AmiHeaders, amiAction } from './ami.js'
import { type AsteriskPorts, writeConfiguration, writeGlobals } from './asterisk-files.js'
import { type LabProcess, startProcess } from './lab-process.js'
import { freeTcpPort, freeUdpPort } from './ports.js'
import {
  type AsteriskVersion,
  type ProvidedAsterisk,
  provideAsterisk,
  provideSipp,
} from './provided-asterisk.js'
import { until } from './until.js'

export interface AsteriskOptions {
  readonly version: AsteriskVersion
  /** More dialplan, after the shipped recipes. */
  readonly extensions?: string
  /** Values of `[globals]` that differ from those of the shipped recipes. */
  readonly globals?: Readonly<Record<string, string>>
  /** Password by user of ari.conf; `callgate` with `secret` unless given. */
  readonly ariUsers?: Readonly<Record<string, string>>
  /** Contexts that `startCalls` may call into, beside those of the recipes. */
  readonly callerContexts?: readonly string[]
  /** PJSIP endpoints that are trunks; `trunk`, `trunk-ai` and `trunk-manual` unless given. */
  readonly trunks?: readonly string[]
  /** Whether it writes `log/cdr-csv/Master.csv`. */
  readonly writesCallRecords?: boolean
}

export interface AriReply {
  readonly status: number
  /** The JSON, or `undefined` when the body is empty. */
  readonly body: unknown
}

/** Contexts of the shipped recipes that take calls. */
const recipeContexts: readonly string[] = [
  'outbound',
  'gate',
  'gate-curl',
  'gate-two',
  'gate-broadcast',
  'gate-ai',
  'gate-manual',
]
const defaultTrunks: readonly string[] = ['trunk', 'trunk-ai', 'trunk-manual']

/** The harness asks with a user of its own, whatever happens to that of callgate. */
const labUser = 'lab'
const labPassword = 'lab-secret'
const dialer = { username: 'dialer', secret: 'dialer-secret' }

/** Starts one and waits until its ARI answers. */
export async function startAsterisk(options: AsteriskOptions): Promise<AsteriskServer> {
  const provided = await provideAsterisk(options.version)
  const sipp = await provideSipp()
  const folder = mkdtempSync(join(tmpdir(), `callgate-asterisk-${options.version}-`))
  const ports = { sip: await freeUdpPort(), http: await freeTcpPort(), ami: await freeTcpPort() }
  const trunks = new Map<string, number>()
  for (const name of options.trunks ?? defaultTrunks) trunks.set(name, await freeUdpPort())
  const globals = { ...options.globals }
  writeConfiguration({
    version: options.version,
    folder,
    ports,
    provided,
    trunks,
    globals,
    ariUsers: { ...(options.ariUsers ?? { callgate: 'secret' }), [labUser]: labPassword },
    dialer,
    harness: { username: labUser, secret: labPassword },
    callerContexts: [...new Set([...recipeContexts, ...(options.callerContexts ?? [])])],
    extensions: options.extensions ?? '',
    writesCallRecords: options.writesCallRecords === true,
  })
  const server = new AsteriskServer(options.version, {
    folder,
    ports,
    provided,
    sipp,
    trunks,
    globals,
  })
  try {
    await server.start()
    return server
  } catch (cause) {
    await server.close()
    throw cause
  }
}

interface Place {
  readonly folder: string
  readonly ports: AsteriskPorts
  readonly provided: ProvidedAsterisk
  readonly sipp: string
  readonly trunks: ReadonlyMap<string, number>
  readonly globals: Readonly<Record<string, string>>
}

export class AsteriskServer {
  readonly version: AsteriskVersion
  /** Run folder; `etc`, `log` and `spool` are below it. Removed by `close`. */
  readonly folder: string
  readonly ports: AsteriskPorts
  /** Path of the SIPp for `startTrunk` and `startCalls`. */
  readonly sipp: string
  readonly #place: Place
  #globals: Readonly<Record<string, string>>
  #process: LabProcess | undefined

  constructor(version: AsteriskVersion, place: Place) {
    this.version = version
    this.folder = place.folder
    this.ports = place.ports
    this.sipp = place.sipp
    this.#place = place
    this.#globals = place.globals
  }

  /** Base address for `asterisk.url` of callgate's settings. */
  get url(): string {
    return `http://127.0.0.1:${this.ports.http}`
  }

  get pid(): number {
    return this.#running.pid
  }

  get trunkNames(): readonly string[] {
    return [...this.#place.trunks.keys()]
  }

  /** Port at which a SIPp must listen to be the trunk of that name. */
  trunkPort(trunk = 'trunk'): number {
    const port = this.#place.trunks.get(trunk)
    if (port === undefined) throw new Error(`no trunk '${trunk}' in this Asterisk`)
    return port
  }

  /** Starts it; resolves when ARI answers. For one that has ended. */
  async start(): Promise<void> {
    this.#process = startProcess({
      command: this.#place.provided.asterisk,
      args: ['-C', join(this.folder, 'etc/asterisk.conf'), '-f'],
      output: join(this.folder, 'log/output'),
    })
    const { pid } = this.#process
    await until(
      `ARI of Asterisk ${this.version} (process ${pid}) answers`,
      async () => {
        if (!this.#running.isRunning()) return true
        return (await this.ari('GET', '/asterisk/info')).status === 200
      },
      { withinMs: 30_000 },
    )
    if (!this.#running.isRunning())
      throw new Error(`Asterisk ended at its start:\n${this.logTail()}`)
  }

  /** SIGKILL; resolves when it is gone. */
  async kill(): Promise<void> {
    await this.#running.end('SIGKILL')
  }

  /** SIGKILL, and a new start on the same ports; resolves when ARI answers again. */
  async restart(): Promise<void> {
    await this.kill()
    await this.start()
  }

  freeze(): void {
    this.#running.freeze()
  }

  thaw(): void {
    this.#running.thaw()
  }

  /** Output of a command of Asterisk's command line. */
  async cli(command: string): Promise<string> {
    const args = ['-C', join(this.folder, 'etc/asterisk.conf'), '-rx', command]
    const { asterisk } = this.#place.provided
    const { stdout } = await promisify(execFile)(asterisk, args, { timeout: 10_000 })
    return stdout
  }

  /** A request by a user of the harness; `path` such as `/channels`. Any status is an answer. */
  async ari(
    method: string,
    path: string,
    query: Readonly<Record<string, string>> = {},
    body?: unknown,
  ): Promise<AriReply> {
    const authorization = `Basic ${Buffer.from(`${labUser}:${labPassword}`).toString('base64')}`
    const reply = await fetch(`${this.url}/ari${path}?${new URLSearchParams(query)}`, {
      method,
      headers: { authorization, 'content-type': 'application/json', connection: 'close' },
      signal: AbortSignal.timeout(5_000),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) }
  }

  /** How many channels there are now. */
  async channels(): Promise<number> {
    const { status, body } = await this.ari('GET', '/channels')
    if (status !== 200 || !Array.isArray(body)) throw new Error(`GET /channels: ${status}`)
    return body.length
  }

  /** Any action of the manager interface, by a user who may everything; gives its response. */
  async ami(action: AmiHeaders): Promise<Readonly<Record<string, string>>> {
    const harness = { username: labUser, secret: labPassword }
    return await amiAction({ port: this.ports.ami, ...harness }, action)
  }

  /**
   * Action Originate by a dialer with the rights of the shipped `manager.conf`, such as
   * `{ Channel: 'Local/2125550100@gate/n', Application: 'Wait', Data: '5' }`.
   */
  async originateByAmi(headers: AmiHeaders): Promise<Readonly<Record<string, string>>> {
    const action = { Action: 'Originate', Async: 'true', ...headers }
    return await amiAction({ port: this.ports.ami, ...dialer }, action)
  }

  /** Lines of a call file, such as `Channel: PJSIP/2125550100@trunk`; it is taken at once. */
  callFile(lines: readonly string[]): void {
    const name = `lab-${process.hrtime.bigint()}.call`
    const draft = join(this.folder, 'spool/tmp', name)
    writeFileSync(draft, `${lines.join('\n')}\n`)
    renameSync(draft, join(this.folder, 'spool/outgoing', name))
  }

  /** Sets values of `[globals]` beside those set before, also for later starts. */
  async setGlobals(globals: Readonly<Record<string, string>>): Promise<void> {
    this.#globals = { ...this.#globals, ...globals }
    writeGlobals(this.folder, this.#globals)
    await this.cli('dialplan reload')
  }

  /** The last lines of its log of notices, warnings and errors, and of its output. */
  logTail(lines = 40): string {
    return ['log/output', 'log/messages.log']
      .map((name) => {
        try {
          const all = readFileSync(join(this.folder, name), 'utf8').split('\n')
          return all.slice(-lines).join('\n')
        } catch {
          return ''
        }
      })
      .join('\n')
  }

  /** Processor time used since its last start, in seconds. */
  cpuSeconds(): number {
    return this.#running.cpuSeconds()
  }

  /** Ends it and removes its folder; with CALLGATE_E2E_KEEP=1 the folder stays. */
  async close(): Promise<void> {
    await this.#process?.end('SIGKILL')
    if (process.env.CALLGATE_E2E_KEEP !== '1') rmSync(this.folder, { recursive: true, force: true })
  }

  get #running(): LabProcess {
    if (!this.#process) throw new Error('this Asterisk has not been started')
    return this.#process
  }
}
