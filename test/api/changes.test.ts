/** Changes that need two people: asked by one, approved by another, exactly as asked, once, and before their end. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createOperatorCaller } from '../../src/domain/caller.js'
import type { NewApiKey } from '../../src/service/accounts/api-keys.js'
import { createPersonKey } from '../support/person-keys.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
let asker: { readonly id: string; readonly key: string }
let second: { readonly id: string; readonly key: string }
let count = 0

beforeAll(async () => {
  running = await openTestCallgate({
    environment: {
      CALLGATE_TWO_PEOPLE_FOR: '["lift-opt-out", "widen-hours", "export"]',
      CALLGATE_TWO_PEOPLE_ENDS_AFTER_HOURS: '2',
    },
  })
})
beforeEach(async () => {
  running.clock.at = mondayNoon
  asker = await make()
  second = await make()
})
afterAll(() => running.end())

const make = (more: Partial<NewApiKey> & { readonly madeAt?: number } = {}) =>
  createPersonKey(running, `made-${count++}`, more)

interface Body {
  readonly id: string
  readonly state: string
  readonly requestHash: string
  readonly what: string
  readonly request?: Readonly<Record<string, unknown>>
  readonly self?: string
  readonly problem?: string
  readonly askedBy: string
  readonly decidedBy?: string
}

async function send(path: string, body: object | undefined, key: string) {
  const response = await (body ? running.postJson(path, body, key) : running.get(path, key))
  const text = await response.text()
  const json = () => JSON.parse(text) as Body & { changes: Body[]; detail: string }
  return { status: response.status, text, json }
}

const pdnc = (body: object, key: string) => send('/app/main/rpc/pdnc', body, key)

async function isListed(number: string): Promise<boolean> {
  const { text } = await pdnc({ actionType: 'status', phoneList: number }, running.keys.main)
  return (JSON.parse(text) as { onList: boolean }[])[0]?.onList ?? false
}

let lastNumber = 2_125_550_110
async function optOut(): Promise<string> {
  lastNumber += 1
  const number = String(lastNumber)
  expect((await pdnc({ actionType: 'add', phoneList: number }, running.keys.main)).status).toBe(200)
  return number
}

const removal = (numbers: string, more: object = {}) => ({
  ...{ actionType: 'remove', phoneList: numbers, reason: 'He asked in writing' },
  ...more,
})

/** The id of the change that it becomes. */
async function ask(numbers: string, key = asker.key, more: object = {}): Promise<string> {
  const answer = await pdnc(removal(numbers, more), key)
  expect(answer.status, answer.text).toBe(409)
  expect(answer.text).toContain('approval-needed')
  expect(answer.text).toContain('nothing was changed')
  return /\bch-[0-9a-f]{20}\b/.exec(answer.text)?.[0] ?? ''
}

const read = async (id: string, key = second.key) =>
  (await send(`/v1/changes/${id}`, undefined, key)).json()

async function decide(id: string, verdict: 'approve' | 'refuse', key = second.key, more = {}) {
  const { requestHash } = await read(id, running.keys.main)
  return await send(`/v1/changes/${id}/${verdict}`, { requestHash, ...more }, key)
}

async function readAudit(action: string) {
  const { db } = running.callgate.storage
  const row = await db
    .selectFrom('audit')
    .selectAll()
    .where('action', '=', action)
    .orderBy('seq', 'desc')
    .executeTakeFirstOrThrow()
  return { ...row, after: JSON.parse(row.after ?? '{}') }
}

