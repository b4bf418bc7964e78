/** What dialplans need of the pre-dial line beside its words: where the key stands, and which number. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recordsIn } from '../support/journal.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate

beforeAll(async () => {
  running = await openTestCallgate()
})
afterAll(() => running.end())

const lineAt = async (url: string, query: string, init: RequestInit = {}) => {
  const response = await fetch(`${url}/v1/predial${query}`, init)
  return `${response.status} ${await response.text()}`
}
const line = (query: string, init?: RequestInit) => lineAt(running.url, query, init)
const allowed = 'number=2125550106&kind=ai'
const allows = /^200 allow:2125550106:[0-9a-z]{20,}:end\n$/
const unauthenticated = '401 block:unauthenticated:-:end\n'

function basic(text: string) {
  return { headers: { authorization: `Basic ${Buffer.from(text).toString('base64')}` } }
}
function form(text: string): RequestInit {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return { method: 'POST', headers, body: text }
}

describe('the key of a pre-dial request', () => {
  it('may stand in the address, in the form, or be a password', async () => {
    const key = running.keys.sandbox
    expect(await line(`?${allowed}&loginId=${key}`)).toMatch(allows)
    expect(await line(`?LOGINID=${key}&${allowed}`)).toMatch(allows)
    expect(await line('', form(`${allowed}&loginId=${key}`))).toMatch(allows)
    expect(await line(`?loginId=${key}`, form(allowed))).toMatch(allows)
    expect(await line(`?${allowed}`, basic(`x:${key}`))).toMatch(allows)
    expect(await line(`?${allowed}`, basic(`:${key}`))).toMatch(allows)
  })

  it('is refused wherever it stands when it is wrong', async () => {
    const wrong = 'x'.repeat(44)
    const key = running.keys.sandbox
    expect(await line(`?${allowed}&loginId=${wrong}`)).toBe(unauthenticated)
    expect(await line(`?${allowed}&loginId=`)).toBe(unauthenticated)
    expect(await line('', form(`${allowed}&loginId=${wrong}`))).toBe(unauthenticated)
    expect(await line(`?${allowed}`, basic(`x:${wrong}`))).toBe(unauthenticated)
    expect(await line(`?${allowed}`, basic(key))).toBe(unauthenticated)
    expect(await line(`?${allowed}`, basic(`${key}:`))).toBe(unauthenticated)
  })

  it('is one when it is given twice with one value, and refused with two', async () => {
    const key = running.keys.sandbox
    const twice = `${allowed}&loginId=${key}&loginId=${key}`
    expect(await line(`?${twice}`)).toMatch(/^200 allow:/)
    expect(await line(`?${allowed}&loginId=${key}&LOGINID=${key}`)).toMatch(/^200 allow:/)
    expect(await line('', form(twice))).toMatch(/^200 allow:/)
    const others = `${allowed}&loginId=${key}&loginId=other`
    expect(await line(`?${others}`)).toBe('400 block:bad-request:-:end\n')
    expect(await line('', form(others))).toMatch(/^40[01] block:/)
  })

  it('in a header is one when it is sent twice with one value, and refused with two', async () => {
    const key = running.keys.sandbox
    const statusWith = async (loginId: string) =>
      (
        await fetch(`${running.url}/v1/predial?${allowed}`, {
          headers: [
            ['loginId', key],
            ['loginId', loginId],
          ],
        })
      ).status
    expect([await statusWith(key), await statusWith('other')]).toEqual([200, 401])
  })

  it('is asked for as a password too, since some clients wait for that', async () => {
    const { headers } = await fetch(`${running.url}/v1/predial?${allowed}`)
    expect(headers.get('www-authenticate')).toBe('Bearer realm="callgate", Basic realm="callgate"')
  })

  it('counts as no password and no field on the other calls', async () => {
    const body = JSON.stringify({ number: '2125550106', callKind: 'ai' })
    const send = (query: string, headers: Record<string, string>) =>
      fetch(`${running.url}/v1/decisions${query}`, { method: 'POST', headers, body })
    const type = { 'content-type': 'application/json' }
    expect(
      (await send('', { ...type, ...basic(`x:${running.keys.sandbox}`).headers })).status,
    ).toBe(401)
    expect((await send(`?loginId=${running.keys.sandbox}`, type)).status).toBe(401)
  })

  it('is not in the log', () => {
    expect(running.logLines.join('').includes(running.keys.sandbox)).toBe(false)
  })

  it('lets an emergency call pass whatever it is, and names its record where it is right', async () => {
    const key = running.keys.sandbox
    const recorded = /^200 allow:911:[0-9a-z]{20,}:end\n$/
    expect(await line(`?number=911&loginId=${key}`)).toMatch(recorded)
    expect(await line('', form(`number=911&loginId=${key}`))).toMatch(recorded)
    expect(await line('?number=911', basic(`x:${key}`))).toMatch(recorded)
    for (const query of ['?number=911&loginId=x', '?number=911&loginId=x&loginId=y']) {
      expect(await line(query)).toBe('200 allow:911:-:end\n')
    }
  })
})

describe('with http.keysInAddress: false', () => {
  let closed: TestCallgate
  beforeAll(async () => {
    closed = await openTestCallgate({ environment: { CALLGATE_HTTP_KEYS_IN_ADDRESS: 'false' } })
  })
  afterAll(() => closed.end())

  it('a key in the address is refused, beside a right one too', async () => {
    const key = closed.keys.sandbox
    const inAddress = `?${allowed}&loginId=${key}`
    expect(await lineAt(closed.url, inAddress)).toBe(unauthenticated)
    expect(await lineAt(closed.url, inAddress, { headers: { loginId: key } })).toBe(unauthenticated)
    expect(await lineAt(closed.url, '', form(`${allowed}&loginId=${key}`))).toMatch(allows)
    expect(await lineAt(closed.url, `?number=911&loginId=${key}`)).toBe('200 allow:911:-:end\n')
  })

  it('so is one on the published calls, which says why', async () => {
    const query = `?loginId=${closed.keys.sandbox}&phoneList=2125550100`
    const response = await fetch(`${closed.url}/app/main/rpc/scrub${query}`)
    expect(response.status).toBe(401)
    expect(await response.text()).toBe(
      'A key in the URL is not accepted here (`http.keysInAddress` is false); send it in header loginId',
    )
  })
})

describe('format=sent', () => {
  const sent = async (number: string, more = '&format=sent') => {
    const init = { headers: { loginId: running.keys.sandbox } }
    const query = `?number=${encodeURIComponent(number)}&kind=ai${more}`
    return /^200 allow:([^:]*):[0-9a-z]{20,}:end\n$/.exec(await line(query, init))?.[1]
  }

  it.each([
    ['2125550106', '2125550106'],
    ['12125550106', '12125550106'],
    ['+12125550106', '+12125550106'],
    ['01112125550106', '01112125550106'],
    ['911', '911'],
    ['+911', '+911'],
  ])('names %s as %s', async (number, named) => {
    expect(await sent(number)).toBe(named)
  })

  it.each(['+1 (212) 555-0106', 'tel:+12125550106', 'sip:12125550106@pbx'])(
    'names the ten digits of %s, which has other signs',
    async (number) => {
      expect(await sent(number)).toBe('2125550106')
    },
  )

  it('is not the default, which can be named', async () => {
    expect(await sent('+12125550106', '')).toBe('2125550106')
    expect(await sent('+12125550106', '&format=judged')).toBe('2125550106')
    expect(await sent('+12125550106', '&format=other')).toBeUndefined()
  })

  it('leaves the reason of a block and the record as they are', async () => {
    const init = { headers: { loginId: running.keys.sandbox } }
    const answer = await line('?number=%2B12125550100&kind=ai&format=sent', init)
    expect(answer).toMatch(/^200 block:no-consent:/)
    const id = answer.split(':')[2] ?? ''
    const record = (await (await running.get(`/v1/decisions/${id}`)).json()) as object
    expect(record).toMatchObject({ number: '2125550100', dialed: '+12125550100' })
    expect(JSON.stringify(record)).not.toContain('asSent')
  })
})

const positionOf = ({ headers }: Response) =>
  ['X-Callgate-Journal-Record', 'X-Callgate-Journal-Size'].map((name) => Number(headers.get(name)))

it('every answer says which record is that of the decision, and how far the journal has got', async () => {
  const loginId = running.keys.sandbox
  let last = 0
  for (const number of ['2125550106', '2125550100']) {
    const headers = { loginId, 'content-type': 'application/json' }
    const body = JSON.stringify({ number, callKind: 'ai' })
    const response = await fetch(`${running.url}/v1/decisions`, { method: 'POST', headers, body })
    const answer = (await response.json()) as { readonly id: string; readonly decision: string }
    const [record = 0, size = 0] = positionOf(response)
    expect(record).toBeGreaterThan(last)
    last = record
    // An allow leaves once its record is on disk, and a block does not wait for that.
    if (answer.decision === 'allow') expect(size).toBeGreaterThanOrEqual(record)
    await running.callgate.journal.drain()
    const found = recordsIn(running.dataDir).find(({ seq }) => seq === record)
    expect({ id: /"id":"(\w+)"/.exec(found?.body ?? '')?.[1] }).toMatchObject({ id: answer.id })
  }
  const line = await fetch(`${running.url}/v1/predial?${allowed}`, { headers: { loginId } })
  const [record = 0, size = 0] = positionOf(line)
  expect(record).toBeGreaterThan(last)
  expect(size).toBeGreaterThanOrEqual(record)
})
