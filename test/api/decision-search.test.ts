/** `GET /v1/decisions`: what it takes, pages, CSV, and who may see what. The search itself: `test/gate/journal/search.test.ts`. */
import { get } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, openTwoAccounts, type TwoAccounts } from '../support/two-accounts.js'

let accounts: TwoAccounts
const path = '/v1/decisions'

interface Page {
  readonly decisions: readonly { readonly id: string; readonly reference?: string }[]
  readonly nextCursor?: string
  readonly searchedBackTo?: string
  readonly completeUntil: string
}

/** The numbers are on no list; a service code needs no key. */
const calls = [
  { number: '2127365001', callKind: 'manual', reference: 'one' },
  { number: '2127365002', callKind: 'ai', reference: '=1+1', projectId: 'SALES' },
  { number: '2127365001', callKind: 'ai', reference: '+two,"x"\n@', projectId: 'OTHER' },
  { number: '2127365003', callKind: 'manual', reference: '@three', projectId: 'sales' },
  { number: '2127365003', callKind: 'manual', reference: '-four', at: '2026-11-24T17:00:00Z' },
]

beforeAll(async () => {
  accounts = await openTwoAccounts()
  const { projects, journal } = accounts.running.callgate
  for (const code of ['SALES', 'OTHER']) {
    await projects.create({ accountId: 'main', code, name: code })
  }
  for (const json of calls) {
    accounts.running.clock.at += 1_000
    expect((await accounts.send(accounts.owner, { path, json })).status).toBe(200)
  }
  const json = { number: '2127365001', callKind: 'manual', reference: 'theirs' }
  expect((await accounts.send(accounts.stranger, { path, json })).status).toBe(200)
  await journal.drain()
})

afterAll(() => accounts.running.end())

const ask = (query: Readonly<Record<string, string>> = {}, key = accounts.owner): Promise<Answer> =>
  accounts.send(key, { path, query })

async function page(query: Readonly<Record<string, string>> = {}, key?: string): Promise<Page> {
  const answer = await ask(query, key)
  expect([query, answer.status, answer.text]).toEqual([query, 200, expect.any(String)])
  return answer.json() as Page
}

/** All pages as one: on a slow machine, one may end early. */
async function all(query: Readonly<Record<string, string>> = {}, key?: string): Promise<Page> {
  const decisions: Page['decisions'][number][] = []
  for (let cursor: string | undefined; ; ) {
    const one = await page({ ...query, ...(cursor && { cursor }) }, key)
    decisions.push(...one.decisions)
    expect(one.searchedBackTo === undefined).toBe(one.nextCursor === undefined)
    if (one.nextCursor === undefined) return { ...one, decisions }
    cursor = one.nextCursor
  }
}

const references = ({ decisions }: Page) => decisions.map(({ reference }) => reference)

async function rules(query: Readonly<Record<string, string>>): Promise<string> {
  const answer = await ask(query)
  expect(answer.status).toBe(400)
  return (answer.json() as { detail: string }).detail
}

