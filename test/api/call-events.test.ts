/** What is heard of a call after its decision: outcomes and opt-outs. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OptOutResponse } from '../../src/api/gate/call-events.js'
import { noLimits } from '../../src/domain/caller.js'
import { treeFolder, verifierKeyPath } from '../../src/gate/journal/tree/tree-files.js'
import { openReceipt } from '../../src/transparency/receipt.js'
import { parseVerifierKey } from '../../src/transparency/signed-note.js'
import { recordsIn } from '../support/journal.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
beforeAll(async () => {
  running = await openTestCallgate()
})
afterAll(() => running.end())

async function decide(number: string, more: object = {}) {
  const response = await running.postJson('/v1/decisions', { number, callKind: 'ai', ...more })
  return (await response.json()) as { id: string; decision: string; reason: string }
}

const optOut = (body: object) => running.postJson('/v1/opt-outs', body)
const statements = () =>
  running.callgate.storage.db.selectFrom('opt_out_statements').selectAll().execute()

describe('an outcome', () => {
  const note = (id: string, body: object) => running.postJson(`/v1/decisions/${id}/outcome`, body)
  const outcomeOf = async (id: string) =>
    ((await (await running.get(`/v1/decisions/${id}`)).json()) as { outcome?: object }).outcome

  it('is in the record; answered stays, and a late beginning changes nothing', async () => {
    const { id } = await decide('2125550106')
    expect(await outcomeOf(id)).toBeUndefined()
    const answeredAt = '2026-11-23T17:00:05Z'
    await note(id, { state: 'answered', leg: 'CA1', answeredAt })
    await note(id, { state: 'dialled', leg: 'CA1', dialledAt: '2026-11-23T17:00:01Z' })
    const last = { state: 'failed', leg: 'CA1', dialStatus: 'user hangup', cause: 16 }
    expect((await note(id, last)).status).toBe(200)
    expect(await outcomeOf(id)).toEqual({
      ...{ state: 'answered', leg: 'CA1', dialledAt: '2026-11-23T17:00:01Z', answeredAt },
      ...{ dialStatus: 'user hangup', cause: 16 },
    })
  })

  it('is on disk: another start reads it', async () => {
    const { id } = await decide('2125550106')
    await note(id, { state: 'failed', dialStatus: 'busy' })
    await running.callgate.journal.drain()
    expect(running.callgate.journal.index?.find(id)?.outcome).toMatchObject({ dialStatus: 'busy' })
  })

  it.each([
    {},
    { state: 'handed-over' },
    { state: 'ringing' },
    { state: 'failed', answeredBy: 'person' },
    { state: 'answered', answeredBy: 'dog' },
    { state: 'failed', at: '2026-11-23T17:00:00Z', failedAt: '2026-11-23T17:00:00Z' },
    { state: 'failed', at: '2026-11-23T17:01:01Z' },
    { state: 'answered', dialledAt: '2026-11-23T16:58:59Z' },
    { state: 'failed', cause: 300 },
    { state: 'failed', leg: 'a\nb' },
    { state: 'failed', answeredAt: 'yesterday' },
    { state: 'failed', more: 1 },
  ])('is refused as %j', async (body) => {
    const { id } = await decide('2125550106')
    expect((await note(id, body)).status).toBe(400)
    expect(await outcomeOf(id)).toBeUndefined()
  })

  it('says of a wrong time which field, which value and why', async () => {
    const { id } = await decide('2125550106')
    const body = {
      state: 'answered',
      at: '2027-01-01T00:00:00Z',
      dialledAt: '2026-01-01T00:00:00Z',
    }
    const { detail } = (await (await note(id, body)).json()) as { detail: string }
    expect(detail).toContain(
      "at '2027-01-01T00:00:00Z': must not be in the future; it is 2026-11-23T17:0",
    )
    expect(detail).toContain("dialledAt '2026-01-01T00:00:00Z': must not be before the decision")
  })

  it.each([
    [{ dialledAt: '2026-11-23T17:00:10Z' }, 'answeredAt', 'must not be before dialledAt'],
    [{ endedAt: '2026-11-23T17:00:04Z' }, 'endedAt', 'must not be before answeredAt'],
    [{ connectedAt: '2026-11-23T17:00:04Z' }, 'connectedAt', 'must not be before answeredAt'],
  ])(
    'with %j is refused for %s: the order of its times is impossible',
    async (more, field, rule) => {
      const { id } = await decide('2125550106')
      const answered = { state: 'answered', leg: 'CA1', answeredAt: '2026-11-23T17:00:05Z' }
      const refused = await note(id, { ...answered, ...more })
      expect(refused.status).toBe(400)
      const text = await refused.text()
      expect(text).toContain(`${field} '`)
      expect(text).toContain(rule)
    },
  )

  it('may have null or nothing for what is not known', async () => {
    const { id } = await decide('2125550106')
    const unknown = {
      at: null,
      answeredBy: '',
      leg: '',
      connectedAt: null,
      said: null,
      cause: null,
    }
    expect((await note(id, { state: 'answered', ...unknown })).status).toBe(200)
    expect(await outcomeOf(id)).toMatchObject({ state: 'answered' })
    expect((await note(id, { state: null })).status).toBe(400)
  })

  it('of a second leg may come after the end of the first', async () => {
    const { id } = await decide('2125550106')
    const times = { dialledAt: '2026-11-23T17:00:01Z', endedAt: '2026-11-23T17:00:03Z' }
    expect((await note(id, { state: 'failed', leg: 'A', cause: 17, ...times })).status).toBe(200)
    const second = { state: 'answered', leg: 'B', at: '2026-11-23T17:00:09Z' }
    expect((await note(id, second)).status).toBe(200)
    expect(await outcomeOf(id)).toMatchObject({ state: 'answered', leg: 'B' })
  })

  it.each([
    ['failed', 'answered'],
    ['answered', 'failed'],
  ] as const)(
    'of a call in Maine counts as answered when it is %s and then %s',
    async (...states) => {
      const number = states[0] === 'failed' ? '2075550115' : '2075550119'
      const { id, decision } = await decide(number, { callKind: 'autodialed' })
      expect(decision).toBe('allow')
      for (const state of states) await note(id, { state, leg: 'CA1' })
      expect(await outcomeOf(id)).toMatchObject({ state: 'answered' })
      expect(await decide(number, { callKind: 'autodialed' })).toMatchObject({
        reason: 'too-many-attempts',
      })
    },
  )

  it('that a machine answered stays so, whatever is reported after it', async () => {
    const number = '3055550106'
    const { id } = await decide(number)
    const reach = async () => {
      const { db } = running.callgate.storage
      const rows = db.selectFrom('attempts').select('reach').where('decision_id', '=', id)
      return (await rows.executeTakeFirst())?.reach
    }
    await note(id, { state: 'answered', answeredBy: 'machine', at: '2026-11-23T17:00:05Z' })
    expect(await reach()).toBe(1)
    await note(id, { state: 'answered', endedAt: '2026-11-23T17:01:00Z' })
    expect(await reach()).toBe(1)
    await note(id, { state: 'answered', answeredBy: 'person' })
    expect(await reach()).toBe(2)
  })

  it('of a blocked call or a what-if is refused with 409', async () => {
    const blocked = await decide('2125550101')
    expect(blocked.decision).toBe('block')
    expect((await note(blocked.id, { state: 'answered' })).status).toBe(409)
    const whatIf = await decide('2125550106', { at: '2026-11-24T17:00:00Z' })
    expect(whatIf.decision).toBe('allow')
    expect((await note(whatIf.id, { state: 'not-placed' })).status).toBe(409)
    expect(await outcomeOf(whatIf.id)).toBeUndefined()
  })

  it('may be dialed, and says who answered', async () => {
    const { id } = await decide('2125550106')
    const at = '2026-11-23T17:00:10Z'
    await note(id, { state: 'dialed', at })
    await note(id, { state: 'answered', at: '2026-11-23T17:00:20Z', answeredBy: 'machine' })
    const outcome = {
      ...{ state: 'answered', dialledAt: at, answeredAt: '2026-11-23T17:00:20Z' },
      answeredBy: 'machine',
    }
    expect(await outcomeOf(id)).toEqual(outcome)
  })

  it('frees an attempt when the call was not placed, and counts it again when it was after all', async () => {
    const number = '3055550107'
    const ids: string[] = []
    for (let call = 0; call < 3; call += 1) ids.push((await decide(number)).id)
    const [first = '', second = '', third = ''] = ids
    expect(await decide(number)).toMatchObject({ reason: 'too-many-attempts' })
    for (let again = 0; again < 2; again += 1) {
      expect((await note(first, { state: 'not-placed' })).status).toBe(200)
      expect(await outcomeOf(first)).toEqual({
        state: 'not-carried-out',
        notCarriedOut: 'not-placed',
      })
    }
    expect(await decide(number)).toMatchObject({ decision: 'allow' })
    expect(await decide(number)).toMatchObject({ reason: 'too-many-attempts' })
    await note(second, { state: 'not-placed' })
    await note(second, { state: 'dialed' })
    expect(await decide(number)).toMatchObject({ reason: 'too-many-attempts' })
    await note(third, { state: 'failed', dialStatus: 'busy' })
    for (const id of [second, third]) {
      const refused = await note(id, { state: 'not-placed' })
      expect(refused.status).toBe(409)
      expect(await refused.text()).toContain('the call has left, so it cannot be not-placed')
    }
    expect(await decide(number)).toMatchObject({ reason: 'too-many-attempts' })
  })

  it('is not taken back by a key whose attempts are limited', async () => {
    const { keys } = running.callgate
    const of = { accountId: 'sandbox', role: 'Agent', label: '' } as const
    const limited = await keys.create({ ...of, calls: { attemptsPerDay: 1 } })
    const call = { number: '2125550108', callKind: 'ai' }
    const made = await running.postJson('/v1/decisions', call, limited.key)
    const { id, decision } = (await made.json()) as { id: string; decision: string }
    expect(decision).toBe('allow')
    const path = `/v1/decisions/${id}/outcome`
    const refused = await running.postJson(path, { state: 'not-placed' }, limited.key)
    expect(refused.status).toBe(403)
    expect((await running.postJson(path, { state: 'not-placed' })).status).toBe(200)
    const next = await running.postJson('/v1/decisions', call, limited.key)
    expect(await next.json()).toMatchObject({ decision: 'allow' })
    const dialed = await running.postJson(path, { state: 'dialed' }, limited.key)
    expect(dialed.status).toBe(200)
  })

  it('says which disclosures of the decision were said when; the first report of each stays', async () => {
    const { id } = await decide('2125550106')
    const said = [
      { key: 'opt-out', at: '2026-11-23T17:00:08Z' },
      { key: 'identity', at: '2026-11-23T17:00:06Z' },
    ]
    for (let again = 0; again < 2; again += 1) {
      expect((await note(id, { state: 'answered', said })).status).toBe(200)
    }
    const later = [
      { key: 'callback-number', at: '2026-11-23T17:00:40Z' },
      { key: 'identity', at: '2026-11-23T17:00:41Z' },
    ]
    expect((await note(id, { state: 'answered', said: later })).status).toBe(200)
    const record = (await (await running.get(`/v1/decisions/${id}`)).json()) as {
      disclosures: readonly { key: string }[]
    }
    expect(record.disclosures.map(({ key }) => key)).toEqual([
      'identity',
      'opt-out',
      'callback-number',
    ])
    expect(await outcomeOf(id)).toEqual({
      state: 'answered',
      said: [said[1], said[0], later[0]],
    })
  })

  const at = '2026-11-23T17:00:06Z'
  it.each([
    [{ said: [{ key: 'goods', at }] }, 'said[0].key', 'it has identity, opt-out, callback-number'],
    [{ said: [{ key: 'identity' }] }, 'said[0].at', ''],
    [{ said: [{ at }] }, 'said[0].key', ''],
    [{ said: [{ key: 'sing', at }] }, 'said[0].key', 'must be one of natural-voice-first'],
    [{ said: [{ key: 'identity', at, loud: 1 }] }, 'said[0].loud', 'unknown field'],
    [{ said: [{ key: 'identity', at: '2026-11-23T18:00:00Z' }] }, 'said[0].at', 'in the future'],
    [
      {
        said: [
          { key: 'identity', at },
          { key: 'identity', at },
        ],
      },
      'said[1].key',
      'is given twice',
    ],
    [{ said: [] }, 'said', 'must not be empty'],
    [{ said: 'all of it' }, 'said', 'must be a list'],
    [{ state: 'failed', said: [{ key: 'identity', at }] }, 'said', 'is only for state answered'],
  ])('with %j is refused, and names %s', async (body, field, rule) => {
    const { id } = await decide('2125550106')
    const refused = await note(id, { state: 'answered', ...body })
    expect(refused.status).toBe(400)
    const text = await refused.text()
    expect(text).toContain(field)
    expect(text).toContain(rule)
    expect(await outcomeOf(id)).toBeUndefined()
  })

  it('of a call that has nothing to disclose says so', async () => {
    const { id } = await decide('2125550106', { callKind: 'manual' })
    const refused = await note(id, { state: 'answered', said: [{ key: 'identity', at }] })
    expect(refused.status).toBe(400)
    expect(await refused.text()).toContain('it has none')
  })

  it('of an unknown decision is refused with 404', async () => {
    expect((await note('unknown', { state: 'failed' })).status).toBe(404)
  })
})

describe('an opt-out', () => {
  it('by decision is about the number of its record, in force with the next decision, and kept with the words', async () => {
    const { id } = await decide('+1 305 555 0106')
    const words = { said: 'take me off your list', source: 'transcript' }
    expect((await optOut({ decisionId: id, ...words })).status).toBe(200)
    expect(await decide('3055550106')).toMatchObject({ reason: 'consent-revoked' })
    expect((await statements()).filter(({ number }) => number === '3055550106')).toMatchObject([
      { account_id: 'sandbox', decision_id: id, ...words, key_id: expect.stringMatching(/^key-/) },
    ])
  })

  it('that is sent again does not end a consent that was given after it', async () => {
    const { id } = await decide('2165550106')
    const event = { decisionId: id, said: 'stop calling', source: 'transcript' }
    await optOut(event)
    expect(await decide('2165550106')).toMatchObject({ decision: 'block' })
    running.clock.at += 60_000
    await running.get('/app/main/rpc/pdnc?phoneList=2165550106&actionType=remove')
    const ebrList = [{ phoneNumber: '2165550106', type: 'P', dateOfLastContact: '11/23/2026' }]
    await running.postJson('/app/main/rpc/ebr', { ebrList })
    expect(await decide('2165550106')).toMatchObject({ reason: 'permitted' })
    expect((await optOut(event)).status).toBe(200)
    expect(await decide('2165550106')).toMatchObject({ decision: 'allow' })
    const other = { ...event, said: 'do not call' }
    expect((await optOut(other)).status).toBe(200)
    expect(await decide('2165550106')).toMatchObject({ decision: 'block' })
  })

  it('that is sent by many at once is stored once', async () => {
    const { id } = await decide('7185550106')
    const event = { decisionId: id, said: 'remove me' }
    const all = await Promise.all(Array.from({ length: 8 }, () => optOut(event)))
    expect(all.map(({ status }) => status)).toEqual(Array(8).fill(200))
    const stored = (await statements()).filter(({ decision_id }) => decision_id === id)
    expect(stored).toMatchObject([{ source: 'api' }])
  })

  it('by number may be without words', async () => {
    expect((await optOut({ number: '+14155550106' })).status).toBe(200)
    expect(await decide('4155550106')).toMatchObject({ reason: 'consent-revoked' })
  })

  it('answers what the law says of it, and offers one text that confirms it', async () => {
    const body = { number: '2125550196', said: 'Stop.', channel: 'text', reference: 'sms 9' }
    const answer = async () => (await (await optOut(body)).json()) as object
    const now = new Date(running.clock.at).toISOString().replace('.000', '')
    const before = new Date(running.clock.at + 300_000).toISOString().replace('.000', '')
    const first = await answer()
    expect(first).toEqual({
      ...{ recorded: true, scope: 'everything', receivedAt: now, effectiveAt: now },
      ...{ understood: true, lastDay: '2026-12-08', confirmation: { messages: 1, before } },
      rules: [{ id: 'tcpa-revocation', citation: expect.any(String) }],
    })
    expect(await answer()).toEqual({ ...first, confirmation: null })
  })

  it('is answered with a receipt that the journal has signed and proves, if it is asked for', async () => {
    const body = { number: '2125550194', said: 'Stop.', receipt: true }
    const answer = (await (await optOut(body)).json()) as OptOutResponse
    const { journal } = running.callgate
    await journal.drain()
    const folder = join(running.callgate.settings.dataDir, 'journal')
    const key = parseVerifierKey(readFileSync(verifierKeyPath(treeFolder(folder)), 'utf8').trim())
    const { seq, body: record } = openReceipt(answer.receipt ?? '', key)
    expect(JSON.parse(record)).toEqual({
      what: 'opt-out',
      accountId: 'sandbox',
      number: '2125550194',
      scope: 'everything',
      receivedAt: answer.receivedAt,
      effectiveAt: answer.effectiveAt,
    })
    const found = recordsIn(running.callgate.settings.dataDir).find((one) => one.seq === seq)
    expect([found?.kind, found?.body]).toEqual(['receipt', record])
    expect(() =>
      openReceipt(answer.receipt?.replace('2125550194', '2125550193') ?? '', key),
    ).toThrow('is wrong')
    const without = (await (await optOut({ ...body, receipt: false })).json()) as OptOutResponse
    expect(without).not.toHaveProperty('receipt')
  })

  it('of scope account is for everything, since opt-outs are kept by account', async () => {
    const answer = await optOut({ number: '2125550195', scope: 'account' })
    const recorded = await answer.json()
    expect(recorded).toMatchObject({ recorded: true, scope: 'everything' })
    expect(recorded).not.toHaveProperty('ignored')
  })

  it('of scope project is for everything unless the project calls for a legal entity of its own', async () => {
    const answer = await optOut({ number: '2125550197', scope: 'project' })
    expect(answer.status).toBe(200)
    const rule = expect.stringContaining('everything is used') as string
    expect(await answer.json()).toMatchObject({
      scope: 'everything',
      ignored: [{ field: 'scope', value: 'project', rule }],
    })
    expect(await decide('2125550197')).toMatchObject({ decision: 'block' })
  })

  it('about a call of a project that is not active any more is recorded for all others', async () => {
    const status = (code: string, handler: string) =>
      running.get(`/app/main/rpc/project?project_code=${code}&handler=${handler}`)
    const project = { ProjectCode: 'GONE', ProjectName: 'Gone', InheritEBR: true }
    expect((await running.postJson('/v1.5/projects', project)).status).toBe(201)
    const { id } = await decide('9545550106', { projectId: 'GONE' })
    expect((await status('GONE', 'deactivate_project')).status).toBe(200)
    const answer = await optOut({ decisionId: id, said: 'stop calling' })
    expect(answer.status, await answer.text()).toBe(200)
    await status('GONE', 'reactivate_project')
    for (const projectId of [undefined, 'GONE']) {
      const decided = await decide('9545550106', { projectId })
      expect(decided, projectId).toMatchObject({ decision: 'block' })
      expect(['consent-revoked', 'internal-dnc']).toContain(decided.reason)
    }
  })

  it('ends what is cached for other projects too', async () => {
    const project = { ProjectCode: 'WARM', ProjectName: 'Warm' }
    expect((await running.postJson('/v1.5/projects', project)).status).toBe(201)
    const call = { number: '2125550100', callKind: 'manual', projectId: 'WARM' }
    const ask = async () => (await running.postJson('/v1/decisions', call)).json()
    for (let turn = 0; turn < 2; turn += 1) expect(await ask()).toMatchObject({ decision: 'allow' })
    expect((await optOut({ number: '2125550100' })).status).toBe(200)
    expect(await ask()).toMatchObject({ decision: 'block', reason: 'internal-dnc' })
  })

  it('by a key that is limited to a project holds for all, whatever project it names', async () => {
    const { keys, service } = running.callgate
    const of = { accountId: 'sandbox', role: 'Agent', label: '' } as const
    const { key } = await keys.create({ ...of, projects: ['WARM'] })
    const number = '2125550199'
    const report = (projectId?: string) =>
      running.postJson('/v1/opt-outs', { number, projectId }, key)
    expect((await report()).status).toBe(200)
    expect((await report('WARM')).status).toBe(200)
    const other = await report('SALES')
    expect(other.status).toBe(200)
    expect(await other.json()).toMatchObject({ ignored: [{ field: 'projectId', value: 'SALES' }] })
    const caller = {
      accountId: 'sandbox',
      keyId: '',
      role: 'Administrator',
      limits: noLimits,
    } as const
    const status = await service.internalDnc.readStatus(caller, { numbers: [number] })
    expect(status).toMatchObject([{ onList: true }])
  })

  it('is measured from when it came in', async () => {
    const receivedAt = new Date(running.clock.at - 172_000_000).toISOString()
    await optOut({ number: '2125550198', channel: 'voicemail', receivedAt })
    const metrics = await (await fetch(`${running.url}/metrics`)).text()
    expect(metrics).toMatch(/callgate_opt_out_receipt_seconds_bucket{le="86400"} (\d+)\n/)
    const [day, twoDays] = ['86400', '172800'].map((le) =>
      Number(new RegExp(`receipt_seconds_bucket{le="${le}"} (\\d+)`).exec(metrics)?.[1]),
    )
    expect((twoDays ?? 0) - (day ?? 0)).toBe(1)
  })

  let lastNumber = 9_175_550_109
  /** Of a person whom nobody has called or heard of in this file. */
  const nextNumber = () => {
    lastNumber += 1
    return String(lastNumber)
  }
  const isListed = async (number: string) =>
    (await decide(number)).reason === 'internal-dnc' ||
    (await decide(number)).reason === 'consent-revoked'

  const named = (field: string, value?: string) => [
    { field, ...(value !== undefined && { value }), rule: expect.any(String) as string },
  ]

  it.each<[object, readonly object[] | undefined]>([
    [
      { decisionId: null, projectId: null, campaignId: null, scope: null, said: null, goods: null },
      undefined,
    ],
    [
      {
        decisionId: '',
        projectId: '',
        scope: '',
        said: '',
        receivedAt: '',
        source: '',
        channel: '',
      },
      undefined,
    ],
    [{ channel: null, receivedAt: null, reference: null, source: null, receipt: null }, undefined],
    [{ color: 'blue' }, named('color', 'blue')],
    [{ Said: 'stop calling', SCOPE: 'Everything', projectID: null }, undefined],
    [{ scope: 'all' }, named('scope', 'all')],
    [{ scope: 7 }, named('scope', '7')],
    [{ channel: 'fax' }, named('channel', 'fax')],
    [{ channel: 'Call Voice' }, undefined],
    [{ channel: ['text'] }, named('channel', 'a list of 1')],
    [{ source: 'a b' }, named('source', 'a b')],
    [{ source: { is: 1 } }, named('source', 'an object')],
    [{ receivedAt: 'yesterday' }, named('receivedAt', 'yesterday')],
    [{ receivedAt: 1_763_000_000 }, named('receivedAt', '1763000000')],
    [{ said: 'x'.repeat(501) }, named('said', `${'x'.repeat(60)}...`)],
    [{ said: 9 }, undefined],
    [{ said: ['stop'] }, named('said', 'a list of 1')],
    [{ goods: true, reference: 77 }, undefined],
    [
      { goods: {}, reference: 'r'.repeat(201) },
      [...named('goods', 'an object'), ...named('reference', `${'r'.repeat(60)}...`)],
    ],
    [{ projectId: 'NO-SUCH' }, named('projectId', 'NO-SUCH')],
    [{ campaignId: 'none' }, named('campaignId', 'none')],
    [{ projectId: 'p'.repeat(200) }, named('projectId', `${'p'.repeat(60)}...`)],
    [{ receipt: 'perhaps' }, named('receipt', 'perhaps')],
    [{ decisionId: 'unknown' }, named('decisionId', 'unknown')],
    [{ decisionId: 'd'.repeat(65) }, named('decisionId', `${'d'.repeat(60)}...`)],
    [{ loginId: 'secret' }, named('loginId', '(not shown)')],
  ])('with %j is recorded, and says what was ignored', async (fields, ignored) => {
    const number = nextNumber()
    const answer = await optOut({ number, ...fields })
    const body = (await answer.json()) as OptOutResponse
    expect([answer.status, body.recorded], JSON.stringify(body)).toEqual([200, true])
    expect(body.ignored).toEqual(ignored)
    expect(await isListed(number)).toBe(true)
  })

  it('with more words than are stored is understood by all of them', async () => {
    const number = nextNumber()
    const said = `${'So I was thinking about it. '.repeat(30)}Please stop calling me.`
    expect(await (await optOut({ number, said })).json()).toMatchObject({ understood: true })
    const stored = (await statements()).find((one) => one.number === number)
    expect(stored?.said).toBe(said.slice(0, 500))
  })

  it.each<[string, (number: string) => unknown]>([
    ['917-555-0112', (n) => `${n.slice(0, 3)}-${n.slice(3, 6)}-${n.slice(6)}`],
    ['(917) 555-0112', (n) => `(${n.slice(0, 3)}) ${n.slice(3, 6)}-${n.slice(6)}`],
    ['+1 917 555 0112', (n) => `+1 ${n.slice(0, 3)} ${n.slice(3, 6)} ${n.slice(6)}`],
    ['1.917.555.0112', (n) => `1.${n.slice(0, 3)}.${n.slice(3, 6)}.${n.slice(6)}`],
    ['tel:+1-917-555-0112', (n) => `tel:+1-${n.slice(0, 3)}-${n.slice(3, 6)}-${n.slice(6)}`],
    ['sip:+19175550112@pbx.example.com', (n) => `sip:+1${n}@pbx.example.com`],
    ['sip:9175550112@10.0.0.5', (n) => `sip:${n}@10.0.0.5`],
    ['917-555-0112 ext. 5', (n) => `${n.slice(0, 3)}-${n.slice(3, 6)}-${n.slice(6)} ext. 5`],
    ['a JSON number', Number],
    ['a JSON number with a 1', (n) => Number(`1${n}`)],
    ['a list of one', (n) => [n]],
    ['no-break hyphens', (n) => `${n.slice(0, 3)}\u2011${n.slice(3, 6)}\u2011${n.slice(6)}`],
    ['marks of direction', (n) => `\u202a+1 ${n}\u202c`],
  ])('by a number written as %s is recorded', async (_, write) => {
    const number = nextNumber()
    const answer = await optOut({ number: write(number) })
    expect(answer.status, await answer.text()).toBe(200)
    expect(await isListed(number)).toBe(true)
  })

  it.each<[string, string | undefined, (number: string) => string]>([
    ['a form', 'application/x-www-form-urlencoded', (n) => `number=${n}&said=stop+calling&scope=`],
    ['JSON as a form', 'application/x-www-form-urlencoded', (n) => JSON.stringify({ number: n })],
    ['JSON as text', 'text/plain;charset=UTF-8', (n) => ` ${JSON.stringify({ number: n })}`],
    ['JSON without a type', undefined, (n) => JSON.stringify({ number: n })],
    ['JSON after a BOM', 'application/json; charset=utf-16', (n) => `\uFEFF{"number":"${n}"}`],
    ['a form without a type', undefined, (n) => `number=%2B1${n}`],
  ])('as %s is recorded', async (_, type, write) => {
    const number = nextNumber()
    const answer = await fetch(`${running.url}/v1/opt-outs`, {
      method: 'POST',
      headers: {
        loginId: running.keys.sandbox,
        ...(type !== undefined && { 'content-type': type }),
      },
      body: new TextEncoder().encode(write(number)),
    })
    expect(answer.status, await answer.text()).toBe(200)
    expect(await isListed(number)).toBe(true)
  })

  it('in the address is recorded', async () => {
    const number = nextNumber()
    const answer = await fetch(`${running.url}/v1/opt-outs?number=${number}&said=stop`, {
      method: 'POST',
      headers: { loginId: running.keys.sandbox },
    })
    expect(answer.status, await answer.text()).toBe(200)
    expect(await isListed(number)).toBe(true)
  })

  it('by a number and the decision about another one ends the calls to both', async () => {
    const [number, other] = [nextNumber(), nextNumber()]
    const { id } = await decide(number)
    const answer = await optOut({ decisionId: id, number: other, said: 'stop calling' })
    const rule = expect.stringContaining('both numbers were opted out') as string
    expect(await answer.json()).toMatchObject({
      ignored: [{ field: 'number', value: other, rule }],
    })
    expect([await isListed(number), await isListed(other)]).toEqual([true, true])
    const same = await optOut({ decisionId: id, number: `+1${number}`, said: 'stop calling' })
    expect(await same.json()).not.toHaveProperty('ignored')
  })

  it.each<[object, string]>([
    [{}, 'send the number of the person, or the decisionId of the call'],
    [{ number: null, decisionId: '' }, 'send the number of the person'],
    [{ number: '212555010' }, "number '212555010': must be a North American telephone number"],
    [
      { number: '+442071838750' },
      "number '+442071838750': must be a North American telephone number",
    ],
    [{ number: '2125550106, 2125550107' }, 'must be one telephone number'],
    [{ number: ['2125550106', '2125550107'] }, 'must be text'],
    [{ decisionId: ['x'] }, "decisionId 'a list of 1': must be text"],
    [{ number: '917-555-\u0660112' }, 'it contains the character U+0660'],
  ])('about nobody, as with %j, is refused, and says what to do', async (body, text) => {
    const answer = await optOut(body)
    const problem = await answer.text()
    expect(answer.status, problem).toBe(400)
    expect(problem).toContain(text)
    expect(problem).toContain('nothing was recorded')
  })

  it('about an unknown decision is refused with 404, and about a service code with 400', async () => {
    expect((await optOut({ decisionId: 'unknown' })).status).toBe(404)
    const { id } = await decide('611')
    expect((await optOut({ decisionId: id })).status).toBe(400)
  })
})
