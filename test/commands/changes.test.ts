/** `callgate changes`, and the commands that ask for a change: two users of the operating system, or a user and a key. */
import { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { registerChanges } from '../../src/commands/accounts/changes.js'
import { registerKeys } from '../../src/commands/accounts/keys.js'
import { registerProjects } from '../../src/commands/accounts/projects.js'
import type { RegisterCommand } from '../../src/commands/command.js'
import { registerErase } from '../../src/commands/erase.js'
import { registerEvidence } from '../../src/commands/evidence/evidence.js'
import { registerRecords } from '../../src/commands/records/records.js'
import { systemClock } from '../../src/runtime/runtime.js'
import { runCommand } from '../support/run-command.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

/** Who runs the commands. */
const person = { name: 'ann' }
const { userInfo } = os

const kinds = '["lift-opt-out", "widen-hours", "erase", "export"]'
const number = '2125550171'
let running: TestCallgate

beforeAll(async () => {
  os.userInfo = (() => ({ ...userInfo(), username: person.name })) as typeof userInfo
  syncBuiltinESMExports()
  // Commands have the clock of the machine.
  const at = systemClock.now()
  running = await openTestCallgate({ at, environment: { CALLGATE_TWO_PEOPLE_FOR: kinds } })
})
afterEach(() => {
  person.name = 'ann'
})
afterAll(async () => {
  os.userInfo = userInfo
  syncBuiltinESMExports()
  await running.end()
})

const run = (add: RegisterCommand, ...args: readonly string[]) =>
  runCommand(add, args, { dataDir: running.dataDir, more: `twoPeople: {for: ${kinds}}\n` })

const changes = (...args: readonly string[]) => run(registerChanges, 'changes', ...args)

const findId = (text: string) => /\bch-[0-9a-f]{20}\b/.exec(text)?.[0] ?? ''

async function findHash(id: string): Promise<string> {
  const { out } = await changes('show', id)
  return /^hash: (\w+)$/m.exec(out)?.[1] ?? ''
}

/** Asks as Ann; Ben approves. */
async function pass(add: RegisterCommand, args: readonly string[]): Promise<string> {
  const asked = await run(add, ...args)
  expect([asked.code, asked.err]).toEqual([1, expect.stringContaining('approval-needed')])
  const id = findId(asked.err)
  const hash = await findHash(id)
  const own = await changes('approve', id, '--hash', hash)
  expect([own.code, own.err]).toEqual([1, expect.stringContaining('somebody else must decide')])
  person.name = 'ben'
  const approved = await changes('approve', id, '--hash', hash, '--reason', 'I have seen it')
  expect([approved.code, approved.err]).toEqual([0, expect.stringContaining(`${id} is `)])
  person.name = 'ann'
  return approved.err
}

it('carries out what a key has asked for, in the name of the user', async () => {
  const pdnc = (body: object) => running.postJson('/app/main/rpc/pdnc', body, running.keys.main)
  await pdnc({ actionType: 'add', phoneList: number })
  const asked = await pdnc({ actionType: 'remove', phoneList: number, reason: 'a letter' })
  const id = findId(await asked.text())
  const listed = await changes('list', '--state', 'waiting')
  expect(listed.out).toContain(id)
  expect(listed.out).not.toContain(number)
  const shown = await changes('show', id)
  expect(shown.out).toContain(`"phoneList":"${number}"`)
  const wrong = await changes('approve', id, '--hash', '0'.repeat(64))
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('requestHash')])
  const done = await changes('approve', id, '--hash', await findHash(id))
  expect([done.code, done.err]).toEqual([0, expect.stringContaining('is done: ending one opt-out')])
  const status = await pdnc({ actionType: 'status', phoneList: number })
  expect(await status.text()).toContain('"onList":false')
  const audit = await running.callgate.storage.db
    .selectFrom('audit')
    .selectAll()
    .where('action', '=', 'opt-out.removed')
    .executeTakeFirstOrThrow()
  expect(audit).toMatchObject({ who: 'user:ann', subject: number, reason: 'a letter' })
  expect(audit.after).toContain(id)
})

it('tells people who share a user of the system apart by --person, and a key by who made it', async () => {
  const hours = ['projects', 'hours', 'main', 'NY']
  const set = ['--mon-fri', '09:00-17:00', '--sat', 'none', '--sun', 'none']
  expect((await run(registerProjects, ...hours, ...set)).code).toBe(0)
  const id = findId((await run(registerProjects, '--person', 'Ann', ...hours, '--remove')).err)
  const hash = await findHash(id)
  const verdict = ['approve', id, '--hash', hash]
  for (const same of [['--person', 'ann'], []]) {
    const own = await run(registerChanges, ...same, 'changes', ...verdict)
    expect([own.code, own.err]).toEqual([1, expect.stringContaining('somebody else must decide')])
  }
  const odd = await run(registerChanges, '--person', 'a/b', 'changes', ...verdict)
  expect([odd.code, odd.err]).toEqual([2, expect.stringContaining("--person 'a/b': must be one")])
  const made = await run(registerKeys, '--person', 'ann', 'keys', 'create', '--label', 'of ann')
  const program = ['keys', 'create', '--for', 'service', '--label', 'service']
  expect((await run(registerKeys, '--person', 'ann', ...program)).code).toBe(0)
  const { db } = running.callgate.storage
  const keys = await db.selectFrom('api_keys').select(['label', 'root', 'is_personal']).execute()
  for (const [label, is_personal] of [
    ['of ann', 1],
    ['service', 0],
  ] as const) {
    expect(keys).toContainEqual({ label, root: 'user:ann/ann', is_personal })
  }
  const byKey = await running.postJson(
    `/v1/changes/${id}/approve`,
    { requestHash: hash },
    made.out.trim(),
  )
  expect([byKey.status, await byKey.text()]).toEqual([403, expect.stringContaining('user:ann/ann')])
  const other = await run(registerChanges, '--person', 'ben', 'changes', ...verdict)
  expect([other.code, other.err]).toEqual([0, expect.stringContaining('is done')])
})

