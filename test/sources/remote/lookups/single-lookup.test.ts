/** Look-ups of one number at a provider: what is asked, what is understood, what is kept. */
import { describe, expect, it } from 'vitest'
import { parseDay } from '../../../../src/domain/time/dates.js'
import type { ProviderReply } from '../../../../src/sources/remote/client/transport.js'
import { n } from '../../../support/service-subjects.js'
import { openLookups, replyJson, secretKey, textOf } from './lookup-fixture.js'

const number = n('2127365001')
const identityRow = {
  Phone: '2127365001',
  PhoneType: 'W',
  OCN: '6010',
  TelcoName: 'Example',
  ODate: '20261103',
}
const statusRow = { Phone: '2127365001', Status: 'connected', ErrorText: '' }
const kindRow = { Phone: '2127365001', ResOrBusiness: 'B' }

type Call = 'identity' | 'lineStatus' | 'resOrBusiness'

const calls = [
  ['identity', 'GET /v1.4/Data/IDPremium?phone=2127365001', identityRow],
  ['lineStatus', 'GET /v1.4/Data/RealTimeDisconnect?phoneNumber=2127365001', statusRow],
  ['resOrBusiness', 'GET /v1.4/Data/ResOrBusiness?phone=2127365001', kindRow],
] as const

describe.each(calls)('%s', (call, wanted, row) => {
  it(`asks ${wanted} with the key in a header`, async () => {
    const { provider, transport, outcome } = openLookups()
    transport.onSend = (sent) => replyJson(sent, row)
    await outcome(provider[call](number))
    expect(transport.sent.map(textOf)).toEqual([wanted])
    expect(transport.sent[0]?.request.headers.loginId).toBe(secretKey)
    expect(transport.sent[0]?.request.url).not.toContain(secretKey)
  })

  it('is one request for all who ask at once, and none while the answer is kept', async () => {
    const { provider, transport, time, outcome } = openLookups()
    transport.onSend = (sent) => replyJson(sent, row)
    const all = Promise.all([provider[call](number), provider[call](number)])
    const first = (await outcome(all)) as { value: unknown[] }
    expect(first.value[0]).toEqual(first.value[1])
    expect(await outcome(provider[call](number))).toEqual({ value: first.value[0] })
    expect(transport.sent).toHaveLength(1)
    await time.advance(86_400_000)
    await outcome(provider[call](number))
    expect(transport.sent).toHaveLength(2)
  })

  it('is asked each time when nothing is to be kept', async () => {
    const { provider, transport, outcome } = openLookups({ keepMs: 0 })
    transport.onSend = (sent) => replyJson(sent, row)
    await outcome(provider[call](number))
    await outcome(provider[call](number))
    expect(transport.sent).toHaveLength(2)
  })

  const odd: readonly (readonly [string, Partial<ProviderReply>])[] = [
    ['a list', { body: JSON.stringify([row]) }],
    ['another number', { body: JSON.stringify({ ...row, Phone: '2127365002' }) }],
    ['no number', { body: JSON.stringify({ ...row, Phone: undefined }) }],
    ['a number that is none', { body: JSON.stringify({ ...row, Phone: 2127365001 }) }],
    ['nothing', { body: '' }],
    ['null', { body: 'null' }],
    ['JSON that is cut off', { body: JSON.stringify(row).slice(0, -3) }],
    ['a login page', { body: '<html><title>Login</title></html>', contentType: 'text/html' }],
    ['an error object', { body: '{"error":"no such number"}' }],
    ['a refusal', { status: 400, body: '{"detail":"phone is wrong"}' }],
    ['a missing endpoint', { status: 404, body: '' }],
    ['a key that is not accepted', { status: 401, body: '' }],
    ['the key itself', { body: JSON.stringify({ ...row, TelcoName: secretKey, X: secretKey }) }],
    ['a redirect', { status: 302, body: '' }],
  ]
  it.each(odd)('cannot be had from %s', async (_what, reply) => {
    const { provider, transport, lines, outcome } = openLookups()
    transport.onSend = (sent) => sent.reply(reply)
    const { error } = (await outcome(provider[call](number))) as { error: Error }
    expect(error).toBeInstanceOf(Error)
    expect(error.message).toMatch(/^acme: ./)
    expect(`${error.message} ${lines.join()}`).not.toMatch(/2127365|very-secret/)
    transport.onSend = (sent) => replyJson(sent, row)
    expect(await outcome(provider[call](number))).toHaveProperty('value')
  })

  it('is repeated a few times where that may help, and not for ever', async () => {
    const { provider, transport, outcome } = openLookups()
    transport.onSend = (sent) => sent.reply({ status: 503 })
    expect(await outcome(provider[call](number))).toHaveProperty('error')
    expect(transport.sent).toHaveLength(3)
  })

  it('is late after the time for it, and is known to be', async () => {
    const { provider, time } = openLookups({ timeoutMs: 700 })
    let told: unknown
    provider[call](number).catch((error: unknown) => {
      told = error
    })
    await time.advance(699)
    expect(told).toBeUndefined()
    await time.advance(1)
    expect(told).toMatchObject({
      name: 'TimeoutError',
      message: 'acme: no answer in time: no answer within 700 ms',
    })
  })
})

