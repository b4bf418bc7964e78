/** Where `twoPeople.for` names `lift-opt-out`, a consent ends no opt-out in force until a second person agrees, whatever way it came. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { importEbrRecords } from '../../src/service/records/records-import.js'
import { createPersonKey } from '../support/person-keys.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
let ann: string
let ben: string
let service: string
let last = 2_127_365_000

beforeAll(async () => {
  running = await openTestCallgate({
    environment: { CALLGATE_TWO_PEOPLE_FOR: '["lift-opt-out"]' },
  })
  ann = (await createPersonKey(running, 'ann', { role: 'Administrator' })).key
  ben = (await createPersonKey(running, 'ben', { role: 'Administrator' })).key
  const rights = ['look-up', 'records', 'consent'] as const
  const of = { accountId: 'main', role: 'Supervisor', label: 'service', rights } as const
  service = (await running.callgate.keys.create(of)).key
})
afterAll(() => running.end())

async function send(path: string, body: object | undefined, key = ann) {
  const response = await (body ? running.postJson(path, body, key) : running.get(path, key))
  const text = await response.text()
  return { status: response.status, text, json: JSON.parse(text) }
}

/** A number that has opted out, of a project or the Master Project. */
async function optOut(projId?: string): Promise<string> {
  last += 1
  const phoneList = String(last)
  const added = await send('/app/main/rpc/pdnc', { actionType: 'add', phoneList, projId })
  expect(added.status, added.text).toBe(200)
  running.clock.at += 60_000
  return phoneList
}

const consentOf = (number: string) => ({
  ...{ number, givenAt: new Date(running.clock.at).toISOString(), seller: 'Example Inc.' },
  ...{ channel: 'phone', method: 'oral', wording: 'You may call me.' },
})

async function isRevoked(number: string, projectId?: string): Promise<boolean> {
  const of = projectId === undefined ? '' : `&projectId=${projectId}`
  const { json } = await send(`/v1/consents?number=${number}${of}`, undefined)
  expect(json.current).not.toBeNull()
  const { text } = await send('/v1/decisions', { number, callKind: 'ai', projectId })
  const isBlocked = text.includes('"reason":"internal-dnc"')
  expect(json.current.isEffective).toBe(!isBlocked)
  return isBlocked
}

const findId = (text: string) => /\bch-[0-9a-f]{20}\b/.exec(text)?.[0] ?? ''

async function approve(id: string) {
  const { requestHash } = (await send(`/v1/changes/${id}`, undefined, ben)).json
  return await send(`/v1/changes/${id}/approve`, { requestHash }, ben)
}

it('an oral consent of now waits, and ends it when a second person approves', async () => {
  const number = await optOut()
  const stored = await send('/v1/consents', consentOf(number), service)
  expect(stored.status, stored.text).toBe(200)
  expect(stored.text).toContain('waits for a second person')
  expect(await isRevoked(number)).toBe(true)
  // The same once more is the same change.
  running.clock.at += 60_000
  const again = await send('/v1/consents', consentOf(number), service)
  const id = findId(stored.text)
  expect(findId(again.text)).toBe(id)
  const done = await approve(id)
  expect(done.status, done.text).toBe(200)
  expect(await isRevoked(number)).toBe(false)
})

it('an opt-out that comes after the consent is not ended with the earlier one', async () => {
  const number = await optOut()
  const stored = await send('/v1/consents', consentOf(number), service)
  running.clock.at += 60_000
  const body = { number, channel: 'call-voice', source: 'agent', said: 'stop' }
  expect((await send('/v1/opt-outs', body)).status).toBe(200)
  expect((await approve(findId(stored.text))).status).toBe(409)
  expect(await isRevoked(number)).toBe(true)
})

it('nor does a record of the older API, an import, or one of another project', async () => {
  const [byField, byImport] = [await optOut(), await optOut()]
  const day = new Date(running.clock.at + 86_400_000).toISOString().slice(0, 10)
  running.clock.at += 2 * 86_400_000
  const record = { phoneNumber: byField, type: 'P', dateOfLastContact: day }
  const stored = await send('/app/main/rpc/ebr', { ebrList: [record], keepBetterEBR: 0 })
  expect(stored.status, stored.text).toBe(200)
  expect(await isRevoked(byField)).toBe(true)

  const path = join(running.dataDir, 'consents.csv')
  writeFileSync(path, `number,type,date\n${byImport},P,${day}\n`)
  const { storage, projects, changes, changeHead, runtime } = running.callgate
  const parts = { storage, projects, changes, changeHead, clock: runtime.clock }
  await importEbrRecords(parts, { accountId: 'main', path, source: 'crm', type: undefined })
  expect(await isRevoked(byImport)).toBe(true)
})

it('a project that begins to use the consents of another list ends none by that', async () => {
  const made = await send('/v1.5/projects', {
    ...{ ProjectCode: 'OWN', ProjectName: 'Own lists' },
    ...{ InheritInternalDnc: false, InheritEbr: false },
  })
  expect(made.status, made.text).toBe(201)
  const number = await optOut('OWN')
  expect((await send('/v1/consents', consentOf(number), service)).status).toBe(200)
  const switched = await send('/v1.5/projects', { ProjectCode: 'OWN', InheritEbr: true })
  expect(switched.status, switched.text).toBe(200)
  expect(await isRevoked(number, 'OWN')).toBe(true)
})
