/** A server that can open no more files: what a call gets, who says so, and that it goes on when it can again. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import { callgate, type Serving, serve } from '../../support/program.js'

let dataDir: string
let serving: Serving
/** A new connection would need a descriptor. */
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-descriptors-'))
  serving = await serve({ CALLGATE_DATA_DIR: dataDir, CALLGATE_GATE_DEADLINE_MS: '3000' })
})

afterEach(async () => {
  agent.destroy()
  await serving.end('SIGTERM')
  rmSync(dataDir, { recursive: true, force: true })
})

function ask(path: string, body?: object): Promise<{ status: number | undefined; text: string }> {
  const headers = { loginId: serving.keys.main, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const method = body ? 'POST' : 'GET'
    const sent = request(`${serving.url}${path}`, { agent, method, headers }, (response) => {
      text(response).then((all) => resolve({ status: response.statusCode, text: all }), reject)
    })
    sent.once('error', reject)
    sent.end(body && JSON.stringify(body))
  })
}

async function decide(): Promise<string> {
  const answer = await ask('/v1/decisions', { number: '2127360002', callKind: 'manual' })
  const { decision, reason } = JSON.parse(answer.text)
  return `${decision} ${reason}`
}

const limitTo = (files: string) =>
  execFileSync('prlimit', ['--pid', String(serving.pid), `--nofile=${files}:`])

it('blocks what needs a file that it cannot open, names it, and goes on when it can', async () => {
  expect(await decide()).toBe('block list-not-covering')
  const [limit = ''] =
    /(?<=Max open files +)\d+/.exec(
      execFileSync('cat', [`/proc/${serving.pid}/limits`], { encoding: 'utf8' }),
    ) ?? []
  // All below are in use, and stay so.
  limitTo('10')
  const file = join(dataDir, 'numbers.txt')
  writeFileSync(file, '2127360001\n')
  const environment = { CALLGATE_DATA_DIR: dataDir }
  for (const args of [
    ['us-dnc', '--area-codes', 'all'],
    ['canada-dnc', '--area-codes', 'all'],
    ['litigators'],
  ]) {
    const [name = '', ...more] = args
    expect(await callgate(['import', name, file, ...more], environment)).toMatchObject({ code: 0 })
  }
  await until('the lists are found', async () => (await decide()) === 'block list-unreadable')
  const ready = await ask('/readyz')
  expect(ready).toMatchObject({ status: 503, text: expect.stringContaining('EMFILE') })
  const doctor = await callgate(['doctor', '--url', serving.url], environment)
  expect(doctor.code).toBe(2)
  // A new connection is one that it cannot take.
  expect(doctor.out).toContain(`[NOW ] server: no callgate answers at ${serving.url}`)
  limitTo(limit)
  await until('the lists are read', async () => !/list-/.test(await decide()))
  await until('it is ready', async () => (await ask('/readyz')).status === 200)
})
