/** `callgate attempts import` beside a server, and reports of outcomes to a server that is killed. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import { callgate, type Serving, serve } from '../../support/program.js'

let folder: string
let serving: Serving
let key: string

const dataDir = () => join(folder, 'data')
const faults = () => join(folder, 'faults')
const environment = () => ({
  CALLGATE_DATA_DIR: dataDir(),
  CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
  CALLGATE_GATE_DEADLINE_MS: '3000',
  CALLGATE_GATE_SUBJECTS: '[{ account: sandbox, subjects: [solar] }]',
  STORE_FAULTS: faults(),
})
const start = () => {
  const preload = join(import.meta.dirname, '../../support/store-faults.mjs')
  return serve(environment(), [], { preload })
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'callgate-attempts-'))
  mkdirSync(faults())
  serving = await start()
  key = serving.keys.sandbox
})
afterAll(async () => {
  await serving.end('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

async function send(path: string, body: object) {
  const response = await fetch(`${serving.url}${path}`, {
    method: 'POST',
    headers: { loginId: key, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}
const decide = async (number: string, more: object = {}) =>
  (await send('/v1/decisions', { number, callKind: 'autodialed', ...more })).body

function importText(text: string) {
  const file = join(folder, 'attempts.csv')
  writeFileSync(file, text)
  return callgate(['attempts', 'import', file, '--account', 'sandbox'], environment())
}

function query<Row>(sql: string): readonly Row[] {
  const database = new Sqlite(join(dataDir(), 'callgate.sqlite'), { readonly: true })
  try {
    return database.prepare<[], Row>(sql).all()
  } finally {
    database.close()
  }
}

const now = () => new Date(Date.now() - 60_000).toISOString()
const header = 'number,at,ref,channel,subject,person,answered\n'

it('counts the rows of a file beside a server, each reference once', async () => {
  const at = now()
  const rows = ['a', 'b', 'c'].map((ref) => `+13055550107,${at},${ref},text,,,`).join('\n')
  for (let again = 0; again < 2; again += 1) {
    const { code, err } = await importText(header + rows)
    expect(err).toContain('3 attempts')
    expect(code).toBe(0)
  }
  expect(query("select * from attempts where decision_id like 'sandbox/%'")).toHaveLength(3)
  expect(await decide('3055550107')).toMatchObject({ reason: 'too-many-attempts' })
})

it('knows what a call was for, and the debt that it was about', async () => {
  const at = now()
  const rows = (purpose: string) =>
    `number,at,ref,channel,subject,purpose\n2125550100,${at},debt,call,debt-7,${purpose}\n`
  const wrong = await importText(rows('debt'))
  expect(wrong.err).toContain("line 2: purpose 'debt': must be one of")
  const { code, err } = await importText(rows('debt-collection'))
  expect(err).toContain('1 attempt')
  expect(code).toBe(0)
  expect(query("select subject, purpose from attempts where decision_id = 'sandbox/debt'")).toEqual(
    [{ subject: 'debt-7', purpose: 'debt-collection' }],
  )
})

it('takes files of more rows than a request may have', async () => {
  const at = now()
  const rows = Array.from({ length: 2_500 }, (_, index) => `2125550100,${at},big-${index},call`)
  const { code, err } = await importText(`number,at,ref,channel\n${rows.join('\n')}\n`)
  expect(err).toContain('2,500 attempts')
  expect(code).toBe(0)
  expect(query("select 1 from attempts where decision_id like 'sandbox/big-%'")).toHaveLength(2_500)
})

it('names each bad row by line, field, value and rule, and then counts none', async () => {
  const at = now()
  const before = query('select * from attempts').length
  const { code, err } = await importText(
    `${header}2125550100,${at},good,call,,,yes\n2125550,${at},r2,call,,,\n2125550100,soon,r3,call,,,\n` +
      `2125550100,${at},r 4,fax,,,maybe\n`,
  )
  expect(code).not.toBe(0)
  for (const text of [
    "line 3: number '2125550': must be",
    "line 4: at 'soon': must be an instant",
    "line 5: ref 'r 4': must be",
    "line 5: channel 'fax': must be call or text",
    "line 5: answered 'maybe': must be true or false",
  ]) {
    expect(err).toContain(text)
  }
  const old = await importText(
    `${header}2125550100,2026-01-01T00:00:00Z,r6,call,,,\n2125550100,${at},r7,call,moon,,\n` +
      `2125550100,${at},r8,call,,,\n2125550101,${at},r8,call,,,\n3055550107,${at},a,call,,,\n`,
  )
  for (const text of [
    "line 2: at '2026-01-01T00:00:00Z': must be within the last 31 days",
    "line 3: subject 'moon': must be one of gate.subjects",
    "line 5: ref 'r8': stands for an attempt with other content",
    "line 6: ref 'a': stands for an attempt with other content",
  ]) {
    expect(old.err).toContain(text)
  }
  expect(query('select * from attempts')).toHaveLength(before)
  expect((await importText('number,when\n1,2\n')).err).toContain(
    "has no column 'when'; the columns are number, at",
  )
})

it('an outcome that was stored by a server that is killed before its answer is the same when it is reported again', async () => {
  const { id, decision } = await decide('2075550100')
  expect(decision).toBe('allow')
  const at = new Date().toISOString()
  const report = { state: 'answered', at, answeredBy: 'person', connectedAt: at }
  writeFileSync(join(faults(), 'stall'), '')
  const ofCall = `where decision_id = '${String(id)}'`
  const readCounted = () => query(`select counted from answered_calls ${ofCall}`)
  const unanswered = send(`/v1/decisions/${String(id)}/outcome`, report).catch(() => 'no answer')
  await until('the report is stored', () => readCounted().length > 0)
  await serving.end('SIGKILL')
  expect(await unanswered).toBe('no answer')
  rmSync(join(faults(), 'stall'))
  serving = await start()
  const isIndexed = async () =>
    (await send(`/v1/decisions/${String(id)}/outcome`, report)).status !== 503
  await until('the index is up to date', isIndexed)
  for (let again = 0; again < 3; again += 1) {
    expect(await send(`/v1/decisions/${String(id)}/outcome`, report)).toEqual({
      status: 200,
      body: { recorded: true },
    })
  }
  expect(query(`select placed, reach from attempts ${ofCall}`)).toEqual([{ placed: 1, reach: 2 }])
  expect(query("select answered, abandoned from abandonment_counts where rule = 'us-ftc'")).toEqual(
    [{ answered: 1, abandoned: 0 }],
  )
  // Maine lets a machine complete one call in 8 hours.
  expect(await decide('2075550100')).toMatchObject({ reason: 'too-many-attempts' })
})