describe('ending an opt-out', () => {
  it('is stored, done when another one approves it, and names both in the audit table', async () => {
    const number = await optOut()
    const id = await ask(number)
    expect(await isListed(number)).toBe(true)
    expect(await readAudit('change.asked')).toMatchObject({
      who: `key:${asker.id}`,
      subject: id,
      reason: 'He asked in writing',
      after: { kind: 'lift-opt-out', what: 'ending one opt-out of the Master Project' },
    })
    const shown = await read(id)
    expect(shown).toMatchObject({
      state: 'waiting',
      request: { actionType: 'remove', phoneList: number, reason: 'He asked in writing' },
      askedBy: `key:${asker.id}`,
    })
    expect(shown.self).toBeUndefined()
    const approved = await decide(id, 'approve', second.key, { reason: 'I have seen the letter' })
    expect(approved.status, approved.text).toBe(200)
    expect(approved.json()).toMatchObject({ state: 'done', decidedBy: `key:${second.id}` })
    expect(await isListed(number)).toBe(false)
    expect(await readAudit('opt-out.removed')).toMatchObject({
      who: `key:${second.id}`,
      door: 'api /app/main/rpc/pdnc',
      reason: 'He asked in writing',
      after: { removed: 1, change: id, askedBy: `key:${asker.id}` },
    })
    expect(await readAudit('change.approved')).toMatchObject({
      who: `key:${second.id}`,
      reason: 'I have seen the letter',
      after: { askedBy: `key:${asker.id}` },
    })
    expect((await read(id)).request).toBeUndefined()
  })

  it('by GET is the same change, and asked again too', async () => {
    const number = await optOut()
    const id = await ask(number)
    expect(await ask(number)).toBe(id)
    const query = new URLSearchParams({
      ...{ actionType: 'remove', phoneList: `${number}, ${number}` },
      reason: 'He asked in writing',
    })
    const answer = await running.get(`/app/main/rpc/pdnc?${query}`, asker.key)
    expect(answer.status).toBe(409)
    expect(await answer.text()).toContain(id)
    expect(await ask(number, second.key)).not.toBe(id)
  })

  it('adding, and what is not on the list of kinds, needs nobody', async () => {
    const number = await optOut()
    expect((await pdnc({ actionType: 'status', phoneList: number }, asker.key)).status).toBe(200)
    expect((await pdnc(removal('nonsense'), asker.key)).status).toBe(200)
  })

  it('is done for many at once', async () => {
    const numbers = Array.from({ length: 400 }, (_, index) => String(2_125_559_000 + index))
    const phoneList = numbers.join(',')
    expect((await pdnc({ actionType: 'add', phoneList }, running.keys.main)).status).toBe(200)
    const id = await ask(phoneList)
    expect(await read(id)).toMatchObject({
      kind: 'remove-opt-outs',
      what: 'ending 400 opt-outs of the Master Project',
    })
    expect((await decide(id, 'approve')).status).toBe(200)
    expect(await isListed(numbers[399] ?? '')).toBe(false)
  })
})

describe('nobody approves', () => {
  it('their own change', async () => {
    const number = await optOut()
    const id = await ask(number)
    const own = await decide(id, 'approve', asker.key)
    expect(own.status).toBe(403)
    expect(own.text).toContain('somebody else must decide')
    expect((await read(id, asker.key)).self).toContain('asked for this')
    expect((await decide(id, 'refuse', asker.key)).status).toBe(403)
    expect(await isListed(number)).toBe(true)
  })

  it('in another account, or without the right to do it themselves', async () => {
    const number = await optOut()
    const id = await ask(number)
    const { requestHash } = await read(id)
    const approve = (key: string) => send(`/v1/changes/${id}/approve`, { requestHash }, key)
    expect((await approve(running.keys.sandbox)).status).toBe(404)
    expect((await send('/v1/changes', undefined, running.keys.sandbox)).json().changes).toEqual([])
    for (const limits of [
      { role: 'Agent' },
      { rights: ['records'] },
      { rights: ['manage'] },
      { projects: ['main'] },
    ] as const) {
      const { key } = await make(limits)
      expect((await approve(key)).status, JSON.stringify(limits)).toBe(403)
      expect((await send(`/v1/changes/${id}`, undefined, key)).status).toBe(403)
      const listed = await send('/v1/changes', undefined, key)
      if (listed.status === 200) expect(listed.json().changes).toEqual([])
      else expect(listed.status).toBe(403)
    }
    expect(await isListed(number)).toBe(true)
    expect((await read(id)).state).toBe('waiting')
  })

  it('after its end', async () => {
    const number = await optOut()
    const id = await ask(number)
    running.clock.at += 2 * 3_600_000 - 1
    expect((await read(id)).state).toBe('waiting')
    running.clock.at += 1
    const late = await decide(id, 'approve')
    expect(late.status).toBe(409)
    expect(late.text).toContain('is expired')
    expect(await isListed(number)).toBe(true)
    await running.callgate.changeRequests.deleteOld(running.clock.at)
    const after = await read(id)
    expect(after).toMatchObject({ state: 'expired' })
    expect(after.request).toBeUndefined()
    expect(await ask(number)).not.toBe(id)
  })

  it('twice, also not two at once', async () => {
    const number = await optOut()
    const id = await ask(number)
    const { requestHash } = await read(id)
    const third = await make()
    const answers = await Promise.all(
      [second, third, second, third].map(({ key }) =>
        send(`/v1/changes/${id}/approve`, { requestHash }, key),
      ),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409])
    const { db } = running.callgate.storage
    const removed = await db
      .selectFrom('audit')
      .select('seq')
      .where('action', '=', 'opt-out.removed')
      .where('subject', '=', number)
      .execute()
    expect(removed).toHaveLength(1)
    expect((await decide(id, 'refuse')).status).toBe(409)
  })

  it('anything but what was shown and stored', async () => {
    const [number, other] = [await optOut(), await optOut()]
    const id = await ask(number)
    const wrong = await send(
      `/v1/changes/${id}/approve`,
      { requestHash: '0'.repeat(64) },
      second.key,
    )
    expect(wrong.status).toBe(409)
    const { db } = running.callgate.storage
    const request = JSON.stringify(removal(other))
    await db.updateTable('change_requests').set({ request }).where('id', '=', id).execute()
    const changed = await decide(id, 'approve')
    expect(changed.status).toBe(409)
    expect(changed.text).toContain('not what was asked for')
    expect([await isListed(number), await isListed(other)]).toEqual([true, true])
  })
})