describe('the decisions of an account', () => {
  it('are those of its calls, newest first, as each can be read', async () => {
    const found = await all()
    expect(references(found)).toEqual(['@three', '+two,"x"\n@', '=1+1', 'one'])
    const [first] = found.decisions
    const alone = await accounts.send(accounts.owner, { path: `${path}/${first?.id}` })
    expect(alone.json()).toEqual(first)
    expect(found).not.toHaveProperty('nextCursor')
    expect(Date.parse(found.completeUntil)).toBeGreaterThan(0)
    expect(references(await all({}, accounts.stranger))).toEqual(['theirs'])
  })

  it('are chosen by each field, and by all together', async () => {
    const cases: readonly (readonly [Record<string, string>, readonly string[]])[] = [
      [{ number: '2127365001' }, ['+two,"x"\n@', 'one']],
      [{ kind: 'ai' }, ['+two,"x"\n@', '=1+1']],
      [{ project: 'Sales' }, ['@three', '=1+1']],
      [{ project: 'MAIN' }, ['one']],
      [{ reference: '@three' }, ['@three']],
      [{ via: 'predial' }, []],
      [{ decision: 'allow' }, ['@three', 'one']],
      [{ decision: 'block', reason: 'no-consent' }, ['+two,"x"\n@', '=1+1']],
      [{ from: '2000-01-01T00:00:00Z', to: '2000-01-02T00:00:00Z' }, []],
      [{ from: '2000-01-01', number: '2127365001', kind: 'ai', project: 'OTHER' }, ['+two,"x"\n@']],
    ]
    for (const [query, expected] of cases) {
      expect([query, references(await all(query))]).toEqual([query, expected])
    }
    const { keyId } = (await all()).decisions[0] as unknown as { keyId: string }
    expect(references(await all({ key: keyId }))).toHaveLength(4)
    expect(references(await all({ key: 'none' }))).toEqual([])
  })

  it('come in pages, which a cursor of the same search continues', async () => {
    const query = { limit: '1', kind: 'ai' }
    const first = await page(query)
    expect(references(first)).toEqual(['+two,"x"\n@'])
    const cursor = first.nextCursor ?? ''
    expect(references(await all(query))).toEqual(['+two,"x"\n@', '=1+1'])
    expect(references(await page({ ...query, limit: '2', cursor }))).toEqual(['=1+1'])
    const other = 'is of a search with other filters; leave it out to begin anew'
    expect(await rules({ kind: 'manual', cursor })).toContain(other)
    expect((await ask({ kind: 'ai', cursor }, accounts.stranger)).text).toContain(other)
    expect(await rules({ cursor: 'x' })).toBe("cursor 'x': must be the nextCursor of a page")
  })
})

