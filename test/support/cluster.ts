/** Servers of the built program over one PostgreSQL, each with a folder and a line to the database of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { runChild, startChild } from '../../scripts/children.mjs'
import { getErrorCode } from '../../src/errors.js'
import { until } from '../e2e/asterisk/lab/until.js'
import { type Serving, serve } from './program.js'
import { openTcpProxy, type TcpProxy } from './tcp-proxy.js'

export interface ClusterNode {
  readonly name: string
  /** To PostgreSQL. */
  readonly line: TcpProxy
  /** The process that was started last. */
  readonly serving: Serving
  restart(): Promise<void>
}

export interface Cluster {
  readonly nodes: readonly ClusterNode[]
  /** Of the sandbox, whose clock shows a Monday at noon in New York. */
  readonly key: string
  /** Of all their files. */
  readonly folder: string
  /** For a command beside the servers. */
  readonly environment: Readonly<Record<string, string>>
  query(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  /** Sends the signal to every process of PostgreSQL. */
  signalPostgres(name: NodeJS.Signals): void
  close(): Promise<void>
}

export interface ClusterOptions {
  readonly count: number
  readonly settings?: Readonly<Record<string, string>>
  /** Starts the servers at the same moment, over an empty database; otherwise one after the other. */
  readonly atOnce?: boolean
  /** Instead of the built one. */
  readonly program?: string
}

export interface PostgresServer {
  /** Without a database. */
  readonly address: string
  query(sql: string, database: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  /** Sends the signal to every process of it. */
  signal(name: NodeJS.Signals): void
  end(): Promise<void>
}

/** That of Debian's package, in a new folder. */
export async function startPostgres(): Promise<PostgresServer> {
  const script = join(import.meta.dirname, '../../scripts/postgres.mjs')
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const address = line.toString().trim()
  const query = async (sql: string, database: string) => {
    const client = new pg.Client(`${address}/${database}`)
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }
  const [row] = await query('show data_directory', 'postgres')
  const folder = String(row?.data_directory)
  return {
    address,
    query,
    signal(name) {
      for (const pid of listProcesses(folder)) signalProcess(pid, name)
    },
    async end() {
      child.stdin.end()
      await once(child, 'exit')
    },
  }
}

/** A copy of the server that follows it. */
export async function startStandby(
  address: string,
): Promise<Pick<PostgresServer, 'address' | 'end'>> {
  const packages = '/usr/lib/postgresql'
  const bin = join(packages, readdirSync(packages).sort().at(-1) ?? '', 'bin')
  const folder = mkdtempSync(join(tmpdir(), 'callgate-standby-'))
  const { uid, gid } = userOf('postgres')
  chownSync(folder, uid, gid)
  const as = { uid, gid, cwd: folder }
  const data = join(folder, 'data')
  const { port: primary, hostname, username } = new URL(address)
  const copy = ['-h', hostname, '-p', primary, '-U', username, '-D', data, '-R', '-c', 'fast']
  const copied = await runChild(join(bin, 'pg_basebackup'), copy, as)
  if (copied.code !== 0) throw new Error(copied.err)
  const port = String(await findFreePort())
  const child = startChild(
    join(bin, 'postgres'),
    [
      '-D',
      data,
      '-p',
      port,
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      `unix_socket_directories=${folder}`,
      '-c',
      'max_connections=200',
    ],
    { ...as, stdio: 'ignore' },
  )
  const standby = address.replace(primary, port)
  await until('the standby answers', async () => {
    const client = new pg.Client(`${standby}/postgres`)
    await client.connect()
    await client.end()
    return true
  })
  return {
    address: standby,
    async end() {
      child.kill('SIGQUIT')
      await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

function userOf(name: string): { readonly uid: number; readonly gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`${name}:`))
  const [, , uid, gid] = (line ?? '').split(':').map(Number)
  if (uid === undefined || gid === undefined) throw new Error(`there is no user ${name}`)
  return { uid, gid }
}

const database = 'callgate_cluster'

export async function openCluster({
  count,
  settings = {},
  atOnce = false,
  program,
}: ClusterOptions): Promise<Cluster> {
  const postgres = await startPostgres()
  const { address: server } = postgres
  const folder = mkdtempSync(join(tmpdir(), 'callgate-cluster-test-'))
  await postgres.query(`create database ${database}`, 'postgres')
  const environmentOf = (name: string, port: string) => ({
    CALLGATE_DATA_DIR: join(folder, name),
    CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
    CALLGATE_STORAGE_ENGINE: 'postgres',
    CALLGATE_STORAGE_URL: `${server.replace(/\d+$/, port)}/${database}`,
    CALLGATE_STORAGE_TLS: 'false',
    ...settings,
  })
  const port = new URL(server).port
  const nodes: ClusterNode[] = []
  const startNode = async (name: string) => {
    const line = await openTcpProxy(Number(port))
    const start = () =>
      serve(environmentOf(name, String(line.port)), [], program === undefined ? {} : { program })
    let serving = await start()
    nodes.push({
      name,
      line,
      get serving() {
        return serving
      },
      async restart() {
        serving = await start()
      },
    })
  }
  const names = Array.from({ length: count }, (_, index) => `node-${index + 1}`)
  if (atOnce) await Promise.all(names.map(startNode))
  else for (const name of names) await startNode(name)
  return {
    nodes,
    key: nodes.map(({ serving }) => serving.keys.sandbox).find((key) => key !== '') ?? '',
    folder,
    environment: environmentOf('command', port),
    query: (sql) => postgres.query(sql, database),
    signalPostgres: postgres.signal,
    async close() {
      await Promise.all(nodes.map(({ serving }) => serving.end('SIGTERM')))
      for (const { line } of nodes) line.close()
      await postgres.end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** PostgreSQL's first process, and one for each connection. */
function listProcesses(dataDirectory: string): readonly number[] {
  const file = readFileSync(join(dataDirectory, 'postmaster.pid'), 'utf8')
  const postmaster = Number(file.split('\n', 1)[0])
  const children = readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false
    const stat = readIfPresent(`/proc/${name}/stat`)
    return Number(stat.slice(stat.lastIndexOf(')') + 4).split(' ', 1)[0]) === postmaster
  })
  return [postmaster, ...children.map(Number)]
}

function readIfPresent(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Some of them end by themselves. */
function signalProcess(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (cause) {
    if (getErrorCode(cause) !== 'ESRCH') throw cause
  }
}
