/**
 * Several servers over one PostgreSQL, and an edge, on this machine, to try out: `npm run cluster`, with `-- --servers 5` for more
 * than three. Prints what to paste into a shell. Ends with Ctrl-C, and leaves nothing.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { runChild, startChild } from './children.mjs'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const { values } = parseArgs({
  options: { servers: { type: 'string', default: '3' }, port: { type: 'string', default: '8101' } },
})
const count = Number(values.servers)
const firstPort = Number(values.port)
if (!Number.isInteger(count) || count < 1 || count > 9)
  fail(`--servers '${values.servers}': must be 1 to 9`)
if (!Number.isInteger(firstPort)) fail(`--port '${values.port}': must be a number`)

function fail(message) {
  process.stderr.write(`cluster: ${message}\n`)
  process.exit(2)
}

/** The first match in what it writes. */
function waitFor(child, name, pattern) {
  return new Promise((resolve, reject) => {
    let seen = ''
    const listen = (bytes) => {
      seen += bytes
      const found = pattern.exec(seen)
      if (found) resolve(found[0])
    }
    child.stdout.on('data', listen)
    child.stderr?.on('data', listen)
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}:\n${seen}`)))
  })
}

const folder = mkdtempSync(join(tmpdir(), 'callgate-cluster-'))
const children = []
let isEnding = false
async function end(code) {
  if (isEnding) return
  isEnding = true
  for (const child of children.reverse()) {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGTERM')) await ended
  }
  rmSync(folder, { recursive: true, force: true })
  process.exit(code)
}
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => void end(0))

async function startServer(index, settings) {
  const name = `node-${index}`
  const child = startChild(process.execPath, [here('../dist/main.js'), 'serve'], {
    env: {
      ...process.env,
      CALLGATE_DATA_DIR: join(folder, name),
      CALLGATE_HTTP_PORT: String(firstPort + index - 1),
      CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  await waitFor(child, name, /listens on \S+/)
  return `http://127.0.0.1:${firstPort + index - 1}`
}

try {
  const postgres = startChild(process.execPath, [here('postgres.mjs')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  children.push(postgres)
  const server = (await waitFor(postgres, 'PostgreSQL', /postgres:\S+\n/)).trim()
  const client = new pg.Client(`${server}/postgres`)
  await client.connect()
  await client.query('create database callgate')
  await client.end()
  const database = {
    CALLGATE_STORAGE_ENGINE: 'postgres',
    CALLGATE_STORAGE_URL: `${server}/callgate`,
    CALLGATE_STORAGE_TLS: 'false',
  }
  const urls = []
  for (let index = 1; index <= count; index += 1) {
    urls.push(await startServer(index, database))
  }
  const keys = readFileSync(join(folder, 'node-1', 'first-keys.txt'), 'utf8')
  const key = /^sandbox: (\S+)/m.exec(keys)?.[1]
  const edgeKey = join(folder, 'edge-key')
  const create = ['keys', 'create', '--account', 'sandbox', '--role', 'Administrator']
  const made = await runChild(
    process.execPath,
    [here('../dist/main.js'), ...create, '--can', 'edge,records', '--label', 'edge'],
    { env: { ...process.env, CALLGATE_DATA_DIR: join(folder, 'command'), ...database } },
  )
  if (made.code !== 0) throw new Error(made.err)
  writeFileSync(edgeKey, made.out, { mode: 0o600 })
  const edge = await startServer(count + 1, {
    CALLGATE_EDGE_CENTERS: `[${urls.join(', ')}]`,
    CALLGATE_EDGE_LOGIN_ID_FILE: edgeKey,
  })
  const last = urls.at(-1)
  const request = `-H 'loginId: ${key}' -H 'Content-Type: application/json'`
  process.stdout.write(`${count} servers over ${server}/callgate: ${urls.join(' ')}
An edge that copies the sandbox from them: ${edge}

A decision of the last one, an opt-out on the first, and the same decision again:
  curl -s ${last}/v1/decisions ${request} -d '{"number":"212-555-0100","callKind":"manual"}'
  curl -s ${urls[0]}/app/main/rpc/pdnc ${request} -d '{"phoneList":"2125550100","actionType":"add"}'
  curl -s ${last}/v1/decisions ${request} -d '{"number":"212-555-0100","callKind":"manual"}'
The edge, and an opt-out that it passes on to the others:
  curl -s ${edge}/v1/decisions ${request} -d '{"number":"212-555-0100","callKind":"manual"}'
  curl -s ${edge}/app/main/rpc/pdnc ${request} -d '{"phoneList":"6465550100","actionType":"add"}'
  curl -s ${last}/v1/decisions ${request} -d '{"number":"646-555-0100","callKind":"manual"}'
Which of them is the leader, and how current each one is:
  for url in ${urls.join(' ')} ${edge}; do curl -s $url/metrics | grep -E '^callgate_(leader|change_feed)'; done
Ctrl-C ends them, and removes their data.
`)
} catch (cause) {
  process.stderr.write(`cluster: ${cause.message}\n`)
  await end(1)
}