it('refuses one', async () => {
  const hours = ['projects', 'hours', 'main', 'NJ', '--remove']
  const set = ['--mon-fri', '09:00-17:00', '--sat', 'none', '--sun', 'none']
  expect((await run(registerProjects, ...hours.slice(0, 4), ...set)).code).toBe(0)
  const id = findId((await run(registerProjects, ...hours)).err)
  const hash = await findHash(id)
  expect((await changes('refuse', id, '--hash', hash)).code).toBe(1)
  person.name = 'ben'
  const refused = await changes('refuse', id, '--hash', hash, '--reason', 'not now')
  expect([refused.code, refused.err]).toEqual([0, expect.stringContaining('is refused')])
  expect((await changes('list')).out).toContain('not now')
})

it('hours that are wider are set when another user approves them', async () => {
  const set = (monFri: string) => [
    ...['projects', 'hours', 'main', 'FL', '--mon-fri', monFri],
    ...['--sat', '10:00-14:00', '--sun', 'none'],
  ]
  expect((await run(registerProjects, ...set('09:00-17:00'))).code).toBe(0)
  expect((await run(registerProjects, ...set('10:00-17:00'))).code).toBe(0)
  expect(await pass(registerProjects, set('09:00-19:00'))).toContain('is done: wider hours')
  const { hours } = (await running.callgate.projects.listWithHours('main'))[0] ?? {}
  expect(hours?.find(({ region }) => region === 'FL')).toMatchObject({ monFri: '09:00-19:00' })
})

it('a number is erased by who asked, once another user has approved it, and once', async () => {
  const erase = ['erase', '--number', number, '--yes']
  const looked = await run(registerErase, 'erase', '--number', number, '--dry-run')
  expect(looked.code).toBe(0)
  expect(await pass(registerErase, erase)).toContain('who asked for it can do it now, once')
  person.name = 'carl'
  expect((await run(registerErase, ...erase)).err).toContain('approval-needed')
  person.name = 'ann'
  const other = await run(registerErase, ...erase, '--allowed-calls')
  expect(other.err).toContain('approval-needed')
  const { code, err } = await run(registerErase, ...erase)
  expect(code, err).toBe(0)
  expect(
    await running.callgate.storage.db.selectFrom('change_requests').selectAll().execute(),
  ).not.toContainEqual(expect.objectContaining({ request: expect.stringContaining(number) }))
  expect((await run(registerErase, ...erase)).err).toContain('approval-needed')
})

it('records are exported once another user has approved it', async () => {
  const file = join(running.dataDir, 'opt-outs.csv')
  const records = ['records', 'export', 'opt-outs', file]
  await pass(registerRecords, records)
  const done = await run(registerRecords, ...records)
  expect([done.code, done.err]).toEqual([0, expect.stringContaining('opt-outs: project main')])
  expect(readFileSync(file, 'utf8')).toContain('number')
  expect((await run(registerRecords, ...records)).err).toContain('approval-needed')
  const pack = ['evidence', 'pack', '--number', number, '--out', join(running.dataDir, 'x.zip')]
  expect((await run(registerEvidence, ...pack)).err).toContain('approval-needed')
})

it('an unknown check lets calls pass only once another user has approved its reason and end', async () => {
  const start = async (reason: string, dataDir?: string) =>
    await openTestCallgate({
      ...(dataDir !== undefined && { dataDir }),
      at: systemClock.now(),
      environment: {
        CALLGATE_TWO_PEOPLE_FOR: '["allow-unknown"]',
        CALLGATE_POLICY_LITIGATOR_ON_UNKNOWN: 'allow',
        CALLGATE_POLICY_LITIGATOR_REASON: reason,
        CALLGATE_POLICY_LITIGATOR_UNTIL: '2036-12-01T00:00:00Z',
      },
    })
  const readInForce = ({ callgate }: TestCallgate) => callgate.settings.policy.litigator.onUnknown
  const first = await start('the list is late')
  expect(readInForce(first)).toBe('block')
  expect(first.logLines.join('')).toContain('no second person has approved it')
  const { dataDir } = first
  await first.stop()

  const more =
    'twoPeople: {for: [allow-unknown]}\n' +
    'policy: {litigator: {onUnknown: allow, reason: the list is late, until: 2036-12-01T00:00:00Z}}\n'
  const runHere = (...args: readonly string[]) =>
    runCommand(registerChanges, ['changes', ...args], { dataDir, more })
  const asked = await runHere('ask-policy')
  expect(asked.out).toContain('letting calls pass until 2036-12-01')
  const id = findId(asked.out)
  const hash = /^hash: (\w+)$/m.exec((await runHere('show', id)).out)?.[1] ?? ''
  expect((await runHere('approve', id, '--hash', hash)).err).toContain('somebody else must decide')
  person.name = 'ben'
  expect((await runHere('approve', id, '--hash', hash)).code).toBe(0)
  expect((await runHere('ask-policy')).err).toContain('nothing needs to be approved')

  const second = await start('the list is late', dataDir)
  expect(readInForce(second)).toBe('allow')
  await second.callgate.changeRequests.deleteOld(systemClock.now() + 365 * 86_400_000)
  await second.stop()
  const third = await start('another reason', dataDir)
  expect(readInForce(third)).toBe('block')
  await third.stop()
  const fourth = await start('the list is late', dataDir)
  expect(readInForce(fourth)).toBe('allow')
  await fourth.end()
})
