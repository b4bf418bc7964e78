/** PostgreSQL of Debian's package in a new folder, and standbys of it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { runChild, startChild } from '../../scripts/children.mjs'
import { getErrorCode } from '../../src/errors.js'
import { until } from '../e2e/asterisk/lab/until.js'
import { findFreePorts } from './free-port.js'

type Row = Readonly<Record<string, unknown>>

export interface PostgresServer {
  /** Without a database. */
  readonly address: string
  query(sql: string, database: string): Promise<readonly Row[]>
  /** Sends the signal to every process of it. */
  signal(name: NodeJS.Signals): void
  end(): Promise<void>
}

/** `settings` are in the form `name=value`; its folder is made in `within`. */
export async function startPostgres(
  settings: readonly string[] = [],
  within = tmpdir(),
): Promise<PostgresServer> {
  const script = join(import.meta.dirname, '../../scripts/postgres.mjs')
  const child = spawn(process.execPath, [script, ...settings], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: within },
  })
  const [line] = (await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => {
      throw new Error('PostgreSQL has not started')
    }),
  ])) as [Buffer]
  const address = line.toString().trim()
  const query = createQuery(address)
  const [row] = await query('show data_directory', 'postgres')
  const folder = String(row?.data_directory)
  return {
    address,
    query,
    signal: createSignal(folder),
    async end() {
      child.stdin.end()
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

function createQuery(address: string): PostgresServer['query'] {
  return async (sql, database) => {
    const client = new pg.Client(`${address}/${database}`)
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }
}

function createSignal(folder: string): PostgresServer['signal'] {
  return (name) => {
    for (const pid of listProcesses(folder)) signalProcess(pid, name)
  }
}

export interface StandbyServer extends PostgresServer {
  /** From now on, commits of its primary wait for it. */
  confirmCommits(): Promise<void>
  /** Resolves once it takes writes. */
  promote(): Promise<void>
}

/** A copy of the server that follows it, over `line` if it is given: the port of a proxy to it. */
export async function startStandby(
  primary: PostgresServer,
  line = new URL(primary.address).port,
): Promise<StandbyServer> {
  const packages = '/usr/lib/postgresql'
  const bin = join(packages, readdirSync(packages).sort().at(-1) ?? '', 'bin')
  const folder = mkdtempSync(join(tmpdir(), 'callgate-standby-'))
  const { uid, gid } = userOf('postgres')
  chownSync(folder, uid, gid)
  const as = { uid, gid, cwd: folder }
  const data = join(folder, 'data')
  const { port: primaryPort, hostname, username } = new URL(primary.address)
  const copy = ['-h', hostname, '-p', line, '-U', username, '-D', data, '-R', '-c', 'fast']
  const copied = await runChild(join(bin, 'pg_basebackup'), copy, as)
  if (copied.code !== 0) throw new Error(copied.err)
  // Once it is promoted, it has no standby itself.
  appendFileSync(join(data, 'postgresql.auto.conf'), "synchronous_standby_names = ''\n")
  const [port] = await findFreePorts(1)
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
  ].flatMap((setting) => ['-c', setting])
  const child = startChild(join(bin, 'postgres'), ['-D', data, '-p', String(port), ...settings], {
    ...as,
    stdio: 'ignore',
  })
  const address = primary.address.replace(primaryPort, String(port))
  const query = createQuery(address)
  await until('the standby answers', async () => (await query('select 1', 'postgres')).length)
  await until('it follows its primary', async () => {
    const [row] = await primary.query(
      "select count(*)::int as c from pg_stat_replication where state = 'streaming'",
      'postgres',
    )
    return Number(row?.c) > 0
  })
  return {
    address,
    query,
    signal: createSignal(data),
    async confirmCommits() {
      await primary.query(`alter system set synchronous_standby_names = '*'`, 'postgres')
      await primary.query('select pg_reload_conf()', 'postgres')
      await until('commits wait for it', async () => {
        const states = await primary.query('select sync_state from pg_stat_replication', 'postgres')
        return states[0]?.sync_state === 'sync'
      })
    },
    async promote() {
      await query('select pg_promote()', 'postgres')
    },
    async end() {
      const ended = child.exitCode !== null || child.signalCode !== null
      if (!ended) {
        child.kill('SIGQUIT')
        await once(child, 'exit')
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function userOf(name: string): { readonly uid: number; readonly gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`${name}:`))
  const [, , uid, gid] = (line ?? '').split(':').map(Number)
  if (uid === undefined || gid === undefined) throw new Error(`there is no user ${name}`)
  return { uid, gid }
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