describe('hours of a project', () => {
  const hours = (monFri: string, key: string, more: object = {}) =>
    send(
      '/v1/projects/main/hours',
      { region: 'GA', monFri, sat: 'none', sun: 'none', reason: 'a campaign', ...more },
      key,
    )

  it('that are wider need a second person, and others do not', async () => {
    expect((await hours('09:00-17:00', asker.key)).status).toBe(200)
    expect((await hours('10:00-17:00', asker.key)).status).toBe(200)
    const wide = await hours('09:00-19:00', asker.key)
    expect(wide.status).toBe(409)
    const id = /\bch-[0-9a-f]{20}\b/.exec(wide.json().detail)?.[0] ?? ''
    expect(await read(id)).toMatchObject({
      kind: 'widen-hours',
      what: 'wider hours of project main in GA',
      request: { code: 'main', region: 'GA', monFri: '09:00-19:00', reason: 'a campaign' },
    })
    const { key } = await make({ rights: ['records'] })
    expect((await decide(id, 'approve', key)).status).toBe(403)
    const approved = await decide(id, 'approve')
    expect(approved.status, approved.text).toBe(200)
    expect(await readAudit('project-hours.set')).toMatchObject({
      who: `key:${second.id}`,
      reason: 'a campaign',
      after: { mon_fri: '09:00-19:00', change: id, askedBy: `key:${asker.id}` },
    })
    const removed = await hours('', asker.key, { remove: true })
    expect(removed.status).toBe(409)
    const gone = /\bch-[0-9a-f]{20}\b/.exec(removed.json().detail)?.[0] ?? ''
    expect((await decide(gone, 'approve')).json()).toMatchObject({ state: 'done' })
  })

  it('that are invalid are refused at once', async () => {
    expect((await hours('19:00-09:00', asker.key)).status).toBe(400)
  })
})

describe('a project that uses the opt-outs of the Master Project', () => {
  const change = async (code: string, more: object, key = asker.key) => {
    const response = await fetch(`${running.url}/v1.5/projects/${code}`, {
      method: 'PUT',
      headers: { loginId: key, 'content-type': 'application/json' },
      body: JSON.stringify(more),
    })
    const text = await response.text()
    return { status: response.status, text, id: /\bch-[0-9a-f]{20}\b/.exec(text)?.[0] ?? '' }
  }
  const makeProject = async () => {
    const code = `I${count++}`
    const project = { ProjectCode: code, ProjectName: code, InheritInternalDnc: true }
    const made = await send('/v1.5/projects', project, asker.key)
    expect(made.status, made.text).toBe(201)
    return code
  }
  const inherits = async (code: string) => {
    const row = await running.callgate.storage.db
      .selectFrom('projects')
      .select('inherits_internal_dnc')
      .where('account_id', '=', 'main')
      .where('code', '=', code)
      .executeTakeFirstOrThrow()
    return row.inherits_internal_dnc === 1
  }

  it('stops to with a second person, and begins to without', async () => {
    const code = await makeProject()
    const asked = await change(code, { ProjectName: code, InheritInternalDnc: false })
    expect([asked.status, await inherits(code)], asked.text).toEqual([409, true])
    expect(await read(asked.id)).toMatchObject({
      kind: 'lift-opt-out',
      what: `ending the use of the Master Project's opt-outs by project ${code}`,
      request: { code, InheritInternalDnc: false },
    })
    expect((await change(code, { InheritInternalDnc: false })).id).toBe(asked.id)
    const approved = await decide(asked.id, 'approve')
    expect([approved.status, await inherits(code)], approved.text).toEqual([200, false])
    expect(await readAudit('project.changed')).toMatchObject({
      who: `key:${second.id}`,
      after: { inherits_internal_dnc: 0, change: asked.id, askedBy: `key:${asker.id}` },
    })
    expect((await change(code, { InheritInternalDnc: false })).status).toBe(200)
    expect((await change(code, { InheritInternalDnc: true })).status).toBe(200)
    expect(await inherits(code)).toBe(true)
  })

  it('stops to by no other way', async () => {
    const code = await makeProject()
    const older = `/app/main/rpc/project?projId=${code}&use_master_dnc_dnm_database=0`
    const asked = await send(older, undefined, asker.key)
    expect([asked.status, await inherits(code)], asked.text).toEqual([409, true])
    const saved = { ProjectCode: code, InheritInternalDnc: false }
    expect((await send('/v1.5/projects', saved, asker.key)).status).toBe(409)
    const set = running.callgate.projects.set(
      { accountId: 'main', code },
      { inheritsInternalDnc: false },
    )
    await expect(set).rejects.toThrow('approval-needed')
    expect(await inherits(code)).toBe(true)
  })

  it('is not changed in anything else with it', async () => {
    const code = await makeProject()
    const both = { ProjectName: 'Another name', InheritInternalDnc: false }
    const refused = await change(code, both)
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('InheritInternalDnc')
    expect(refused.text).toContain('send it alone')
    const older = `/app/main/rpc/project?projId=${code}&use_master_dnc_dnm_database=0&handler=deactivate_project`
    const alsoInactive = await send(older, undefined, asker.key)
    expect(alsoInactive.status).toBe(400)
    expect(alsoInactive.text).toContain('use_master_dnc_dnm_database')
    expect(await inherits(code)).toBe(true)
  })
})

