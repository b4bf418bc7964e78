/** From the answers of the national database to a call that is blocked, with the program as an operator runs it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { DecisionReply } from '../../../src/gate/record/decision-document.js'
import { callgate, type Serving, serve } from '../../support/program.js'

const folder = mkdtempSync(join(tmpdir(), 'callgate-reassigned-'))
const environment = {
  CALLGATE_DATA_DIR: join(folder, 'var'),
  CALLGATE_GATE_DEADLINE_MS: '10000',
}
const number = '2127365001'
const msPerDay = 86_400_000
const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10)
const now = Date.now()
const today = dayOf(now)
const consentOn = dayOf(now - 60 * msPerDay)
let server: Serving

async function load(name: string, text: string, ...args: readonly string[]): Promise<void> {
  const file = join(folder, `${name}.csv`)
  writeFileSync(file, text)
  expect(await callgate(['import', name, file, ...args], environment)).toMatchObject({ code: 0 })
}

async function post(path: string, body: object): Promise<Response> {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', loginId: server.keys.main },
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(200)
  return response
}

async function callByAgent() {
  const reply = await post('/v1/decisions', { number, callKind: 'ai' })
  const decision = (await reply.json()) as DecisionReply
  return { decision, finding: decision.findings.find(({ check }) => check === 'reassigned') }
}

/** Asks again until the server has noticed a new file. */
async function callUntil(verdict: string) {
  for (;;) {
    const asked = await callByAgent()
    if (asked.finding?.verdict === verdict) return asked
    await sleep(50)
  }
}

async function notesOfDoctor(): Promise<readonly string[]> {
  const { out } = await callgate(['doctor', '--json', '--url', server.url], environment)
  const { findings } = JSON.parse(out) as { findings: { subject: string }[] }
  return findings.map(({ subject }) => subject)
}

beforeAll(async () => {
  server = await serve(environment)
  await load('us-dnc', '2127360000\n', '--area-codes', 'all')
  await load('litigators', '2127360001\n')
  const record = { phoneNumber: number, type: 'P', dateOfLastContact: consentOn }
  await post('/app/main/rpc/ebr', { ebrList: [record] })
})
afterAll(async () => {
  await server.end('SIGTERM')
  rmSync(folder, { recursive: true })
})

it('a number that the imported answers call reassigned is blocked, and the record proves what was asked', async () => {
  const { finding } = await callUntil('pass')
  expect(finding?.says).toEqual([{ code: 'no-source-of-reassigned' }])
  expect(await notesOfDoctor()).toContain('reassigned')

  await load('reassigned', `tn,date,disconnected\n${number},${consentOn},no\n`, '--as-of', today)
  for (;;) {
    const { finding: found } = await callByAgent()
    if (found?.facts?.answer === 'no') {
      expect(found.facts).toMatchObject({ safeHarbor: true, askedAbout: consentOn, number })
      break
    }
    await sleep(50)
  }
  expect(await notesOfDoctor()).not.toContain('reassigned')

  await load('reassigned', `tn,date,disconnected\n${number},${consentOn},yes\n`, '--as-of', today)
  const { decision } = await callUntil('deny')
  expect(decision).toMatchObject({ decision: 'block', reason: 'reassigned' })
  const stored = await fetch(`${server.url}/v1/decisions/${decision.id}`, {
    headers: { loginId: server.keys.main },
  })
  const { findings } = (await stored.json()) as DecisionReply
  expect(findings.find(({ check }) => check === 'reassigned')?.facts).toMatchObject({
    answer: 'yes',
    number,
    askedAbout: consentOn,
    because: 'consent',
    safeHarbor: false,
    release: expect.stringMatching(/^\d{4}-\d{2}-15$/),
    askedBy: 'own-subscription',
    source: 'imported files',
    askedAt: `${today}T00:00:00Z`,
  })
})
