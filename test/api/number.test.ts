/** All that an account has about one number: each part, whose it is, and what is not known. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { NumberBody, NumberParts } from '../../src/api/records/number.js'
import { registerImport } from '../../src/commands/import/import.js'
import { registerNumber } from '../../src/commands/records/number.js'
import { refreshData } from '../../src/commands/serve/data-watch.js'
import { formatDay } from '../../src/domain/time/dates.js'
import type { NewApiKey } from '../../src/service/accounts/api-keys.js'
import { recordAudit } from '../../src/storage/audit/audit-log.js'
import { openRemoteCallgate } from '../support/remote-callgate.js'
import { runCommand } from '../support/run-command.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import { isPostgres } from '../support/test-engine.js'

const opened: TestCallgate[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.end()
})

const number = '2127365001'

type Known<Name extends keyof NumberParts> = Extract<NumberParts[Name], { known: true }>

async function open(environment: Readonly<Record<string, string>> = {}) {
  const running = await openTestCallgate({ environment })
  opened.push(running)
  const { main } = running.keys
  const ask = (path: string, key = main) => running.get(`/v1/numbers/${path}`, key)
  const read = async (path = number, key = main) => {
    const reply = await ask(path, key)
    const text = await reply.text()
    expect(reply.status, text).toBe(200)
    return JSON.parse(text) as NumberBody
  }
  const part = async <Name extends keyof NumberParts>(name: Name, path = number, key = main) => {
    const { parts } = await read(path, key)
    return parts?.[name] as Known<Name>
  }
  const because = async (name: keyof NumberParts, path = number, key = main) => {
    const { parts } = await read(path, key)
    const found = parts?.[name]
    expect(found?.known).toBe(false)
    return found?.known === false ? found.because : ''
  }
  const post = async (path: string, body: unknown, key = main) => {
    const reply = await running.postJson(path, body, key)
    const text = await reply.text()
    expect(reply.status, text).toBeLessThan(300)
    return text === '' ? {} : JSON.parse(text)
  }
  const keyWith = async (limits: Partial<NewApiKey>) =>
    await running.callgate.keys.create({
      ...{ accountId: 'main', role: 'Administrator', label: '' },
      ...limits,
    })
  const addProject = (code: string) =>
    post('/v1.5/projects', { ProjectCode: code, ProjectName: code })
  const pdnc = (actionType: string, more: object = {}) =>
    post('/app/main/rpc/pdnc', { phoneList: number, actionType, ...more })
  return { running, ask, read, part, because, post, keyWith, addProject, pdnc }
}

const consent = {
  number,
  ...{ givenAt: '2026-11-20T15:00:00Z', seller: 'Acme', channel: 'web', method: 'written' },
  wording: 'I agree',
}

async function readAuditActions({ callgate }: TestCallgate) {
  const rows = await callgate.storage.db.selectFrom('audit').selectAll().orderBy('seq').execute()
  return rows.filter(({ action }) => action === 'number.read')
}

describe('the parts', () => {
  it('opt-outs: each list, who opted out and when it was removed, and the words', async () => {
    const { part, post, pdnc } = await open()
    expect(await part('optOuts')).toEqual({
      ...{ known: true, current: null, lists: [], moreLists: false },
      ...{ statements: [], moreStatements: false },
    })
    await post('/v1/opt-outs', { number, said: 'stop calling me', channel: 'call-voice' })
    const added = await part('optOuts')
    expect(added.current).toEqual({ addedAt: '2026-11-23T17:00:00Z', removedAt: null })
    expect(added.lists).toEqual([
      {
        ...{ list: 'main', onList: true, addedAt: '2026-11-23T17:00:00Z' },
        ...{ optedOutAt: '2026-11-23T17:00:00Z', optedOutBy: expect.any(String), removedAt: null },
      },
    ])
    expect(added.statements).toMatchObject([
      { scope: 'everything', list: 'main', said: 'stop calling me', by: expect.any(String) },
    ])
    await pdnc('remove')
    const removed = await part('optOuts')
    expect(removed.lists).toMatchObject([{ onList: false, removedAt: '2026-11-23T17:00:00Z' }])
    expect(removed.statements).toHaveLength(1)
  })

  it('consents and records, those that were replaced too', async () => {
    const { part, post } = await open()
    const ebrList = [{ phoneNumber: number, type: 'S', dateOfLastContact: '11/19/2026' }]
    await post('/app/main/rpc/ebr', { ebrList })
    const { id } = await post('/v1/consents', consent)
    const found = await part('consents')
    expect(found.current).toMatchObject({ type: 'P', consentId: id, isEffective: true })
    expect(found.consents).toMatchObject([{ id, projectCode: 'main', wording: 'I agree' }])
    expect(found.records).toMatchObject([
      { type: 'P', consentId: id, replacedAt: null },
      { type: 'S', replacedAt: '2026-11-23T17:00:00Z' },
    ])
  })

  it('attempts: how many limits count, and the latest', async () => {
    const { part, post } = await open()
    const at = '2026-11-18T17:00:00Z'
    await post('/v1/attempts', { attempts: [{ number, at, ref: 'old-1', channel: 'call' }] })
    expect(await part('attempts')).toEqual({
      ...{ known: true, last24Hours: 0, last7Days: 1, last31Days: 1, of: 'account', more: false },
      latest: [
        {
          ...{ decisionId: null, ref: 'old-1', at, purpose: 'telemarketing' },
          ...{ subject: null, personId: null, reach: null },
        },
      ],
    })
  })

  it('at most 20 rows, and says that there are more', async () => {
    const { part, post } = await open()
    const attempts = Array.from({ length: 21 }, (_, index) => ({
      ...{ number, ref: `r-${index}`, channel: 'call' },
      at: `2026-11-18T17:00:${String(index).padStart(2, '0')}Z`,
    }))
    await post('/v1/attempts', { attempts })
    const found = await part('attempts')
    expect(found.latest.map(({ ref }) => ref)).toEqual(
      attempts
        .map(({ ref }) => ref)
        .toReversed()
        .slice(0, 20),
    )
    expect(found).toMatchObject({ more: true, last7Days: 21 })
  })

  it('the place, what lists say and which cannot, and what would be decided', async () => {
    const { part, read } = await open()
    expect(await part('place')).toMatchObject({
      ...{ country: 'US', foundBy: 'area-code' },
      places: [{ region: 'NY', zone: 'America/New_York' }],
    })
    const { lists } = await part('lists')
    expect(lists.map(({ name, result }) => [name, result])).toEqual([
      ['us-dnc', 'not-known'],
      ['state-dnc-ny', 'no-list'],
      ['litigators', 'not-known'],
    ])
    expect(lists[0]?.because).toMatch(/callgate import us-dnc/)
    const { decisions } = await part('now')
    expect(decisions.map(({ callKind, decision }) => [callKind, decision])).toEqual([
      ['manual', 'block'],
      ['autodialed', 'block'],
      ['ai', 'block'],
    ])
    const { source } = await read()
    expect(source).toMatchObject({ kind: 'embedded', note: expect.stringMatching(/No provider/) })
  })

  it('its place is not known of a prefix that is not in use, and no list clears it', async () => {
    const { read, part } = await open()
    const { parts } = await read('5552365001')
    expect(parts?.place).toMatchObject({ known: true, country: null, detail: expect.any(String) })
    const { lists } = await part('lists', '5552365001')
    expect(lists.map(({ name, result }) => [name, result])).toEqual([
      ['us-dnc', 'not-known'],
      ['canada-dnc', 'not-known'],
      ['litigators', 'not-known'],
    ])
    expect((await part('lists', '8002365001')).lists[0]?.because).toMatch(/toll-free/)
  })

  it('of the sandbox: its fixed facts', async () => {
    const { running, part, read } = await open()
    const { sandbox } = running.keys
    expect((await read('2125550100', sandbox)).source.kind).toBe('sandbox')
    const { lists } = await part('lists', '2125550100', sandbox)
    expect(lists).toMatchObject([
      { name: 'us-dnc', result: 'clear', version: 'sandbox', asOf: expect.any(String) },
      { result: 'no-list' },
      { name: 'litigators', result: 'clear' },
    ])
  })

  it('reassigned: asked about the day of the record, or says why not', async () => {
    const { running, because, part, post } = await open()
    const { sandbox } = running.keys
    expect(await because('reassigned')).toMatch(/no consent or other record/)
    await post('/v1/consents', consent)
    expect(await because('reassigned')).toMatch(/neither a file nor a provider/)
    await post('/v1/consents', { ...consent, number: '2125550101' }, sandbox)
    expect(await part('reassigned', '2125550101', sandbox)).toMatchObject({
      ...{ known: true, since: '2026-11-20', source: 'sandbox', askedAt: expect.any(String) },
    })
  })

  it('labels of a number that is monitored', async () => {
    const { part, post } = await open()
    expect(await part('labels')).toEqual({ known: true, monitored: null })
    expect(await part('complaints')).toEqual({ known: true, complaints: [], more: false })
    await post('/v1.4/reputation/add', [{ Phone: number, Label: 'Mine' }])
    expect((await part('labels')).monitored).toMatchObject({ current: 'Processing' })
  })

  it('changes: what was done and by whom, without who has read', async () => {
    const { running, part, read } = await open()
    await read()
    expect((await part('changes')).changes).toEqual([])
    const by = { who: 'user:anna', door: 'command x' }
    const subject = { kind: 'number', id: number }
    for (const accountId of ['main', 'sandbox']) {
      await running.callgate.storage.db.transaction().execute(async (transaction) => {
        const more = { at: 1_000, after: { list: accountId } }
        await recordAudit(transaction, {
          by,
          accountId,
          action: 'opt-out.removed',
          subject,
          ...more,
        })
      })
    }
    expect((await part('changes')).changes).toEqual([
      {
        ...{ at: '1970-01-01T00:00:01Z', who: 'user:anna', door: 'command x', reason: null },
        ...{ action: 'opt-out.removed', before: null, after: { list: 'main' } },
      },
    ])
  })

  // Over PostgreSQL a server copies them, which this one does not start.
  it.skipIf(isPostgres())(
    'the latest decisions, and where the next page begins (index of SQLite)',
    async () => {
      const { running, part, post } = await open()
      const { id } = await post('/v1/decisions', { number, callKind: 'manual' })
      const found = await vi.waitFor(async () => {
        const now = await part('decisions')
        expect(now.decisions).toHaveLength(1)
        return now
      })
      expect(found).toMatchObject({ known: true, completeUntil: expect.any(String) })
      expect(found.decisions).toMatchObject([{ id, decision: 'block', callKind: 'manual' }])
      expect((await part('decisions', number, running.keys.sandbox)).decisions).toEqual([])
    },
  )
})

// The commands read settings of their own, with SQLite.
describe.skipIf(isPostgres())('lists (commands with settings of SQLite)', () => {
  it('that are imported say their version and as-of, and a broken one that it cannot say', async () => {
    const { running, part } = await open()
    const { callgate, dataDir } = running
    running.clock.at = Date.now()
    const file = join(dataDir, 'numbers.txt')
    writeFileSync(file, `${number}\n`)
    const asOf = formatDay(Math.floor(running.clock.at / 86_400_000))
    const args = ['import', 'us-dnc', file, '--area-codes', '212', '--as-of', asOf]
    expect(await runCommand(registerImport, args, { dataDir })).toMatchObject({ code: 0 })
    const folder = join(dataDir, 'lists')
    for (const name of readdirSync(folder).filter((one) => one.startsWith('us-dnc')))
      writeFileSync(join(folder, name.replace('us-dnc', 'litigators')), 'damaged')
    await refreshData(callgate)
    const { lists } = await part('lists')
    expect(lists.find(({ name }) => name === 'us-dnc')).toEqual({
      ...{ name: 'us-dnc', result: 'listed', version: expect.stringMatching(/^[0-9a-f]{16}$/) },
      ...{ asOf: `${asOf}T00:00:00Z`, listedOn: null, because: null },
    })
    const broken = lists.find(({ name }) => name === 'litigators')
    expect(broken).toMatchObject({
      result: 'not-known',
      because: expect.stringMatching(/litigators.*truncated/),
    })
  })
})

describe('a provider', () => {
  it('is asked only if the request says so', async () => {
    const running = await openRemoteCallgate()
    try {
      const get = async (query: string) => {
        const reply = await running.get(`/v1/numbers/${number}${query}`, running.keys.main)
        return (await reply.json()) as NumberBody
      }
      const asked = async () =>
        (await running.metrics())
          .split('\n')
          .filter((line) => /^callgate_source_requests_total\{source="(?!embedded)/.test(line))
      const before = await asked()
      const { source, parts } = await get('')
      expect(source).toMatchObject({ kind: 'remote', note: expect.stringMatching(/not asked/) })
      expect(parts?.now).toEqual({ known: false, because: expect.stringMatching(/askProvider/) })
      expect(parts?.optOuts.known).toBe(true)
      expect(await asked()).toEqual(before)
      const live = await get('?askProvider=true')
      expect(live.parts?.now).toMatchObject({ known: true })
      expect(live.source.note).toMatch(/asked for parts.now/)
      expect(await asked()).not.toEqual(before)
    } finally {
      await running.end()
    }
  })
})

describe.skipIf(isPostgres())('the command (with settings of SQLite)', () => {
  it('shows the same, and the read has the user as its author', async () => {
    const { running, pdnc } = await open()
    await pdnc('add')
    const { dataDir, callgate } = running
    const run = (...args: string[]) => runCommand(registerNumber, ['number', ...args], { dataDir })
    const shown = await run('1-212-736-5001', '--reason', 'complaint 17')
    expect(shown).toMatchObject({ code: 0, err: '' })
    expect(shown.out).toMatch(/^2127365001 {2}as of/)
    expect(shown.out).toMatch(/OPT-OUTS[\s\S]*main +true/)
    expect(shown.out).toMatch(/statements: none/)
    const json = await run(number, '--json')
    expect(JSON.parse(json.out)).toMatchObject({
      parts: { optOuts: { lists: [{ list: 'main' }] } },
    })
    expect((await run('911')).out).toMatch(/always allowed/)
    expect(await run('abc')).toMatchObject({ code: expect.any(Number) })
    expect((await run('abc')).code).not.toBe(0)
    const audited = callgate.storage.db.selectFrom('audit').selectAll().orderBy('seq')
    const rows = await audited.where('action', '=', 'number.read').execute()
    expect(rows.map(({ who, door, reason }) => [who.split(':')[0], door, reason])).toEqual([
      ['user', 'command number', 'complaint 17'],
      ['user', 'command number', null],
    ])
  })
})

describe('the number', () => {
  it.each([
    ...['2127365001', '1-212-736-5001', '+1 (212) 736-5001', '0111 212.736.5001'],
    ...['tel:+1-212-736-5001', 'sip:12127365001@pbx.example.com;user=phone'],
  ])('may be %s', async (text) => {
    const { read } = await open()
    expect((await read(encodeURIComponent(text))).number).toBe(number)
  })

  it.each([
    ...['212736500', '21273650011', 'abc', '+442071234567', '1234', '%20'],
    '2127365001,2127365002',
  ])('must not be %s', async (text) => {
    const { ask, running } = await open()
    const reply = await ask(text === '%20' ? text : encodeURIComponent(text))
    expect(reply.status).toBe(400)
    expect(await reply.json()).toMatchObject({ detail: expect.stringMatching(/^number '/) })
    expect(await readAuditActions(running)).toEqual([])
  })

  it('that is a service code is never looked up', async () => {
    const { running, read } = await open({ CALLGATE_GATE_SERVICE_CODES: '["2127365099"]' })
    for (const code of ['911', '988', '2127365099']) {
      const found = await read(code)
      expect(found).toMatchObject({ number: code, serviceCode: expect.any(String) })
      expect(found.parts).toBeUndefined()
    }
    expect(await readAuditActions(running)).toEqual([])
  })

  it('is judged for a project there is', async () => {
    const { ask } = await open()
    const reply = await ask(`${number}?projectId=NONE`)
    expect(reply.status).toBe(400)
    expect(await reply.text()).toMatch(/NONE/)
  })
})

describe('whose it is', () => {
  it('nothing of another account is shown', async () => {
    const { running, part, read, post, pdnc } = await open()
    await pdnc('add')
    await post('/v1/consents', consent)
    await post('/v1.4/reputation/add', [{ Phone: number, Label: 'Mine' }])
    const at = '2026-11-22T17:00:00Z'
    await post('/v1/attempts', { attempts: [{ number, at, ref: 'a', channel: 'call' }] })
    const { sandbox } = running.keys
    const { parts } = await read(number, sandbox)
    expect(parts).toMatchObject({
      optOuts: { current: null, lists: [], statements: [] },
      consents: { current: null, consents: [], records: [] },
      attempts: { last31Days: 0, latest: [] },
      labels: { monitored: null },
      changes: { changes: [] },
    })
    expect((await part('optOuts')).lists).toHaveLength(1)
  })

  it('a key for one project does not see what is of another one', async () => {
    const { ask, part, because, post, keyWith, addProject, pdnc } = await open()
    for (const code of ['SALES', 'OTHER']) await addProject(code)
    for (const projId of ['SALES', 'OTHER']) await pdnc('add', { projId })
    for (const projectId of ['SALES', 'OTHER'])
      await post('/v1/consents', { ...consent, seller: projectId, projectId })
    await post('/v1/opt-outs', {
      number,
      said: 'secret',
      channel: 'call-voice',
      projectId: 'OTHER',
    })
    const at = '2026-11-22T17:00:00Z'
    await post('/v1/attempts', { attempts: [{ number, at, ref: 'a', channel: 'call' }] })
    const { key } = await keyWith({ projects: ['SALES'] })
    expect((await ask(number, key)).status).toBe(403)
    expect((await ask(`${number}?projectId=OTHER`, key)).status).toBe(403)
    const path = `${number}?projectId=SALES`
    const { lists, statements } = await part('optOuts', path, key)
    expect(lists.map(({ list }) => list)).toEqual(['SALES'])
    expect(statements).toMatchObject([
      { scope: 'everything', list: null, said: null, decisionId: null, by: null, source: null },
    ])
    const { consents, records } = await part('consents', path, key)
    expect(consents.map(({ projectCode }) => projectCode)).toEqual(['SALES'])
    expect(records.map(({ projectCode }) => projectCode)).toEqual(['SALES'])
    // All count, but whose each is, is not known.
    expect(await part('attempts', path, key)).toMatchObject({ of: 'key', last7Days: 1, latest: [] })
    expect(await because('changes', path, key)).toMatch(/no limit to projects/)
    const all = await part('optOuts')
    expect(all.lists.map(({ list }) => list).toSorted()).toEqual(['OTHER', 'SALES', 'main'])
    expect(all.statements).toMatchObject([{ list: 'OTHER', said: 'secret' }])
  })

  it('a key sees the parts that it has the rights for', async () => {
    const { ask, because, part, keyWith } = await open()
    const { key: lookUp } = await keyWith({ rights: ['look-up'] })
    for (const name of ['decisions', 'now'] as const)
      expect(await because(name, number, lookUp)).toMatch(/right 'decide'/)
    expect(await because('changes', number, lookUp)).toMatch(/right 'manage'/)
    expect((await part('optOuts', number, lookUp)).known).toBe(true)
    const { key: decide } = await keyWith({ rights: ['decide'] })
    expect((await ask(number, decide)).status).toBe(403)
    const { key: agent } = await keyWith({ role: 'Agent' })
    expect(await because('changes', number, agent)).toMatch(/role Administrator/)
    expect((await part('now', number, agent)).decisions).toHaveLength(3)
    const { key: manual } = await keyWith({ callKinds: ['manual'] })
    const { decisions, notAllowedToAsk } = await part('now', number, manual)
    expect(decisions.map(({ callKind }) => callKind)).toEqual(['manual'])
    expect(notAllowedToAsk).toEqual(['autodialed', 'ai'])
  })
})

describe('a read', () => {
  it('is recorded once, and counts and records nothing else', async () => {
    const { running, read, part } = await open()
    const append = vi.spyOn(running.callgate.journal, 'append')
    await read(`${number}?reason=${encodeURIComponent('complaint 17')}`)
    expect(append).not.toHaveBeenCalled()
    expect((await part('attempts')).last24Hours).toBe(0)
    expect(await readAuditActions(running)).toMatchObject([
      { account_id: 'main', door: 'api /v1/numbers/:number', reason: 'complaint 17' },
      { reason: null },
    ])
    const all = await running.callgate.storage.db.selectFrom('audit').selectAll().execute()
    const rows = all.filter(({ who }) => who.startsWith('key:'))
    expect(rows.every(({ action }) => action === 'number.read')).toBe(true)
    expect(JSON.stringify(rows)).not.toContain(number)
  })

  it('that cannot be recorded does not leave', async () => {
    const { running, ask } = await open()
    await running.callgate.storage.db.schema.dropTable('audit').execute()
    expect((await ask(number)).status).toBeGreaterThanOrEqual(500)
  })

  it('shows what is known when a part fails, and why it is not', async () => {
    const { running, read } = await open()
    await running.callgate.storage.db.schema.dropTable('opt_out_statements').execute()
    const { parts } = await read()
    expect(parts?.optOuts).toEqual({
      known: false,
      because: 'it could not be read; the log of the server says why',
    })
    expect(parts?.attempts.known).toBe(true)
    expect(running.logLines.join('')).toMatch(/part.*optOuts.*opt_out_statements/)
  })
})
