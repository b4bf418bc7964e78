/** Who is a second person: for changes and for the approval of single calls, by keys and by people who sign in. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { CreatedApiKey } from '../../src/service/accounts/api-keys.js'
import { sameOrigin } from '../support/console-client.js'
import {
  clientSecret,
  oidcEnvironment,
  openIdentityProvider,
  type TestIdentityProvider,
} from '../support/identity-provider.js'
import { createPersonKey } from '../support/person-keys.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const dayMs = 86_400_000
const folder = mkdtempSync(join(tmpdir(), 'callgate-second-'))
const secretFile = join(folder, 'client-secret')
writeFileSync(secretFile, `${clientSecret}\n`, { mode: 0o600 })

let provider: TestIdentityProvider
let running: TestCallgate
let ann: CreatedApiKey
let ben: CreatedApiKey
let count = 0
let monday = mondayNoon
const admin = { accountId: 'sandbox', role: 'Administrator' } as const

beforeAll(async () => {
  provider = await openIdentityProvider()
  const environment = {
    ...oidcEnvironment(provider.issuer, secretFile),
    CALLGATE_TWO_PEOPLE_FOR: '["lift-opt-out", "export"]',
    CALLGATE_TWO_PEOPLE_ENDS_AFTER_HOURS: '72',
    CALLGATE_CONSOLE_OIDC_ACCOUNT: 'sandbox',
    CALLGATE_GATE_PURPOSES: JSON.stringify([
      {
        ...{ account: 'sandbox', purpose: 'telemarketing', setBy: 'Ada' },
        requestsMay: ['informational', 'healthcare'],
      },
    ]),
  }
  running = await openTestCallgate({ environment })
})
beforeEach(async () => {
  // Never back, as keys need it.
  count += 1
  monday = mondayNoon + count * 7 * dayMs
  running.clock.at = monday
  ann = await createPersonKey(running, `ann-${count}`, admin)
  ben = await createPersonKey(running, `ben-${count}`, admin)
})
afterAll(async () => {
  await running.end()
  rmSync(folder, { recursive: true, force: true })
})

async function send(path: string, body: object | undefined, key: string) {
  const response = await (body ? running.postJson(path, body, key) : running.get(path, key))
  const text = await response.text()
  return { status: response.status, text, json: JSON.parse(text) }
}

/** Makes a key over the API, as the holder of another key. */
async function makeKey(by: string, more: object = {}): Promise<{ id: string; key: string }> {
  const wanted = { role: 'Supervisor', label: `made-${count}-${Math.random()}`, ...more }
  const made = await send('/v1/keys', wanted, by)
  expect(made.status, made.text).toBe(200)
  return made.json
}

let last = 2_125_550_110

/** The path of a change that ends an opt-out, the hash that approving it needs, and the number. */
async function askChange(key: string) {
  last += 1
  const phoneList = String(last)
  const pdnc = (body: object, by: string) => send('/app/main/rpc/pdnc', body, by)
  expect((await pdnc({ actionType: 'add', phoneList }, running.keys.sandbox)).status).toBe(200)
  const asked = await pdnc({ actionType: 'remove', phoneList, reason: 'a letter' }, key)
  expect(asked.status, asked.text).toBe(409)
  const id = /\bch-[0-9a-f]{20}\b/.exec(asked.text)?.[0]
  const path = `/v1/changes/${id}`
  const { requestHash } = (await send(path, undefined, running.keys.sandbox)).json
  return { path, requestHash, number: phoneList }
}

/** The path of an approval of one call of the key, and what approving it needs. */
async function askCall(key: string, more: object = {}) {
  const call = { number: '2125550106', callKind: 'ai', ...more }
  const asked = await send('/v1/decisions', call, key)
  expect(asked.json.reason, asked.text).toBe('approval-needed')
  const { id } = asked.json.mandate.approval
  const { approvals } = (await send('/v1/approvals', undefined, running.keys.sandbox)).json
  const found = approvals.find((one: { id: string }) => one.id === id)
  const body = { verdict: 'approve', subjectHash: found.subjectHash }
  return { path: `/v1/approvals/${id}`, body, id, call, subject: found.subject }
}

/** What the key gets that tries to approve a change and a call of the other one. */
async function approveBoth(askerKey: string, callKey: string, key: string) {
  const change = await askChange(askerKey)
  const call = await askCall(callKey)
  return [
    await send(`${change.path}/approve`, { requestHash: change.requestHash }, key),
    await send(call.path, call.body, key),
  ]
}

const agent = { role: 'Agent', rights: ['decide'], approval: 'always' }

