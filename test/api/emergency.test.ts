/** Emergency and service codes over `POST /v1/decisions`, whatever else the request holds or lacks. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DecisionDocument } from '../../src/gate/record/decision-document.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate

beforeAll(async () => {
  running = await openTestCallgate()
})

afterAll(() => running.end())

interface Sent {
  readonly query?: string
  readonly body: string
  readonly type?: string
  readonly key?: string | undefined
}

const send = ({ query = '', body, type = 'application/json', key }: Sent) =>
  fetch(`${running.url}/v1/decisions${query}`, {
    method: 'POST',
    headers: { 'content-type': type, ...(key !== undefined && { loginId: key }) },
    body,
  })

describe('an emergency or service code passes', () => {
  const json = (fields: Readonly<Record<string, unknown>>) => JSON.stringify(fields)
  const cases: readonly (readonly [string, string, Omit<Sent, 'key'>])[] = [
    ['with all that is needed', '911', { body: json({ number: '911', callKind: 'ai' }) }],
    ['with nothing else', '911', { body: json({ number: '911' }) }],
    ['with a bad callKind', '988', { body: json({ number: '988', callKind: 'robot' }) }],
    [
      'with an instant far away',
      '911',
      { body: json({ number: '911', callKind: 'ai', at: '9999-12-31T23:59:59-14:00' }) },
    ],
    ['with no instant', '911', { body: json({ number: '911', callKind: 'ai', at: 'now' }) }],
    ['with fields nobody knows', '933', { body: json({ number: '933', colour: ['red'] }) }],
    ['with all fields wrong', '911', { body: json({ number: '911', projectId: {}, callerId: 7 }) }],
    ['as a URI', '911', { body: json({ number: 'tel:911' }) }],
    ['with a plus and blanks', '911', { body: json({ number: ' +9-1-1 ' }) }],
    ['in a field of another letter case', '611', { body: json({ NUMBER: '611' }) }],
    ['given twice alike', '911', { body: json({ number: '911', Number: 'sip:911@pbx' }) }],
    ['beside a blank one', '911', { body: json({ number: '911', Number: null }) }],
    ['as the number 911', '911', { body: json({ number: 911, callKind: 'ai' }) }],
    ['as the number 933', '933', { body: json({ number: 933 }) }],
    ['as the number 988', '988', { body: json({ number: 988, at: 'x' }) }],
    ['with fields in the address', '911', { query: '?kind=ai', body: json({ number: '911' }) }],
    ['with itself in the address', '911', { query: '?number=911', body: json({ number: '911' }) }],
  ]

  it.each(cases)('%s', async (_what, code, sent) => {
    for (const key of [running.keys.sandbox, 'wrong', undefined]) {
      const response = await send({ ...sent, key })
      expect(response.status).toBe(200)
      const decision = (await response.json()) as DecisionDocument
      const passed = { decision: 'allow', reason: 'service-code', number: code, dial: code }
      expect(decision).toMatchObject(passed)
      if (key === running.keys.sandbox) {
        const read = await running.get(`/v1/decisions/${decision.id}`)
        expect(await read.json()).toEqual(decision)
      } else {
        expect(decision).toMatchObject({ id: '-', accountId: '', via: 'http' })
        expect(decision).not.toHaveProperty('keyId')
      }
    }
  })

  it('and the record holds what is known of the call', async () => {
    const body = JSON.stringify({ number: 'tel:911', callKind: 'ai', reference: 'channel-7' })
    const { id } = (await (await send({ body, key: running.keys.sandbox })).json()) as {
      id: string
    }
    expect(await (await running.get(`/v1/decisions/${id}`)).json()).toMatchObject({
      number: '911',
      dialed: 'tel:911',
      callKind: 'ai',
      reference: 'channel-7',
    })
  })
})

describe('no emergency is', () => {
  const number = '"number":"911","callKind":"ai"'
  const cases: readonly (readonly [string, number, Omit<Sent, 'key'>])[] = [
    ['a body that is cut off', 400, { body: `{${number}` }],
    ['a body with something behind it', 400, { body: `{${number}} 2125550105` }],
    ['a field given twice', 400, { body: `{${number},"number":"911"}` }],
    ['two numbers', 400, { body: `{${number},"Number":"2125550105"}` }],
    ['another number in the address', 400, { query: '?number=2125550105', body: `{${number}}` }],
    ['a number in the address alone', 400, { query: '?number=911', body: '' }],
    ['a number in the name of a field', 400, { body: `{${number},"PJSIP/2125550105@x":""}` }],
    ['a list of numbers', 400, { body: '{"number":["911"],"callKind":"ai"}' }],
    ['a list of calls', 400, { body: `[{${number}}]` }],
    ['a fraction', 400, { body: '{"number":91.1,"callKind":"ai"}' }],
    ['a negative number', 400, { body: '{"number":-911,"callKind":"ai"}' }],
    ['a number of a person', 400, { body: '{"number":2125550105,"callKind":"ai"}' }],
    ['a number deeper down', 400, { body: `{"call":{${number}}}` }],
    ['a body that is too large', 413, { body: `{${number},"x":"${' '.repeat(16_384)}"}` }],
    ['a form', 415, { type: 'application/x-www-form-urlencoded', body: 'number=911' }],
    ['text', 415, { type: 'text/plain', body: `{${number}}` }],
  ]

  it.each(cases)('%s', async (_what, status, sent) => {
    expect((await send({ ...sent, key: running.keys.sandbox })).status).toBe(status)
    expect((await send({ ...sent, key: 'wrong' })).status).toBe(401)
    expect((await send(sent)).status).toBe(401)
  })

  it('a code with another number behind it', async () => {
    const body = JSON.stringify({ number: '911;ext=2125550105', callKind: 'ai' })
    expect((await send({ body })).status).toBe(401)
    const decided = await send({ body, key: running.keys.sandbox })
    expect(await decided.json()).toMatchObject({ decision: 'block', reason: 'invalid-number' })
  })
})

describe('while the database is held', () => {
  it('an emergency call does not wait for it, over either call', async () => {
    const { db } = running.callgate.storage
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let transaction: Promise<void> | undefined
    await new Promise<void>((begun) => {
      transaction = db.transaction().execute(async () => {
        begun()
        await held
      })
    })
    // This key has not been used, so nothing is remembered of it.
    const { main } = running.keys
    const json = await send({ body: '{"number":"911"}', key: main })
    const recorded = expect.stringMatching(/^[0-9a-z]{20,}$/)
    expect(await json.json()).toMatchObject({ decision: 'allow', id: recorded, dial: '911' })
    const line = await running.get('/v1/predial?number=911', main)
    expect(await line.text()).toMatch(/^allow:911:[0-9a-z]{20,}:end\n$/)
    release()
    await transaction
  })
})

describe('the log', () => {
  it('says why an emergency call has no record', async () => {
    await send({ body: '{"number":"911"}', key: 'wrong' })
    const told = () =>
      running.logLines
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ message }) => /emergency or service code passed/.test(String(message)))
    expect(told()[0]).toMatchObject({
      message: 'an emergency or service code passed without a record',
      number: '911',
      because: 'The API key is not valid',
    })
  })
})