describe('odd values of a field', () => {
  it.each<[Call, object]>([
    ['identity', { ...identityRow, PhoneType: 'X' }],
    ['identity', { ...identityRow, PhoneType: 'w' }],
    ['identity', { ...identityRow, OCN: '60100' }],
    ['identity', { ...identityRow, OCN: null }],
    ['identity', { ...identityRow, TelcoName: 'x'.repeat(51) }],
    ['identity', { ...identityRow, ODate: '2026-11-03' }],
    ['identity', { ...identityRow, ODate: '20261303' }],
    ['lineStatus', { ...statusRow, Status: 'Connected' }],
    ['lineStatus', { ...statusRow, Status: '' }],
    ['lineStatus', { ...statusRow, ErrorText: 7 }],
    ['resOrBusiness', { ...kindRow, ResOrBusiness: 'X' }],
    ['resOrBusiness', { ...kindRow, ResOrBusiness: true }],
  ])('%s: %j', async (call, row) => {
    const { provider, transport, outcome } = openLookups()
    transport.onSend = (sent) => replyJson(sent, row)
    expect(await outcome(provider[call](number))).toHaveProperty('error')
  })
})

describe('what a provider says', () => {
  it.each<[Call, object, unknown]>([
    [
      'identity',
      identityRow,
      { phoneType: 'W', ocn: '6010', telcoName: 'Example', on: parseDay('2026-11-03') },
    ],
    [
      'identity',
      { ...identityRow, ODate: '', OCN: '', TelcoName: '' },
      { phoneType: 'W', ocn: '', telcoName: '', on: undefined },
    ],
    [
      'identity',
      { ...identityRow, PhoneType: 'N' },
      { phoneType: 'N', ocn: '6010', telcoName: 'Example', on: parseDay('2026-11-03') },
    ],
    ['identity', { ...identityRow, PhoneType: 'N', OCN: '', TelcoName: '' }, undefined],
    ['lineStatus', { ...statusRow, ErrorText: null }, { status: 'connected', errorText: '' }],
    [
      'lineStatus',
      { ...statusRow, Status: 'ERROR', ErrorText: `no\u0000\n data ${'x'.repeat(300)}` },
      { status: 'ERROR', errorText: `no data ${'x'.repeat(190)}` },
    ],
    ['resOrBusiness', kindRow, 'B'],
    ['resOrBusiness', { ...kindRow, ResOrBusiness: 'U' }, undefined],
  ])('%s: %j', async (call, row, expected) => {
    const { provider, transport, outcome } = openLookups()
    transport.onSend = (sent) => replyJson(sent, row)
    expect(await outcome(provider[call](number))).toEqual({ value: expected })
  })

  it.each<[Call, object]>([
    ['identity', { ...identityRow, PhoneType: 'N', OCN: '', TelcoName: '' }],
    ['resOrBusiness', { ...kindRow, ResOrBusiness: 'U' }],
    ...['pending', 'ERROR', 'serverunavailable', 'busy', 'unreachable'].map(
      (Status) => ['lineStatus', { ...statusRow, Status }] as [Call, object],
    ),
  ])('is kept for a minute where it is no lasting fact: %s %j', async (call, row) => {
    const { provider, transport, time, outcome } = openLookups()
    transport.onSend = (sent) => replyJson(sent, row)
    await outcome(provider[call](number), 0)
    await outcome(provider[call](number), 59_999)
    expect(transport.sent).toHaveLength(1)
    await time.advance(1)
    await outcome(provider[call](number), 0)
    expect(transport.sent).toHaveLength(2)
  })
})