describe('keys', () => {
  it('of two people: one asks, the other approves a change and a call', async () => {
    const caller = await makeKey(ann.key, agent)
    for (const answer of await approveBoth(ann.key, caller.key, ben.key)) {
      expect(answer.status, answer.text).toBe(200)
    }
  })

  it('that one key has made are one person, and approve nothing', async () => {
    const [b, c] = [await makeKey(ann.key), await makeKey(ann.key)]
    const caller = await makeKey(ann.key, agent)
    running.clock.at += 3 * dayMs
    for (const answer of await approveBoth(b.key, caller.key, c.key)) {
      expect(answer.status, answer.text).toBe(403)
      expect(answer.text).toContain(`user:root/ann-${count}`)
    }
    // Nor does the key that has made them, nor one of them for it.
    for (const answer of await approveBoth(b.key, caller.key, ann.key)) {
      expect(answer.status, answer.text).toBe(403)
    }
    for (const answer of await approveBoth(ann.key, caller.key, b.key)) {
      expect(answer.status, answer.text).toBe(403)
    }
  })

  it('of programs approve nothing, whoever asks', async () => {
    const caller = await makeKey(ann.key, agent)
    const [program, service] = [
      await makeKey(ben.key, { role: 'Administrator' }),
      await makeKey(ben.key, { rights: ['look-up', 'records', 'consent', 'manage', 'decide'] }),
    ]
    running.clock.at += 3 * dayMs
    for (const { key } of [program, service, { key: running.keys.sandbox }]) {
      for (const answer of await approveBoth(ann.key, caller.key, key)) {
        expect(answer.status, answer.text).toBe(403)
        expect(answer.text).toContain('key of a program')
      }
    }
  })

  it('approve nothing that was asked for before they could for a day', async () => {
    const caller = await makeKey(ann.key, agent)
    const late = await createPersonKey(running, `carl-${count}`, { ...admin, madeAt: monday })
    const notYet = await createPersonKey(running, `dora-${count}`, {
      ...admin,
      madeAt: monday - 9 * dayMs,
      notBefore: monday + 1,
    })
    const widened = await createPersonKey(running, `erin-${count}`, {
      ...admin,
      madeAt: monday - 9 * dayMs,
      rights: ['records', 'decide'],
    })
    const rights = ['records', 'decide', 'manage'] as const
    await running.callgate.keys.change(widened.id, { rights, by: 'test' })
    running.clock.at += dayMs - 1
    const change = await askChange(ann.key)
    const call = await askCall(caller.key)
    running.clock.at += 60_000
    for (const { key } of [late, notYet, widened]) {
      for (const answer of [
        await send(`${change.path}/approve`, { requestHash: change.requestHash }, key),
        await send(call.path, call.body, key),
      ]) {
        expect(answer.status, answer.text).toBe(403)
        expect(answer.text).toContain('which is not a day before')
      }
    }
    // What is asked for a day later, they may approve.
    for (const { key } of [late, notYet, widened]) {
      const later = await askChange(ann.key)
      const done = await send(`${later.path}/approve`, { requestHash: later.requestHash }, key)
      expect(done.status, done.text).toBe(200)
    }
  })
})

describe('an approval covers exactly what was shown', () => {
  it('of a call: also its purpose, what it is about, and whom it is for', async () => {
    const caller = await makeKey(ann.key, agent)
    const about = { purpose: 'informational', personId: 'p-1' }
    const { path, body, id, call, subject } = await askCall(caller.key, about)
    expect(subject).toMatchObject(about)
    expect((await send(path, body, ben.key)).status).toBe(200)
    const again = (more: object) =>
      send('/v1/decisions', { ...call, approvalId: id, ...more }, caller.key)
    for (const other of [
      { purpose: 'healthcare' },
      { purpose: 'telemarketing' },
      { personId: 'p-2' },
    ]) {
      const { json, text } = await again(other)
      expect(json.decision, text).toBe('block')
      expect(text).toContain('is for another call')
    }
    const used = await again({})
    expect(used.text).not.toContain('approval-needed')
  })

  it('of a bundle: another reason is another request', async () => {
    const wanted = { number: '2125550106', reason: 'a claim' }
    const asked = await send('/v1/evidence', wanted, ann.key)
    const id = /\bch-[0-9a-f]{20}\b/.exec(asked.text)?.[0]
    expect(asked.text).toContain('approval-needed')
    const { requestHash, reason } = (await send(`/v1/changes/${id}`, undefined, ben.key)).json
    expect(reason).toBe('a claim')
    const approved = await send(`/v1/changes/${id}/approve`, { requestHash }, ben.key)
    expect(approved.status, approved.text).toBe(200)
    const changed = await send('/v1/evidence', { ...wanted, reason: 'curiosity' }, ann.key)
    expect(changed.status, changed.text).toBe(409)
    expect(changed.text).not.toContain(id)
    const none = await send('/v1/evidence', { ...wanted, reason: 'a claims' }, ann.key)
    expect(none.status, none.text).toBe(409)
    expect((await send('/v1/evidence', wanted, ann.key)).status).toBe(202)
  })

  it('of a removal: not an opt-out that came afterwards', async () => {
    const { path, requestHash, number } = await askChange(ann.key)
    running.clock.at += 60_000
    const again = { number, channel: 'call-voice', source: 'agent', said: 'stop' }
    expect((await send('/v1/opt-outs', again, running.keys.sandbox)).status).toBe(200)
    const late = await send(`${path}/approve`, { requestHash }, ben.key)
    expect(late.status, late.text).toBe(409)
    expect(late.text).toContain('has opted out again')
    const status = { actionType: 'status', phoneList: number }
    expect((await send('/app/main/rpc/pdnc', status, ann.key)).text).toContain('"onList":true')
  })
})

