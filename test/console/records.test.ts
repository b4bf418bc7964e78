/** The pages that find decisions, explain them, and keep opt-outs and consents. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleClient, openConsoleClient } from '../support/console-client.js'
import { spoken } from '../support/platform-door.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
let sandbox: ConsoleClient
let main: ConsoleClient
beforeAll(async () => {
  running = await openTestCallgate()
  sandbox = await openConsoleClient(running, running.keys.sandbox)
  main = await openConsoleClient(running, running.keys.main)
})
afterAll(() => running.end())

const hostile = `"><script>alert('x')</script>`

async function decide(more: object = {}): Promise<string> {
  const answer = await running.postJson('/v1/decisions', {
    number: '2125550100',
    callKind: 'ai',
    ...more,
  })
  await running.callgate.journal.drain()
  return ((await answer.json()) as { id: string }).id
}

describe('why', () => {
  it('says what a lawyer needs: verdict, rule with citation, facts with source and age, lists with version', async () => {
    const { text } = await sandbox.get(`/console/decisions/${await decide()}`)
    expect(text).toContain('Why this call was blocked')
    expect(text).toContain('(212) 555-0100')
    expect(text).toContain('a consent that is not on file')
    expect(text).toContain('N.Y. Gen. Bus. Law')
    expect(text).toContain('version <code>sandbox</code>')
    expect(text).toContain('Not passed: <a href="#finding-permission">')
    expect(text).toContain('store the consent with its wording on page Consents')
  })

  it.each([
    ['2125550100', { callKind: 'ai' }, '47 CFR 64.1200(a)(2) and (a)(3) and 16 CFR 310.4'],
    ['2125550101', { callKind: 'autodialed' }, '47 CFR 64.1200(a)(2)'],
    ['4165550100', { callKind: 'ai' }, 'CRTC Unsolicited Telecommunications Rules, Part IV'],
    ['2125550103', { callKind: 'manual' }, '47 CFR 64.1200(c)(2)'],
  ])('names the law by which a call is blocked: %s, %o', async (number, call, law) => {
    const { text } = await sandbox.get(`/console/decisions/${await decide({ number, ...call })}`)
    expect(text).toContain('Why this call was blocked')
    expect(text).toMatch(/<p>The law: /)
    expect(text).toContain(law)
  })

  it('names no law where callgate asks for more than one, or the call is allowed', async () => {
    for (const call of [
      { number: '4165550101', callKind: 'autodialed' },
      { number: '2125550106', callKind: 'ai' },
      { number: '12', callKind: 'manual' },
    ]) {
      const { text } = await sandbox.get(`/console/decisions/${await decide(call)}`)
      expect(text).not.toContain('The law:')
    }
  })

  it('leads to evidence about the number, which no address shows', async () => {
    const { text } = await sandbox.get(`/console/decisions/${await decide()}`)
    const path = /href="(\/console\/evidence\/about\/[^"]+)"/.exec(text)?.[1] ?? ''
    expect(path).not.toContain('2125550100')
    expect((await sandbox.get(path)).text).toContain('value="2125550100"')
    expect((await sandbox.get('/console/evidence/about/2125550100')).status).toBe(404)
  })

  it('shows texts of others as texts', async () => {
    const id = await decide({
      reference: hostile.slice(0, 60),
      subject: undefined,
      callerId: hostile.slice(0, 20),
    })
    const { text, status } = await sandbox.get(`/console/decisions/${id}`)
    expect(status).toBe(200)
    expect(text).not.toContain('<script>alert')
    expect(text).toContain('&lt;script&gt;')
  })

  it('asks again, now or as of a time, and records nothing', async () => {
    const id = await decide({ number: '2125550106' })
    const now = await sandbox.post(`/console/decisions/${id}`, {})
    expect(now.text).toContain('Asked again, as of now')
    const night = await sandbox.post(`/console/decisions/${id}`, { at: '2026-11-24T08:00' })
    expect(night.text).toContain('outside the lawful calling hours')
    const wrong = await sandbox.post(`/console/decisions/${id}`, { at: 'yesterday' })
    expect([wrong.status, wrong.text.includes('Nothing was done')]).toEqual([400, true])
  })

  it('gives the proof of its place in the log', async () => {
    const id = await decide()
    const page = await sandbox.get(`/console/decisions/${id}`)
    expect(page.text).toContain(`href="/console/decisions/${id}/proof"`)
    await expect
      .poll(async () => (await sandbox.get(`/console/decisions/${id}/proof`)).status, {
        timeout: 60_000,
      })
      .toBe(200)
    const proof = await sandbox.get(`/console/decisions/${id}/proof`)
    expect(proof.text).toMatch(/^c2sp\.org\/tlog-proof@v1\n/)
    expect(proof.headers.get('content-disposition')).toContain('decision.tlog-proof')
    expect((await main.get(`/console/decisions/${id}/proof`)).status).toBe(404)
  })

  it('has nothing of another account', async () => {
    const { status, text } = await main.get(`/console/decisions/${await decide()}`)
    expect([status, text.includes('There is no such thing')]).toEqual([404, true])
  })
})

describe('search', () => {
  it('finds a number without naming it in an address, pages and CSV', async () => {
    await decide()
    const found = await sandbox.post('/console/search', { number: '(212) 555-0100' })
    expect(found.path).toMatch(/^\/console\/search\/[\w-]+$/)
    expect(found.path).not.toContain('2125550100')
    expect(found.text).toContain('(212) 555-0100')
    const csv = await sandbox.get(`${found.path}?output=csv`)
    expect(csv.headers.get('content-disposition')).toContain('decisions.csv')
    expect(csv.text).toContain('2125550100')
    expect((await main.get(found.path)).status).toBe(404)
  })

  it('says which field is wrong and keeps what was entered', async () => {
    const wrong = await sandbox.post('/console/search', {
      number: '12',
      from: '2026-11-24T00:00',
      to: '2026-11-23T00:00',
    })
    expect(wrong.text).toContain('must be after from')
    expect(wrong.text).toContain('value="2026-11-24T00:00"')
    expect((await sandbox.get('/console/search/forged')).status).toBe(404)
  })
})

describe('number', () => {
  it('has all parts, and says what would be decided now', async () => {
    await decide()
    const page = await sandbox.post('/console/numbers', { number: '212-555-0100' })
    expect(page.path).not.toContain('5550100')
    for (const heading of [
      'What would be decided now',
      'Opt-outs',
      'Consents and relationships',
      'Decisions',
      'Lists',
      'Reassigned',
    ]) {
      expect(page.text).toContain(`<h2>${heading}</h2>`)
    }
    const emergency = await sandbox.post('/console/numbers', { number: '911' })
    expect([emergency.status, emergency.text.includes('Not known')]).toEqual([200, false])
    const wrong = await sandbox.post('/console/numbers', { number: hostile })
    expect(wrong.text).not.toContain('<script>alert')
  })
})

describe('number', () => {
  it('names and links the field of a project that the account does not have', async () => {
    const form = { number: '2125550100', projectId: 'NOPE' }
    const { text, status } = await sandbox.post('/console/numbers', form)
    expect(status).toBe(200)
    expect(text).toContain('<a href="#projectId">')
    expect(text).toContain('aria-describedby="projectId-hint projectId-problem"')
    expect(text).toContain('is not an active project of this account')
  })

  it('says reasons and changes in words, and leads to evidence', async () => {
    await decide()
    await running.postJson('/v1/opt-outs', { number: '2125550100' })
    const { text } = await sandbox.post('/console/numbers', { number: '2125550100' })
    expect(text).toContain('<b>Opted out</b> <code>internal-dnc</code>')
    expect(text).toContain('opt-out added')
    const path = /href="(\/console\/evidence\/about\/[^"]+)"/.exec(text)?.[1] ?? ''
    expect((await sandbox.get(path)).text).toContain('value="2125550100"')
    const label = 'without evidence'
    for (const limits of [
      { role: 'Supervisor', rights: ['look-up'] },
      { role: 'Agent' },
      { role: 'Administrator', projects: ['sandbox'] },
    ] as const) {
      const { key } = await running.callgate.keys.create({ accountId: 'sandbox', label, ...limits })
      const client = await openConsoleClient(running, key)
      const form = { number: '2125550100', projectId: 'sandbox' }
      const page = await client.post('/console/numbers', form)
      expect(page.text).toContain('Number (212) 555-0100')
      expect(page.text).not.toContain('/console/evidence/about')
    }
  })
})

describe('unclear opt-outs', () => {
  const path = '/console/opt-outs/unclear'
  const say = async (CallSid: string, transcript: string) => {
    const body = spoken(CallSid, transcript)
    const receivedAt = new Date(running.clock.at).toISOString()
    const event = { platform: 'twilio', receivedAt, body, query: '' }
    expect((await running.postJson('/v1/platform-events', event)).status).toBe(200)
    const { text } = await sandbox.get(path)
    return { text, id: /name="id" value="([^"]+)"/.exec(text)?.[1] ?? '' }
  }

  it('are in force when somebody has named the number', async () => {
    const { text, id } = await say('CA1', `stop calling me ${hostile}`)
    expect(text).toContain('stop calling me')
    expect(text).toContain('the call is unknown')
    expect(text).not.toContain('<script>alert')
    expect((await main.get(path)).text).toContain('No unclear opt-outs')
    const wrong = await sandbox.post(path, { id, action: 'confirm', number: '212-555' })
    expect([wrong.status, wrong.text.includes('North American')]).toEqual([400, true])
    const other = await main.post(path, { id, action: 'confirm', number: '6465550114' })
    expect(other.status).toBe(404)
    const form = { id, action: 'confirm', number: '(646) 555-0114', reason: 'log of the trunk' }
    const confirmed = await sandbox.post(path, form)
    expect(confirmed.text).toContain('Confirmed: the opt-out is in force.')
    expect(confirmed.text).toContain('No unclear opt-outs')
    const { text: why } = await sandbox.get(
      `/console/decisions/${await decide({ number: '6465550114', callKind: 'manual' })}`,
    )
    expect(why).toContain('internal-dnc')
  })

  it('are none when somebody says so', async () => {
    const { id } = await say('CA2', 'please stop calling')
    const dismissed = await sandbox.post(path, { id, action: 'dismiss' })
    expect(dismissed.text).toContain('Dismissed.')
    expect(dismissed.text).toContain('No unclear opt-outs')
  })
})

it('links to the field of a wrong project of a consent', async () => {
  const consent = { givenAt: '2026-11-20T10:00', seller: 'Acme', wording: 'Call me' }
  const choices = { channel: 'web', method: 'written', ...consent }
  const form = { number: '2125550107', projectId: 'NOPE', ...choices }
  const { text, status } = await sandbox.post('/console/consents', form)
  expect(status, text).toBe(400)
  expect(text).toContain('<a href="#projectId">')
})

it.each(['everything', 'project'])(
  'takes an opt-out with a wrong project for all calls, and says so: %s',
  async (scope) => {
    const number = scope === 'project' ? '2125550107' : '2125550108'
    const form = { number, projectId: 'NOPE', channel: 'agent', scope }
    const { text, status } = await sandbox.post('/console/opt-outs', form)
    expect(status, text).toBe(200)
    expect(text).toContain('has opted out of all calls.')
    expect(text).toContain(
      'projectId &#39;NOPE&#39;: must be one of this account; the opt-out applies to every project.',
    )
    const decided = await running.postJson('/v1/decisions', { number, callKind: 'manual' })
    expect(await decided.json()).toMatchObject({ decision: 'block' })
    const listed = await running.get(`/app/main/rpc/pdnc?phoneList=${number}&actionType=status`)
    expect(await listed.text()).not.toContain(',,')
  },
)

it.each([
  '/console/opt-outs',
  '/console/opt-outs/many',
  '/console/opt-outs/end',
  '/console/consents',
  '/console/consents/many',
  '/console/consents/end',
  '/console/caller-ids',
  '/console/caller-ids?ended=true',
  '/console/attempts',
  '/console/attempts/new',
])('marks where one is within a group of pages: %s', async (path) => {
  const [, group = ''] =
    /<nav class="sections"[^>]*>(.*?)<\/nav>/s.exec((await sandbox.get(path)).text) ?? []
  const marked = [...group.matchAll(/href="([^"]+)" aria-current="page"/g)].map(([, to]) => to)
  expect(marked).toEqual([path])
})

describe('opt-outs', () => {
  it('are added at once, with who did it where, and end with a reason alone', async () => {
    const added = await sandbox.post('/console/opt-outs', {
      number: '+1 (212) 555-0106',
      channel: 'agent',
      scope: 'everything',
      said: hostile,
    })
    expect(added.text).toContain('(212) 555-0106 has opted out of all calls.')
    const id = await decide({ number: '2125550106' })
    expect((await sandbox.get(`/console/decisions/${id}`)).text).toContain(
      'internal do-not-call list',
    )
    const page = await sandbox.post('/console/numbers', { number: '2125550106' })
    expect(page.text).not.toContain('<script>alert')
    expect(page.text).toContain('console /v1/opt-outs')

    const without = await sandbox.post('/console/opt-outs/end', {
      phoneList: '2125550106',
      reason: ' ',
    })
    expect([without.status, without.text.includes('reason: is required')]).toEqual([400, true])
    const ended = await sandbox.post('/console/opt-outs/end', {
      phoneList: '2125550106',
      reason: 'asked in writing',
    })
    expect(ended.text).toContain('(212) 555-0106 may be called again')
    expect((await sandbox.post('/console/numbers', { number: '2125550106' })).text).toContain(
      'asked in writing',
    )
  })

  it('have a receipt that can be checked, if it is asked for', async () => {
    const page = await sandbox.post('/console/opt-outs', { number: '2125550111', receipt: 'yes' })
    expect(page.text).toContain('callgate evidence check')
    expect(page.text).toContain('opt-out')
  })

  it('are looked at before many are added', async () => {
    const phoneList =
      'phone,name\n212-555-0120,Ann\n2125550121,"Bob\nsecond line"\n2125550120,again\nnone,x 9\n911,short\n'
    const preview = await sandbox.post('/console/opt-outs/many', { phoneList })
    expect(preview.text).toContain('To be added: 2 numbers.')
    expect(preview.text).toContain('Cannot be used: 2 rows')
    expect(preview.text).toContain('repeated in this table: 1 number.')
    const numbers = /name="phoneList" value="([^"]+)"/.exec(preview.text)?.[1] ?? ''
    expect(numbers).toBe('2125550120,2125550121')
    const added = await sandbox.post('/console/opt-outs/add', { phoneList: numbers })
    expect(added.text).toContain('Added: 2 numbers.')
    const nothing = await sandbox.post('/console/opt-outs/many', { phoneList: 'a\nb' })
    expect([nothing.status, nothing.text.includes('has no number of ten digits')]).toEqual([
      400,
      true,
    ])
    const project = await sandbox.post('/console/opt-outs/many', {
      phoneList: '2125550120',
      projId: 'NOPE',
    })
    expect(project.status).toBe(400)
  })

  it('are not ended by an Agent', async () => {
    const { key } = await running.callgate.keys.create({
      accountId: 'sandbox',
      role: 'Agent',
      label: 'agent',
    })
    const agent = await openConsoleClient(running, key)
    const ended = await agent.post('/console/opt-outs/end', {
      phoneList: '2125550120',
      reason: 'why not',
    })
    expect([ended.status, ended.text.includes('ask a Supervisor')]).toEqual([403, true])
  })
})

describe('consents', () => {
  const consent = {
    number: '2125550130',
    givenAt: '2026-11-20T15:00',
    seller: 'Example Inc',
    channel: 'web',
    method: 'written',
    wording: hostile,
  }

  it('are stored with what shows them, and ended with a reason', async () => {
    const added = await sandbox.post('/console/consents', consent)
    expect(added.text).toContain('The consent of (212) 555-0130 was stored.')
    const page = await sandbox.post('/console/numbers', { number: consent.number })
    expect(page.text).toContain('Example Inc')
    expect(page.text).not.toContain('<script>alert')
    const ended = await sandbox.post('/console/consents/end', {
      phoneList: '+1 (212) 555-0130',
      reason: 'withdrawn',
    })
    expect(ended.text).toContain('Ended: 1 record.')
    const wrong = await sandbox.post('/console/consents', { ...consent, givenAt: '', seller: '' })
    expect(wrong.status).toBe(400)
    expect(wrong.text).toContain('href="#seller"')
    expect(wrong.text).toContain('2125550130')
  })

  it('are looked at before many are stored', async () => {
    const rows = [
      'number,givenAt,seller,channel,method,wording',
      '2125550131,2026-11-20T15:00:00Z,Example Inc,web,written,"I agree, ""fully"""',
      '2125550132,yesterday,Example Inc,web,written,I agree',
    ].join('\n')
    const preview = await sandbox.post('/console/consents/many', { rows })
    expect(preview.text).toContain('1 consent can be stored')
    expect(preview.text).toContain('givenAt &#39;yesterday&#39;')
    const stored = await sandbox.post('/console/consents/add', { rows })
    expect(stored.text).toContain('Stored: 1 consent.')
    const unknown = await sandbox.post('/console/consents/many', { rows: 'phone\n2125550131' })
    expect([unknown.status, unknown.text.includes('has no column')]).toEqual([400, true])
  })
})