it('is refused with a reason', async () => {
  const number = await optOut()
  const id = await ask(number)
  const refused = await decide(id, 'refuse', second.key, { reason: 'No letter' })
  expect(refused.json()).toMatchObject({ state: 'refused', note: 'No letter' })
  expect((await decide(id, 'approve')).status).toBe(409)
  expect(await isListed(number)).toBe(true)
  expect(await readAudit('change.refused')).toMatchObject({ subject: id, reason: 'No letter' })
  expect(await ask(number)).not.toBe(id)
})

it('what does not apply any more gives the error of its endpoint, and is over', async () => {
  const number = await optOut()
  const { projects } = running.callgate
  const code = `P${count++}`
  const input = { name: code }
  await running.callgate.service.projects.save(
    { ...operator(), keyId: asker.id },
    { code, input: { ...blank, ...input } },
  )
  const id = await ask(number, asker.key, { projId: code })
  await projects.set({ accountId: 'main', code }, { status: 'inactive' })
  const failed = await decide(id, 'approve')
  expect(failed.status).toBe(400)
  const { state, problem } = await read(id)
  expect(state).toBe('failed')
  expect(failed.json().detail).toBe(problem)
  expect(await readAudit('change.failed')).toMatchObject({ subject: id, after: { problem } })
})

it('waits for at most twenty of one key', async () => {
  const number = await optOut()
  for (let index = 0; index < 20; index += 1) {
    await ask(number, asker.key, { reason: `${index}` })
  }
  const more = await pdnc(removal(number, { reason: 'one more' }), asker.key)
  expect(more.status).toBe(409)
  expect(more.text).toContain('20 changes')
  const listed = await send('/v1/changes?state=waiting', undefined, second.key)
  expect(listed.json().changes.length).toBeGreaterThanOrEqual(20)
  expect(listed.text).not.toContain(number)
})

it('refuses what it cannot read', async () => {
  const id = await ask(await optOut())
  const none = await send(`/v1/changes/${id}/approve`, {}, second.key)
  expect(none.status).toBe(400)
  expect(none.text).toContain('requestHash')
  const long = await decide(id, 'approve', second.key, { reason: 'x'.repeat(501) })
  expect(long.status).toBe(400)
  expect((await send('/v1/changes/ch-none', undefined, second.key)).status).toBe(404)
  expect((await send('/v1/changes?state=odd', undefined, second.key)).status).toBe(400)
})

const operator = () => ({ ...createOperatorCaller('main') }) as const
const blank = {
  ...{ name: undefined, notes: undefined, san: undefined, orgId: undefined },
  ...{ webhookUrl: undefined, inheritsInternalDnc: undefined, inheritsEbr: undefined },
}

it('an evidence bundle is packed once after another person has approved it', async () => {
  const wanted = { number: '2125550106', reason: 'a claim' }
  const askAgain = () => send('/v1/evidence', wanted, asker.key)
  const asked = await askAgain()
  expect(asked.status, asked.text).toBe(409)
  const id = /\bch-[0-9a-f]{20}\b/.exec(asked.text)?.[0] ?? ''
  const admin = await make({ role: 'Administrator' })
  const { requestHash } = (await send(`/v1/changes/${id}`, undefined, admin.key)).json()
  const verdict = [`/v1/changes/${id}/approve`, { requestHash }] as const
  expect((await send(...verdict, second.key)).status).toBe(403)
  const approved = await send(...verdict, admin.key)
  expect(approved.status, approved.text).toBe(200)
  const other = await send('/v1/evidence', { ...wanted, number: '2125550107' }, asker.key)
  expect(other.status).toBe(409)
  expect((await askAgain()).status).toBe(202)
  expect((await askAgain()).status).toBe(409)
})