describe('people who sign in', () => {
  async function signIn(claims: object): Promise<string> {
    provider.claims = { groups: 'own <b>', ...claims }
    const { url } = running
    const left = await fetch(`${url}/console/oidc/sign-in`, { redirect: 'manual' })
    const there = await fetch(left.headers.get('location') ?? '', { redirect: 'manual' })
    const cookie = left.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const back = await fetch(there.headers.get('location') ?? '', {
      headers: { cookie },
      redirect: 'manual',
    })
    expect(back.status, await back.clone().text()).toBe(303)
    return back.headers.getSetCookie().at(-1)?.split(';')[0] ?? ''
  }

  async function post(cookie: string, path: string, form: Readonly<Record<string, string>>) {
    const page = await fetch(`${running.url}/console`, { headers: { cookie } })
    const formToken = /name="formToken" value="([^"]+)"/.exec(await page.text())?.[1] ?? ''
    const answer = await fetch(`${running.url}/console${path}`, {
      method: 'POST',
      body: new URLSearchParams({ formToken, ...form }),
      headers: { ...sameOrigin, cookie },
    })
    return { status: answer.status, text: await answer.text() }
  }

  const makeAs = async (cookie: string, label: string) => {
    const form = { role: 'Administrator', label, reason: 'mine', rights: 'records', kinds: 'ai' }
    const made = await post(cookie, '/keys/new', form)
    expect(made.status, made.text).toBe(200)
    return /class="secret"[^>]*>([\w-]{44})</.exec(made.text)?.[1] ?? ''
  }

  const approveAs = async (cookie: string, change: { path: string; requestHash: string }) =>
    await post(cookie, change.path.replace('/v1', ''), {
      ...{ requestHash: change.requestHash, verdict: 'approve', reason: 'seen' },
    })

  it('approve a day after they could, but nothing of a key of their own', async () => {
    const claims = { sub: `jane-${count}`, email: 'jane@example.com', email_verified: false }
    const early = await signIn(claims)
    const key = await makeAs(early, `of-jane-${count}`)
    const soon = await approveAs(early, await askChange(ann.key))
    expect(soon.status, soon.text).toBe(403)
    expect(soon.text).toContain('which is not a day before')
    running.clock.at += dayMs + 60_000
    const cookie = await signIn(claims)
    const own = await approveAs(cookie, await askChange(key))
    expect(own.status, own.text).toBe(403)
    expect(own.text).toContain('so somebody else must decide')
    const other = await approveAs(cookie, await askChange(ann.key))
    expect(other.status, other.text).toBe(200)
  })

  it('with two subjects and one verified address are one person', async () => {
    const of = (sub: string, email_verified: unknown) => ({
      ...{ sub: `${sub}-${count}`, email: `Two-${count}@example.com`, email_verified },
    })
    await signIn(of('b', true))
    await signIn(of('c', 'true'))
    const key = await makeAs(await signIn(of('a', true)), `of-two-${count}`)
    running.clock.at += dayMs + 60_000
    const same = await approveAs(await signIn(of('b', true)), await askChange(key))
    expect(same.status, same.text).toBe(403)
    // An address that is not verified could be anybody's.
    const other = await approveAs(await signIn(of('c', 'true')), await askChange(key))
    expect(other.status, other.text).toBe(200)
  })

  it('begin anew with a higher role', async () => {
    const sub = `kim-${count}`
    await signIn({ sub, groups: 'see' })
    running.clock.at += dayMs + 60_000
    const raised = await signIn({ sub })
    const soon = await approveAs(raised, await askChange(ann.key))
    expect(soon.status, soon.text).toBe(403)
    running.clock.at += dayMs + 60_000
    const done = await approveAs(await signIn({ sub }), await askChange(ann.key))
    expect(done.status, done.text).toBe(200)
  })
})