describe('a search with bad values', () => {
  it('names field, value and rule', async () => {
    const cases: readonly (readonly [Record<string, string>, string])[] = [
      [
        { number: '212-736-5001' },
        "number '212-736-5001': must be ten digits, or those of a service code",
      ],
      [{ from: 'yesterday' }, "from 'yesterday': must be an instant such as 2026-11-24T13:00:00Z"],
      [
        { from: '2026-11-24T00:00:00Z', to: '2026-11-23T00:00:00Z' },
        "to '2026-11-23T00:00:00Z': must be after from",
      ],
      [{ from: '2026-11-24', to: '2026-11-24' }, "to '2026-11-24T00:00:00Z': must be after from"],
      [{ decision: 'blocked' }, "decision 'blocked': must be one of allow, block"],
      [{ kind: 'robot' }, "kind 'robot': must be one of manual, autodialed, ai"],
      [{ via: 'mail' }, "via 'mail': must be one of http, predial, asterisk, check"],
      [{ limit: '0' }, "limit '0': must be a whole number from 1 to 200"],
      [{ limit: '201' }, "limit '201': must be a whole number from 1 to 200"],
      [{ limit: '1e2' }, "limit '1e2': must be a whole number from 1 to 200"],
      [{ output: 'xml' }, "output 'xml': must be one of json, csv"],
      [
        { phone: '2127365001' },
        "phone '2127365001': is an unknown field; known fields are number, from",
      ],
    ]
    for (const [query, rule] of cases) expect(await rules(query)).toContain(rule)
    expect(await rules({ reason: 'dnc' })).toContain("reason 'dnc': must be one of not-recorded, ")
    expect(await rules({ reference: 'x'.repeat(201) })).toContain(
      'must not be longer than 200 characters',
    )
    expect(await rules({ project: 'x'.repeat(65) })).toContain(
      'must not be longer than 64 characters',
    )
  })

  it('that are long is refused before it is read', async () => {
    const url = `${accounts.running.url}${path}?number=${'2'.repeat(1_000_000)}`
    const status = await new Promise((resolve) => {
      const request = get(url, { headers: { loginId: accounts.owner } }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      request.on('error', () => resolve('cut'))
    })
    expect([431, 'cut']).toContain(status)
  })
})

describe('a key that is limited', () => {
  const keyWith = async (limits: object) => {
    const { keys } = accounts.running.callgate
    return await keys.create({ accountId: 'main', role: 'Agent', label: '', ...limits })
  }

  it('sees the decisions of its projects and kinds of call, and is refused others', async () => {
    const ofSales = await keyWith({ projects: ['SALES'] })
    expect(references(await all({}, ofSales.key))).toEqual(['@three', '=1+1'])
    expect(references(await all({ number: '2127365001' }, ofSales.key))).toEqual([])
    const refused = await ask({ project: 'OTHER' }, ofSales.key)
    expect([refused.status, refused.text]).toEqual([
      403,
      expect.stringContaining(`key ${ofSales.id} is limited to the projects SALES`),
    ])
    const ofAi = await keyWith({ callKinds: ['ai'] })
    expect(references(await all({}, ofAi.key))).toEqual(['+two,"x"\n@', '=1+1'])
    const manual = await ask({ kind: 'manual' }, ofAi.key)
    expect([manual.status, manual.text]).toEqual([
      403,
      expect.stringContaining(`key ${ofAi.id} is limited to calls of kind ai`),
    ])
  })

  it('needs the right to decide', async () => {
    const { key } = await keyWith({ rights: ['look-up'] })
    expect((await ask({}, key)).status).toBe(403)
  })
})

describe('decisions as CSV', () => {
  const read = (query: string) =>
    new Promise<{ text: string; type: unknown; trailers: NodeJS.Dict<string> }>(
      (resolve, reject) => {
        const url = `${accounts.running.url}${path}?${query}`
        get(url, { headers: { loginId: accounts.owner } }, (response) => {
          let text = ''
          response.setEncoding('utf8')
          response.on('data', (part: string) => {
            text += part
          })
          response.on('end', () => {
            resolve({ text, type: response.headers['content-type'], trailers: response.trailers })
          })
        }).on('error', reject)
      },
    )

  it('have a line each, and no cell that is a formula', async () => {
    const { text, type, trailers } = await read('output=csv')
    expect(type).toBe('text/csv; charset=utf-8')
    expect(trailers).toEqual({})
    expect(text.split('\r\n')[0]).toBe(
      'id,decidedAt,decision,reason,message,number,dialed,callKind,purpose,projectId,campaignId,callerId,reference,' +
        'keyId,via,erased,outcome,dialledAt,answeredAt,endedAt',
    )
    for (const cell of [',one,', ",'=1+1,", ',"\'+two,""x""\n@",', ",'@three,"]) {
      expect(text).toContain(cell)
    }
    expect(text.match(/\r\n/g)).toHaveLength(5)
    expect(await read('output=csv&number=2127365999')).toMatchObject({
      text: expect.stringMatching(/^id,[^\n]*\r\n$/),
    })
  })

  it('are refused as JSON is', async () => {
    const answer = await ask({ output: 'csv', number: 'x' })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      400,
      expect.stringContaining('application/problem+json'),
    ])
  })
})

describe('reading decisions', () => {
  it('is logged, with how many there were', async () => {
    const { storage } = accounts.running.callgate
    const rows = () =>
      storage.db
        .selectFrom('audit')
        .selectAll()
        .where('action', '=', 'decisions.searched')
        .orderBy('seq', 'desc')
        .execute()
    const before = (await rows()).length
    const counts = [await page({ kind: 'ai' }), await page({ number: '2127365001' })].map(
      ({ decisions }) => `{"rows":${decisions.length}}`,
    )
    await ask({ limit: '0' })
    const [ofNumber, ofKind, ...older] = await rows()
    expect(older).toHaveLength(before)
    const door = 'api /v1/decisions'
    expect(ofNumber).toMatchObject({ door, subject_kind: 'number', after: counts[1] })
    expect(ofNumber?.subject).toMatch(/^[0-9a-f]{32}-5001$/)
    const who = expect.stringMatching(/^key:/)
    expect(ofKind).toMatchObject({ door, who, subject_kind: 'decisions', after: counts[0] })
    await ask({ output: 'csv' })
    const logged = (await rows()).slice(0, -before - 2)
    const sum = logged.reduce((count, { after }) => count + JSON.parse(after ?? '').rows, 0)
    expect(sum).toBe(4)
  })
})
