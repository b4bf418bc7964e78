/**
 * Runs the conformance suite against a fresh callgate: compiles, serves from a temporary folder, creates
 * the keys and the project that the cases need, runs the suite on the sandbox account, stops the server.
 * Options are passed on to the suite, such as `--json report.json` and `--section scrub`.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runChild, startChild } from './children.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
/** The path of `dist/main.js` of another callgate to test. */
const program = process.env.CONFORMANCE_PROGRAM ?? join(root, 'dist/main.js')
const home = join(dirname(program), '..')
const limitMs = 60_000

const folder = mkdtempSync(join(tmpdir(), 'callgate-conformance-'))
const environment = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('CALLGATE_')),
  ),
  CALLGATE_DATA_DIR: join(folder, 'var'),
  CALLGATE_HTTP_PORT: '0',
  CALLGATE_WEBHOOKS_ALLOW: '127.0.0.0/8',
  CALLGATE_LOG_LEVEL: 'warn',
}

const project = 'CONFORMANCE'

async function command(...args) {
  const options = { cwd: home, env: environment }
  const { code, out, err } = await runChild(process.execPath, [program, ...args], options)
  if (code !== 0) throw new Error(`callgate ${args.join(' ')}: ${err}`)
  return out.trim()
}

/** Resolves with the URL that a first start prints, and the keys in the file that it writes before. */
function started(server) {
  return new Promise((resolve, reject) => {
    let seen = ''
    const give = (problem) => reject(new Error(`${problem}:\n${seen}`))
    const timer = setTimeout(() => give(`no address within ${limitMs} ms`), limitMs)
    server.stdout.on('data', (bytes) => {
      seen += bytes
      const url = /listens on (\S+)\n/.exec(seen)?.[1]
      if (!url) return
      clearTimeout(timer)
      const keys = readFileSync(join(folder, 'var/first-keys.txt'), 'utf8')
      const keyOf = (account) => new RegExp(`^${account}: (\\S{44})$`, 'm').exec(keys)?.[1]
      resolve({ url, main: keyOf('main'), sandbox: keyOf('sandbox') })
    })
    server.once('exit', (code) => {
      clearTimeout(timer)
      give(`serve ended with ${code}`)
    })
  })
}

/** Creates what the cases need and the API cannot create; they write to the account sandbox. */
async function prepare() {
  const account = ['--account', 'sandbox']
  const keyOf = (id, role = 'Administrator') =>
    command('keys', 'create', '--account', id, '--role', role)
  const revoked = await keyOf('sandbox')
  const list = await command('keys', 'list', ...account)
  await command('keys', 'revoke', [...list.matchAll(/^(key-\w+) /gm)].at(-1)[1])
  for (const id of ['scanless', 'unused', 'canadian']) {
    await command('accounts', 'create', id, '--name', id)
  }
  await command('accounts', 'set', 'scanless', '--may-scan', 'no')
  await command('accounts', 'set', 'canadian', '--country', 'CA')
  return {
    agent: await keyOf('sandbox', 'Agent'),
    revoked,
    scanless: await keyOf('scanless'),
    unused: await keyOf('unused'),
    canadian: await keyOf('canadian'),
    facts: await prepareProject(account),
  }
}

/** A project with its own calling hours, a validated subscription and two registrations. */
async function prepareProject(account) {
  await command('projects', 'create', project, ...account, '--name', 'Conformance')
  const hours = ['--mon-fri', '10:00-16:00', '--sat', '10:00-16:00', '--sun', 'none']
  await command('projects', 'hours', project, 'NY', ...account, ...hours)
  const validation = [
    '--status',
    'validated',
    '--org-id',
    '12345678-9012',
    '--san',
    '123456-789012-34',
  ]
  const covered = ['--expiration', '2099-12-31', '--area-codes', '212,305']
  await command('projects', 'ftc-validation', project, ...account, ...validation, ...covered)
  const submitted = ['--submitted-on', '2026-01-15T12:00:00Z', '--confirmation', 'C-1']
  for (const [state, status] of [
    ['FL', 'approved'],
    ['TX', 'submitted'],
  ]) {
    const about = [project, state, ...account, '--status', status, ...submitted]
    await command('projects', 'registration', ...about)
  }
  const facts = join(folder, 'facts.json')
  const window = { place: 'us-baseline', from: '10:00:00', until: '16:00:00' }
  writeFileSync(facts, JSON.stringify({ project: { code: project, hours: window } }))
  return facts
}

function suite({ url, main, sandbox }, made) {
  const { agent, revoked, scanless, unused, canadian, facts } = made
  const args = [
    ...['--base-url', url, '--login-id', sandbox, '--second-login-id', main],
    ...['--agent-login-id', agent, '--revoked-login-id', revoked],
    ...['--scanless-login-id', scanless, '--unused-login-id', unused],
    ...['--canadian-login-id', canadian],
    ...['--account-id', 'sandbox', '--receiver-host', '127.0.0.1'],
    ...['--facts', 'callgate-sandbox', '--facts', facts, ...process.argv.slice(2)],
  ]
  const child = startChild(process.execPath, [join(root, 'scripts/conformance.mjs'), ...args], {
    stdio: 'inherit',
  })
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
}

let code = 1
if (!process.env.CONFORMANCE_PROGRAM) {
  await runChild(process.execPath, [join(root, 'scripts/build-if-needed.mjs')])
}
const server = startChild(process.execPath, [program, 'serve'], {
  cwd: home,
  env: environment,
  stdio: ['ignore', 'pipe', 'inherit'],
})
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
try {
  const serving = await started(server)
  server.removeAllListeners('exit')
  code = await suite(serving, await prepare())
} catch (error) {
  console.error(`conformance: ${error.message}`)
} finally {
  if (server.exitCode === null) {
    server.kill('SIGTERM')
    await new Promise((resolve) => server.once('exit', resolve))
  }
  rmSync(folder, { recursive: true, force: true })
}
process.exit(code)
