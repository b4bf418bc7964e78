import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { signWebhook } from '../../src/service/webhooks/webhook-signature.js'
import { verifyWebhookSignature } from '../support/verify-webhook-signature.js'

const secret = 'whsec_4f1c'
const body = '{"JobId":"1","Status":"Complete","Results":[]}'
const notice = { id: 'evt_0123abcd', atSeconds: 1_795_453_200, body }
const now = notice.atSeconds * 1000
const header = signWebhook(notice, [secret])
const proof = header.slice(-64)

const check = (over: Partial<Parameters<typeof verifyWebhookSignature>[0]> = {}) =>
  verifyWebhookSignature({ header, body, secret, now, ...over })

describe('a signature', () => {
  // printf '%s' 'evt_1.1700000000.{}' | openssl dgst -sha256 -hmac secret
  it.each([
    {
      id: 'evt_1',
      atSeconds: 1_700_000_000,
      text: '{}',
      key: 'secret',
      hex: '81cb8b50961f0fd250d94959303132527aa389817f295263b27dc72d42ec0a3e',
    },
    {
      id: 'evt_0a',
      atSeconds: 1_795_453_200,
      text: '{"n":"Zoë"}',
      key: 'whsec_4f1c',
      hex: '4652c24b190bd9e347a0554b6e82382d87a018bd5b3cf274c4d3d3d505a0456f',
    },
    {
      id: 'evt_2',
      atSeconds: 0,
      text: '',
      key: 'k',
      hex: '3040e2169ff5d60dab5e39ee71c658a02e73f5725e131a3f99c924c6ac05bf90',
    },
  ])('of $id at $atSeconds', ({ id, atSeconds, text, key, hex }) => {
    expect(signWebhook({ id, atSeconds, body: text }, [key])).toBe(
      `t=${atSeconds},id=${id},v1=${hex}`,
    )
  })

  it('is the HMAC-SHA256 of id, time and body', () => {
    const text = `evt_0123abcd.1795453200.${body}`
    const hex = createHmac('sha256', secret).update(text).digest('hex')
    expect(header).toBe(`t=1795453200,id=evt_0123abcd,v1=${hex}`)
  })

  it('is of the bytes of the body', () => {
    const text = '{"name":"Zoë ✓"}'
    const bytes = new TextEncoder().encode(text)
    const ofText = signWebhook({ ...notice, body: text }, [secret])
    expect(ofText).toBe(signWebhook({ ...notice, body: bytes }, [secret]))
    expect(check({ header: ofText, body: bytes })).toBe('valid')
  })

  it('has a proof for each secret while one replaces another', () => {
    const both = signWebhook(notice, ['old', 'new'])
    expect(both.match(/v1=/g)).toHaveLength(2)
    const secrets = ['old', 'new', 'other']
    expect(secrets.map((one) => check({ header: both, secret: one }))).toEqual([
      'valid',
      'valid',
      'wrong',
    ])
  })
})

describe('a receiver finds', () => {
  it.each([
    ['what was sent', {}, 'valid'],
    [
      'parts in any order, and parts it does not know',
      { header: `v2=x,v1=${proof},id=evt_0123abcd, t=1795453200` },
      'valid',
    ],
    ['an old proof beside the right one', { header: `${header},v1=${'0'.repeat(64)}` }, 'valid'],
    ['an attempt at the end of the tolerance', { now: now + 300_000 }, 'valid'],
    ['a clock that is behind', { now: now - 300_000 }, 'valid'],
    [
      'an attempt within its own tolerance',
      { now: now + 3_000_000, toleranceSeconds: 3_000 },
      'valid',
    ],
    ['an attempt played again later', { now: now + 300_001 }, 'out-of-time'],
    ['an attempt of the future', { now: now - 300_001 }, 'out-of-time'],
    [
      'an attempt past its own tolerance',
      { now: now + 11_000, toleranceSeconds: 10 },
      'out-of-time',
    ],
    ['another body', { body: `${body} ` }, 'wrong'],
    ['no body', { body: '' }, 'wrong'],
    ['another secret', { secret: 'whsec_4f1d' }, 'wrong'],
    ['another id', { header: header.replace('evt_0', 'evt_1') }, 'wrong'],
    ['another time', { header: header.replace('t=1795453200', 't=1795453201') }, 'wrong'],
    [
      'another time and a late clock',
      { header: header.replace('200', '300'), now: now + 9e6 },
      'wrong',
    ],
    [
      'another proof',
      { header: header.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')) },
      'wrong',
    ],
    ['nothing', { header: '' }, 'malformed'],
    ['text', { header: 'yes' }, 'malformed'],
    ['no time', { header: `id=evt_0123abcd,v1=${proof}` }, 'malformed'],
    ['two times', { header: `${header},t=1` }, 'malformed'],
    ['a time that is none', { header: header.replace('t=1795453200', 't=now') }, 'malformed'],
    ['no id', { header: `t=1795453200,v1=${proof}` }, 'malformed'],
    ['an empty id', { header: `t=1795453200,id=,v1=${proof}` }, 'malformed'],
    ['two ids', { header: `${header},id=evt_2` }, 'malformed'],
    [
      'an id with a dot, which could move the borders',
      { header: header.replace('evt_0', 'evt.0') },
      'malformed',
    ],
    ['no proof', { header: 't=1795453200,id=evt_0123abcd' }, 'malformed'],
    ['a proof that is too short', { header: header.slice(0, -2) }, 'malformed'],
    ['a proof in capitals', { header: `t=1,id=a,v1=${'A'.repeat(64)}` }, 'malformed'],
    ['an empty proof beside the right one', { header: `${header},v1=` }, 'malformed'],
    ['an empty part', { header: `${header},` }, 'malformed'],
    ['a hundred thousand parts', { header: 'v1='.repeat(100_000) }, 'malformed'],
  ])('%s', (_, over, verdict) => {
    expect(check(over)).toBe(verdict)
  })
})
