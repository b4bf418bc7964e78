/**
 * The numbers as the primary key of a PostgreSQL table, queried by pgbench with a prepared statement
 * over a Unix socket. If started by root, it runs as the user `postgres`: the server refuses root.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  createWriteStream,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Missing, Store } from './store.js'

const run = promisify(execFile)
const name = 'PostgreSQL, an indexed table'
const isRoot = process.getuid?.() === 0
const versionsFolder = '/usr/lib/postgresql'

function programs(): string | undefined {
  if (!existsSync(versionsFolder)) return undefined
  const [newest] = readdirSync(versionsFolder).sort((one, other) => Number(other) - Number(one))
  const folder = join(versionsFolder, newest ?? '', 'bin')
  return existsSync(join(folder, 'pgbench')) ? folder : undefined
}

export async function postgresStore(): Promise<Store | Missing> {
  const bin = programs()
  if (!bin) return { name, why: `no pgbench in ${versionsFolder} (apt-get install postgresql)` }
  const folder = mkdtempSync(join(tmpdir(), 'callgate-bench-postgres-'))
  chmodSync(folder, 0o777)
  const data = join(folder, 'data')
  const [command = '', ...before] = isRoot ? ['runuser', '-u', 'postgres', '--'] : ['env']
  const as = (program: string, ...args: readonly string[]) =>
    run(command, [...before, join(bin, program), ...args], { cwd: folder })
  const sql = async (text: string) =>
    (await as('psql', '-h', folder, '-At', '-c', text, 'postgres')).stdout.trim()
  await as('initdb', '-D', data, '--auth=trust')
  const options = `-k ${folder} -c listen_addresses='' -c shared_buffers=1GB -c fsync=off`
  // The server would keep the output open, and this would wait for it.
  const start = [join(bin, 'pg_ctl'), '-D', data, '-w', '-o', options, 'start']
  const starting = spawn(command, [...before, ...start], { stdio: 'ignore', cwd: folder })
  await once(starting, 'exit')
  return {
    name,
    async fill(numbers) {
      const file = join(folder, 'numbers.csv')
      const stream = createWriteStream(file)
      for (let at = 0; at < numbers.length; at += 100_000) {
        stream.write(`${numbers.subarray(at, at + 100_000).join('\n')}\n`)
      }
      stream.end()
      await once(stream, 'finish')
      await sql('create table numbers (number bigint primary key)')
      await sql(`copy numbers from '${file}'`)
      await sql('analyze numbers')
      rmSync(file)
    },
    bytes: async () => Number(await sql("select pg_total_relation_size('numbers')")),
    async lookUp(numbers) {
      const script = join(folder, 'script.sql')
      // Random numbers in the range of the stored ones, so that some are found and some are not.
      const least = Math.min(...numbers.subarray(0, 1_000))
      const most = Math.max(...numbers.subarray(0, 1_000))
      writeFileSync(
        script,
        `\\set number random(${least}, ${most})\nselect 1 from numbers where number = :number;\n`,
      )
      const many = ['-n', '-M', 'prepared', '-c', '1', '-t', String(numbers.length)]
      const { stdout } = await as('pgbench', '-h', folder, ...many, '-f', script, 'postgres')
      const averageMs = Number(/latency average = ([\d.]+) ms/.exec(stdout)?.[1])
      return averageMs * 1e6
    },
    async close() {
      await as('pg_ctl', '-D', data, '-m', 'immediate', 'stop')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
