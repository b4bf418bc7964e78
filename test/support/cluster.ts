/** Servers of the built program over one PostgreSQL, each with a folder and a line to the database of its own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PostgresServer, type StandbyServer, startPostgres } from './postgres-server.js'
import { type Serving, serve } from './program.js'
import { openTcpProxy, type TcpProxy } from './tcp-proxy.js'

export interface ClusterNode {
  readonly name: string
  readonly isEdge: boolean
  /** To PostgreSQL. */
  readonly line: TcpProxy
  /** The process that was started last. */
  readonly serving: Serving
  /** Sets its clock ahead of the machine's, or behind it. */
  setClock(aheadMs: number): void
  /** Also with another program. */
  restart(program?: string): Promise<void>
}

export interface Cluster {
  readonly nodes: readonly ClusterNode[]
  /** Of the sandbox, whose clock shows a Monday at noon in New York. */
  readonly key: string
  /** Of all their files. */
  readonly folder: string
  /** For a command beside the servers. */
  readonly environment: Readonly<Record<string, string>>
  /** The primary. */
  readonly postgres: PostgresServer
  /** Kills the primary, promotes its standby, and moves all lines there. */
  failOver(standby: StandbyServer): Promise<void>
  query(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  close(): Promise<void>
}

export interface ClusterOptions {
  readonly count: number
  readonly settings?: Readonly<Record<string, string>>
  /** Starts the servers at the same moment, over an empty database; otherwise one after the other. */
  readonly atOnce?: boolean
  /** Instead of the built one. */
  readonly program?: string
  /** With an edge after them, whose line is to the first of them. */
  readonly hasEdge?: boolean
}

const movableClock = join(import.meta.dirname, 'movable-clock.mjs')
export const database = 'callgate_cluster'

export async function openCluster({
  count,
  settings = {},
  atOnce = false,
  program,
  hasEdge = false,
}: ClusterOptions): Promise<Cluster> {
  let postgres: PostgresServer = await startPostgres()
  const ended: PostgresServer[] = []
  const folder = mkdtempSync(join(tmpdir(), 'callgate-cluster-test-'))
  await postgres.query(`create database ${database}`, 'postgres')
  const environmentOf = (name: string, port: string) => ({
    CALLGATE_DATA_DIR: join(folder, name),
    CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
    CALLGATE_STORAGE_ENGINE: 'postgres',
    CALLGATE_STORAGE_URL: `${postgres.address.replace(/\d+$/, port)}/${database}`,
    CALLGATE_STORAGE_TLS: 'false',
    CALLGATE_WEBHOOKS_ALLOW: '127.0.0.1',
    ...settings,
  })
  const nodes: ClusterNode[] = []
  const startNode = async (name: string) => {
    const line = await openTcpProxy(portOf(postgres))
    const clock = join(folder, `${name}.clock`)
    const environment = { ...environmentOf(name, String(line.port)), CLOCK_FILE: clock }
    const start = (started = program) =>
      serve(environment, [], {
        preload: movableClock,
        ...(started !== undefined && { program: started }),
      })
    let serving = await start()
    nodes.push({
      name,
      isEdge: false,
      line,
      get serving() {
        return serving
      },
      setClock: (aheadMs) => writeFileSync(clock, String(aheadMs)),
      async restart(other) {
        serving = await start(other)
        const edge = nodes.find(({ isEdge }) => isEdge)
        if (name === names[0]) edge?.line.moveTo(portOfUrl(serving.url))
      },
    })
  }
  const startEdge = async ({ serving: center }: ClusterNode) => {
    const line = await openTcpProxy(portOfUrl(center.url))
    const keyFile = join(folder, 'edge-key')
    writeFileSync(keyFile, center.keys.sandbox, { mode: 0o600 })
    const environment = {
      CALLGATE_DATA_DIR: join(folder, 'edge'),
      CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
      CALLGATE_EDGE_CENTERS: `[http://127.0.0.1:${line.port}]`,
      CALLGATE_EDGE_LOGIN_ID_FILE: keyFile,
      ...settings,
    }
    const start = (started = program) =>
      serve(environment, [], started === undefined ? {} : { program: started })
    let serving = await start()
    nodes.push({
      name: 'edge',
      isEdge: true,
      line,
      get serving() {
        return serving
      },
      // Its own clock is behind for itself alone.
      setClock: () => undefined,
      async restart(other) {
        serving = await start(other)
      },
    })
  }
  const names = Array.from({ length: count }, (_, index) => `node-${index + 1}`)
  if (atOnce) await Promise.all(names.map(startNode))
  else for (const name of names) await startNode(name)
  const [first] = nodes
  if (hasEdge && first) await startEdge(first)
  return {
    nodes,
    key: nodes.map(({ serving }) => serving.keys.sandbox).find((key) => key !== '') ?? '',
    folder,
    get environment() {
      return environmentOf('command', String(portOf(postgres)))
    },
    query: (sql) => postgres.query(sql, database),
    get postgres() {
      return postgres
    },
    async failOver(standby) {
      postgres.signal('SIGKILL')
      ended.push(postgres)
      await standby.promote()
      for (const { line, isEdge } of nodes) if (!isEdge) line.moveTo(portOf(standby))
      postgres = standby
    },
    async close() {
      await Promise.all(nodes.map(({ serving }) => serving.end('SIGTERM')))
      for (const { line } of nodes) line.close()
      for (const one of [postgres, ...ended]) await one.end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const portOfUrl = (url: string) => Number(new URL(url).port)

export function portOf({ address }: Pick<PostgresServer, 'address'>): number {
  return portOfUrl(address)
}

/** Of one server, as their callers see it. */
export function callersOf({ key }: Pick<Cluster, 'key'>) {
  const send = ({ serving }: ClusterNode, path: string, body: object) =>
    fetch(`${serving.url}${path}`, {
      method: 'POST',
      headers: { loginId: key, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify(body),
    })
  return {
    async decide(on: ClusterNode, number: string): Promise<string> {
      const response = await send(on, '/v1/decisions', { number, callKind: 'manual' })
      if (!response.ok) return `status ${response.status}`
      const { decision, reason } = (await response.json()) as Record<string, string>
      return `${decision} ${reason}`
    },
    /** The status. */
    async pdnc(on: ClusterNode, phoneList: string, actionType = 'add'): Promise<number> {
      return (await send(on, '/app/main/rpc/pdnc', { phoneList, actionType })).status
    },
    async readyz({ serving }: ClusterNode): Promise<string> {
      const response = await fetch(`${serving.url}/readyz`)
      return `${response.status} ${await response.text()}`
    },
  }
}

export type Callers = ReturnType<typeof callersOf>
