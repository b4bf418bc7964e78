/**
 * Checks a server of this API against the specification, only over HTTP:
 *
 *     npm run conformance -- --base-url http://127.0.0.1:8480 --login-id <key> --facts callgate-sandbox
 *
 * Exit codes: 0 all cases pass, 1 a case fails, 2 wrong usage or the server does not answer.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startChild } from './children.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'test/conformance')

const options = {
  'base-url': { type: 'string' },
  'rpc-url': { type: 'string' },
  'monitor-url': { type: 'string' },
  'auth-url': { type: 'string' },
  'login-id': { type: 'string' },
  'second-login-id': { type: 'string' },
  'agent-login-id': { type: 'string' },
  'scanless-login-id': { type: 'string' },
  'unused-login-id': { type: 'string' },
  'revoked-login-id': { type: 'string' },
  'canadian-login-id': { type: 'string' },
  'account-id': { type: 'string' },
  'receiver-host': { type: 'string' },
  facts: { type: 'string', multiple: true },
  section: { type: 'string', multiple: true },
  json: { type: 'string' },
  slow: { type: 'boolean' },
  help: { type: 'boolean' },
}

const usage = `Usage: npm run conformance -- --base-url <url> --login-id <key> [options]

  --base-url <url>          the server; addresses of parts that live elsewhere:
  --rpc-url, --monitor-url, --auth-url <url>
  --login-id <key>          of role Administrator or Supervisor; or variable CONFORMANCE_LOGIN_ID
  --second-login-id <key>   of another account
  --agent-login-id <key>    of role Agent in the first account, where agents may not remove
  --scanless-login-id <key> of an account that may not scan, or has no credits
  --unused-login-id <key>   of an account whose internal list was never written to
  --revoked-login-id <key>  that was valid once
  --canadian-login-id <key> of an account in Canada
  --account-id <id>         of the first key; needed for tokens where Auth/Validate does not tell it
  --receiver-host <host>    address of this machine that the server may send webhooks to
  --facts <file or name>    what is known of the server's numbers; may be given several times.
                            Shipped: ${shippedFacts().join(', ')}
  --section <name>          only these sections; may be given several times:
${wrapped(sectionNames())}
  --json <file>             also write the report of vitest there
  --slow                    wait for minutes where an answer takes its time

Cases write to the account of --login-id: entries of the internal list, consents, monitored numbers
and projects, all about fictional numbers, and take them back where the API can.
`

function shippedFacts() {
  return readdirSync(join(folder, 'facts')).map((name) => name.replace(/\.json$/, ''))
}

function sectionNames() {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.cases.ts'))
    .map((name) => name.replace('.cases.ts', ''))
}

function wrapped(words) {
  const lines = ['']
  for (const word of words) {
    if (`${lines.at(-1)} ${word}`.length > 70) lines.push('')
    lines[lines.length - 1] += ` ${word}`
  }
  return lines.map((line) => `                           ${line}`).join('\n')
}

function stop(problem) {
  console.error(problem)
  process.exit(2)
}

function readOptions() {
  try {
    return parseArgs({ options, args: withValues(process.argv.slice(2)) }).values
  } catch (error) {
    return stop(`${error.message}\n\n${usage}`)
  }
}

/** A key may begin with a dash; joined to its option with `=`, it is not read as an option. */
function withValues(words) {
  const joined = []
  for (let at = 0; at < words.length; at += 1) {
    const takesValue = options[words[at].replace(/^--/, '')]?.type === 'string'
    if (takesValue && at + 1 < words.length) {
      joined.push(`${words[at]}=${words[at + 1]}`)
      at += 1
    } else joined.push(words[at])
  }
  return joined
}

function address(values, name, otherwise) {
  const text = values[name] ?? otherwise
  if (text === undefined) stop(`--${name} is required\n\n${usage}`)
  try {
    return new URL(text).href.replace(/\/+$/, '')
  } catch {
    return stop(`--${name} '${text}': is no address such as http://127.0.0.1:8480`)
  }
}

function readFacts(name) {
  const shipped = join(folder, 'facts', `${name}.json`)
  const path = shippedFacts().includes(name) ? shipped : name
  if (!existsSync(path)) stop(`--facts '${name}': there is no such file`)
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    return stop(`--facts '${name}': ${error.message}`)
  }
}

function filesOf(sections) {
  const names = sectionNames()
  return sections.map((section) => {
    if (names.includes(section)) return `test/conformance/${section}.cases.ts`
    return stop(`--section '${section}': is none; there are:\n${wrapped(names)}`)
  })
}

/** The server must answer and accept the key. */
async function refuseUnreachable({ rpcUrl, loginId }) {
  const path = '/app/main/rpc/pdnc?actionType=count'
  let response
  try {
    const headers = { loginId }
    response = await fetch(`${rpcUrl}${path}`, { headers, signal: AbortSignal.timeout(10_000) })
  } catch (error) {
    stop(`${rpcUrl} does not answer: ${error.cause?.message ?? error.message}`)
  }
  if (response.status === 401) stop(`${rpcUrl} refuses the key of --login-id: 401`)
}

const values = readOptions()
if (values.help) {
  console.log(usage)
  process.exit(0)
}
const baseUrl = address(values, 'base-url')
const loginId = values['login-id'] ?? process.env.CONFORMANCE_LOGIN_ID
if (!loginId) stop(`--login-id is required\n\n${usage}`)
const run = {
  baseUrl,
  rpcUrl: address(values, 'rpc-url', baseUrl),
  monitorUrl: address(values, 'monitor-url', baseUrl),
  authUrl: address(values, 'auth-url', baseUrl),
  loginId,
  secondLoginId: values['second-login-id'],
  agentLoginId: values['agent-login-id'],
  scanlessLoginId: values['scanless-login-id'],
  unusedLoginId: values['unused-login-id'],
  revokedLoginId: values['revoked-login-id'],
  canadianLoginId: values['canadian-login-id'],
  accountId: values['account-id'],
  receiverHost: values['receiver-host'],
  slow: values.slow ?? false,
  facts: Object.assign({}, ...(values.facts ?? []).map(readFacts)),
}
const files = filesOf(values.section ?? [])
await refuseUnreachable(run)

const vitest = [
  ...[join(root, 'node_modules/vitest/vitest.mjs'), 'run'],
  ...['--config', join(root, 'vitest.conformance.config.ts'), ...files],
]
const child = startChild(process.execPath, vitest, {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    CONFORMANCE_RUN: JSON.stringify(run),
    ...(values.json && { CONFORMANCE_JSON: resolve(values.json) }),
  },
})
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
child.once('exit', (code) => process.exit(code === 0 ? 0 : 1))
