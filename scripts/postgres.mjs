/**
 * Starts a PostgreSQL of Debian's package in a new folder, on a free port of 127.0.0.1, and prints its address;
 * user `callgate` needs no password. Ends with its standard input, and leaves nothing. With `--unsafe` it never
 * waits for the disk, which is fast enough for tests and loses everything with the power. Other arguments are its
 * settings, in the form name=value. In a run of tests the first start keeps its new data in the folder of the run, and
 * later ones copy them.
 */
import { spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const packages = '/usr/lib/postgresql'
const version = existsSync(packages) ? readdirSync(packages).sort((a, b) => b - a)[0] : undefined
if (version === undefined)
  fail(`PostgreSQL is not in ${packages}; install it: apt-get install postgresql`)
const program = (name) => join(packages, version, 'bin', name)
const folder = mkdtempSync(join(tmpdir(), 'callgate-postgres-'))

// It refuses to run as root.
const ids = userInfo().uid === 0 ? readIds('postgres') : {}
if (ids.uid !== undefined) chownSync(folder, ids.uid, ids.gid)
const asUser = { ...ids, cwd: folder }

function readIds(user) {
  const [uid, gid] = ['-u', '-g'].map((what) => {
    const { status, stdout } = spawnSync('id', [what, user], { encoding: 'utf8' })
    if (status !== 0)
      fail(`there is no user ${user}; install PostgreSQL: apt-get install postgresql`)
    return Number(stdout)
  })
  return { uid, gid }
}

function fail(message) {
  process.stderr.write(`postgres: ${message}\n`)
  process.exit(1)
}

const data = join(folder, 'data')
const ready = process.env.TEST_FOLDER && join(process.env.TEST_FOLDER, 'postgres-data')
if (ready && existsSync(ready)) run('cp', ['-a', ready, data])
else {
  initialize()
  if (ready) keep(ready)
}

function initialize() {
  const login = ['-U', 'callgate', '-A', 'trust']
  const texts = ['-E', 'UTF8', '--locale=C.UTF-8']
  run(program('initdb'), ['-D', data, ...login, ...texts, '--no-sync'])
}

/** Another start may do the same at the moment; only complete data ever have the name. */
function keep(path) {
  const copy = `${path}-${process.pid}`
  run('cp', ['-a', data, copy])
  try {
    renameSync(copy, path)
  } catch {
    rmSync(copy, { recursive: true })
  }
}

function run(command, args, as = asUser) {
  const { status, stderr } = spawnSync(command, args, { ...as, encoding: 'utf8' })
  if (status !== 0) fail(stderr)
}

const port = await new Promise((resolve) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port: free } = server.address()
    server.close(() => resolve(free))
  })
})
const unsafe = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']
const options = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=200',
  ...process.argv.slice(2).flatMap((argument) => (argument === '--unsafe' ? unsafe : argument)),
].flatMap((option) => ['-c', option])
const server = spawn(program('postgres'), ['-D', data, '-p', String(port), ...options], {
  ...asUser,
  stdio: ['ignore', 'ignore', 'pipe'],
})
let log = ''
server.stderr.setEncoding('utf8').on('data', (text) => {
  log = (log + text).slice(-10_000)
})
server.on('exit', () => {
  rmSync(folder, { recursive: true, force: true })
  process.exit()
})
// Ends at once, also with connections that are open.
process.stdin.on('end', () => server.kill('SIGQUIT')).resume()
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => server.kill('SIGQUIT'))

const isReady = ['-h', '127.0.0.1', '-p', String(port), '-t', '1']
for (let left = 600; spawnSync(program('pg_isready'), isReady).status !== 0; left -= 1) {
  if (left === 0) fail(`it does not answer:\n${log}`)
  await sleep(50)
}
process.stdout.write(`postgres://callgate@127.0.0.1:${port}\n`)
