/** What an account has for the pages of the console to show: something of everything, with texts that the test chooses. */
import { expect, vi } from 'vitest'
import type { CreatedApiKey } from '../../src/service/accounts/api-keys.js'
import { makePersonal } from './person-keys.js'
import type { TestCallgate } from './test-callgate.js'

export interface ConsoleDataOptions {
  readonly accountId: string
  /** Of an Administrator of the account. */
  readonly key: string
  /** The first eight digits of its numbers. */
  readonly prefix: string
  /** What a field has that takes any text of at most `maxLength` characters; or any in ASCII without spaces, or any address. */
  readonly text: (field: string, maxLength: number, kind?: 'word' | 'address') => string
}

export interface ConsoleData {
  readonly decisionId: string
  /** A key whose call waits for a person. */
  readonly agent: CreatedApiKey
  readonly approvalId: string
  /** Done, or failed. */
  readonly bundleId: string
  /** A Supervisor, who has asked for the change. */
  readonly officer: CreatedApiKey
  readonly changeId: string
}

/** The settings must ask for a second person for `remove-opt-outs`, and permit calls to number `06` of the prefix by an AI. */
export async function fillConsole(
  running: TestCallgate,
  options: ConsoleDataOptions,
): Promise<ConsoleData> {
  const { accountId, prefix, text } = options
  const { keys, projects, journal } = running.callgate
  const ask = createAsk(running, options)
  await makePersonal(running, options.key, 'ann')
  await projects.create({ accountId, code: `${accountId}-2`, name: text('project', 100) })
  const hours = { monFri: '09:00-19:00', sat: '10:00-14:00', sun: 'none' }
  await projects.setHours({ accountId, code: accountId }, 'FL', hours)
  await record(ask, options)
  const decisionId = await decide(ask, options)
  const { agent, approvalId } = await openKeys(running, options)
  await ask('/v1/opt-outs', {
    ...{ number: `${prefix}06`, said: text('said', 500), goods: text('goods', 200) },
    reference: text('opt-out', 200),
  })
  await ask('/v1/platform-events', {
    ...{ platform: 'retell', receivedAt: '2026-11-23T17:00:00Z', query: '' },
    body: JSON.stringify({
      event: 'call_analyzed',
      call: { call_id: 'c1', call_analysis: { call_summary: `${text('said', 400)} stop calling` } },
    }),
  })
  const label = text('officer', 100)
  const officer = await keys.create({ accountId, role: 'Supervisor', label })
  const changeId = await askForChange(running, options, officer.key)
  await addCallerIds(ask, options)
  await journal.drain()
  const bundleId = await askForBundle(running, options, decisionId)
  return { decisionId, agent, approvalId, bundleId, officer, changeId }
}

type Ask = (path: string, body: unknown, key?: string) => Promise<unknown>

/** Rejects unless it is done. */
function createAsk(running: TestCallgate, { key }: ConsoleDataOptions): Ask {
  return async (path, body, other = key) => {
    const answer = await running.postJson(path, body, other)
    const said = await answer.text()
    expect(`${path} ${answer.status} ${said}`).toMatch(/^\S+ 20\d /)
    return said.startsWith('{') ? JSON.parse(said) : said
  }
}

async function decide(ask: Ask, { prefix, text }: ConsoleDataOptions): Promise<string> {
  await ask('/v1/decisions', { number: text('dialed', 128), callKind: 'manual' })
  const call = {
    ...{ callKind: 'ai', number: `${prefix}06`, personId: text('personId', 64) },
    ...{ callerId: text('callerId', 100), reference: text('reference', 200) },
  }
  await ask('/v1/decisions', call)
  const plain = await ask('/v1/decisions', { number: `${prefix}00`, callKind: 'ai' })
  const { id } = plain as { id: string }
  return id
}

/** A key that is paused, one whose call waits for a person, and one whose call was refused. */
async function openKeys(running: TestCallgate, options: ConsoleDataOptions) {
  const { accountId, text } = options
  const { keys, pauses } = running.callgate
  const calls = { approval: 'always', regions: ['NY', 'NJ'], attemptsPerHour: 60 } as const
  const of = { accountId, role: 'Agent' } as const
  const agent = await keys.create({ ...of, label: text('agent', 100), callKinds: ['ai'], calls })
  const paused = await keys.create({ ...of, label: text('label', 100) })
  const order = { pausedBy: text('pausedBy', 100), because: text('pause', 200) }
  await pauses.pause({ subject: `key:${paused.id}`, ...order })
  await pauses.pause({ subject: `agents:${accountId}`, ...order })
  await pauses.resume(`agents:${accountId}`)
  const refused = await askForApproval(running, options, agent.key)
  const verdict = { verdict: 'refuse', subjectHash: refused.subjectHash, note: text('note', 200) }
  await createAsk(running, options)(`/v1/approvals/${refused.id}`, verdict)
  const { id: approvalId } = await askForApproval(running, options, agent.key)
  return { agent, approvalId }
}

async function askForApproval(running: TestCallgate, options: ConsoleDataOptions, key: string) {
  const call = { number: `${options.prefix}06`, callKind: 'ai' }
  await createAsk(running, options)('/v1/decisions', call, key)
  const found = await running.get('/v1/approvals?state=waiting', options.key)
  const { approvals } = (await found.json()) as {
    approvals: { id: string; subjectHash: string }[]
  }
  expect(approvals).toHaveLength(1)
  return approvals[0] as { id: string; subjectHash: string }
}

async function record(ask: Ask, { prefix, text }: ConsoleDataOptions): Promise<void> {
  await ask('/v1/consents', {
    ...{
      number: `${prefix}06`,
      givenAt: '2026-11-20T10:00:00Z',
      channel: 'web',
      method: 'written',
    },
    ...{ seller: text('seller', 200), wording: text('wording', 2_000) },
    ...{ page: text('page', 2_000, 'address'), certificate: text('certificate', 2_000, 'address') },
    personId: text('person', 64),
  })
  const attempt = { number: `${prefix}06`, at: '2026-11-23T16:00:00Z', channel: 'call' }
  await ask('/v1/attempts', { attempts: [{ ...attempt, ref: text('ref', 64, 'word') }] })
}

/** That ends the opt-outs of many numbers, more than a page shows at once; and one that was refused. */
async function askForChange(
  running: TestCallgate,
  { key, prefix, text }: ConsoleDataOptions,
  officer: string,
): Promise<string> {
  const numbers = Array.from({ length: 40 }, (_, index) => `${prefix}${index + 10}`).join(',')
  const endings = [
    { phoneList: `${prefix}01,${prefix}02`, reason: text('refused', 200) },
    { phoneList: numbers, reason: text('change', 200) },
  ]
  const ids: string[] = []
  for (const end of endings) {
    const body = { actionType: 'remove', ...end }
    const asked = await running.postJson('/app/main/rpc/pdnc', body, officer)
    ids.push(/\bch-[0-9a-f]{20}\b/.exec(await asked.text())?.[0] ?? '')
  }
  const [refused, changeId = ''] = ids
  const { requestHash } = (await (await running.get(`/v1/changes/${refused}`, key)).json()) as {
    requestHash: string
  }
  const refusal = { requestHash, reason: text('refusal', 200) }
  const done = await running.postJson(`/v1/changes/${refused}/refuse`, refusal, key)
  expect(done.status).toBe(200)
  return changeId
}

async function askForBundle(
  running: TestCallgate,
  { key, prefix, text }: ConsoleDataOptions,
  decisionId: string,
): Promise<string> {
  // A bundle has what is signed.
  await vi.waitFor(
    async () =>
      expect((await running.get(`/v1/decisions/${decisionId}/proof`, key)).status).toBe(200),
    { timeout: 60_000 },
  )
  const question = { number: `${prefix}06`, reason: text('bundle', 500) }
  const asked = await running.postJson('/v1/evidence', question, key)
  const { id } = (await asked.json()) as { id: string }
  const isOver = { state: expect.stringMatching(/^(?:done|failed)$/) }
  await vi.waitFor(
    async () =>
      expect(await (await running.get(`/v1/evidence/${id}`, key)).json()).toMatchObject(isOver),
    { timeout: 20_000 },
  )
  return id
}

async function addCallerIds(ask: Ask, { prefix, text }: ConsoleDataOptions): Promise<void> {
  const own = { owner: text('owner', 200), proof: text('proof', 200) }
  const carrier = { carrier: text('carrier', 200), presence: text('presence', 200) }
  const callerIds = [
    { ...own, ...carrier, number: `${prefix}50`, attestation: 'A' },
    { ...own, number: `${prefix}51`, until: '2026-11-01T00:00:00Z' },
    { ...own, number: `${prefix}52`, from: '2026-12-01T00:00:00Z' },
  ]
  await ask('/v1/caller-ids', { callerIds, reason: text('reason', 200) })
}
