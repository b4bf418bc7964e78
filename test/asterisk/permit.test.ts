import { describe, expect, it } from 'vitest'
import { PermitSigner } from '../../src/asterisk/permit.js'

const key = 'k'.repeat(32)
const now = 1_795_176_000_000
const issued = {
  channelId: '1795210978.1',
  number: '2125550100',
  decisionId: '0mi8x0xq0a1b2c3d4e5f6a7b8c9d0',
  expiresAt: now + 60_000,
}
const asked = { channelId: issued.channelId, number: issued.number, now }
const permits = new PermitSigner(key)

/** The permit with one of its four parts put in place of its own. */
function withPart(at: number, part: (own: string) => string): string {
  const parts = permits.sign(issued).split('.')
  parts[at] = part(parts[at] ?? '')
  return parts.join('.')
}

/** Another letter that stands for the same 32 bytes, since 43 letters hold two bits too many. */
function sameBytes(mac: string): string {
  const bytes = Buffer.from(mac, 'base64url')
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const twins = [...letters].map((letter) => mac.slice(0, -1) + letter)
  const twin = twins.find((one) => one !== mac && Buffer.from(one, 'base64url').equals(bytes))
  if (twin === undefined) throw new Error('there is no such letter')
  return twin
}

describe('a permit', () => {
  it('gives the decision it was issued for', () => {
    expect(permits.verify(permits.sign(issued), asked)).toEqual({ decisionId: issued.decisionId })
  })

  it('is read by whoever has the key, with no memory in common', () => {
    const text = new PermitSigner(Buffer.from(key)).sign(issued)
    expect(new PermitSigner(key).verify(text, asked)).toEqual({ decisionId: issued.decisionId })
  })

  it('passes as a channel variable: short, and of letters that mean nothing to a dialplan', () => {
    const longest = { ...issued, decisionId: 'd'.repeat(64), expiresAt: 8.64e15 }
    for (const text of [permits.sign(issued), permits.sign(longest)]) {
      expect(text).toMatch(/^[\w.-]{1,199}$/)
      expect(permits.verify(text, asked)).toBeDefined()
    }
  })

  const hours: readonly (readonly [string, number, boolean])[] = [
    ['when issued', now, true],
    ['a millisecond before its end', issued.expiresAt - 1, true],
    ['at its end', issued.expiresAt, false],
    ['long after', issued.expiresAt + 86_400_000, false],
  ]
  for (const [when, at, good] of hours) {
    it(`is ${good ? 'good' : 'void'} ${when}`, () => {
      expect(permits.verify(permits.sign(issued), { ...asked, now: at }) !== undefined).toBe(good)
    })
  }

  const others: readonly (readonly [string, Partial<typeof asked>])[] = [
    ['another channel', { channelId: '1795210978.2' }],
    ['no channel', { channelId: '' }],
    ['another number', { number: '2125550101' }],
    ['no number', { number: '' }],
    [
      'a digit moved from the number to the channel',
      { channelId: '1795210978.12', number: '125550100' },
    ],
    ['channel and number changed round', { channelId: issued.number, number: issued.channelId }],
  ]
  for (const [what, other] of others) {
    it(`is void for ${what}`, () => {
      expect(permits.verify(permits.sign(issued), { ...asked, ...other })).toBeUndefined()
    })
  }

  const forged: readonly (readonly [string, string])[] = [
    ['the version is another', withPart(0, () => '2')],
    ['the expiry is later', withPart(1, () => (issued.expiresAt + 1).toString(36))],
    ['the expiry is written in another way', withPart(1, (own) => `0${own}`)],
    ['the decision id is another', withPart(2, (own) => own.replace('0', '1'))],
    ['the decision id is empty', withPart(2, () => '')],
    ['the code is another', withPart(3, (own) => (own.startsWith('A') ? 'B' : 'A') + own.slice(1))],
    ['the code is cut off', withPart(3, (own) => own.slice(0, -1))],
    ['the code is longer', withPart(3, (own) => `${own}A`)],
    ['the code is another spelling of the same bytes', withPart(3, sameBytes)],
    ['there is a part more', `${permits.sign(issued)}.1`],
    ['there is a line break at the end', `${permits.sign(issued)}\n`],
    ['there is a space before it', ` ${permits.sign(issued)}`],
    ['the key is another', new PermitSigner('j'.repeat(32)).sign(issued)],
    ['it is empty', ''],
    ['it is garbage', '1.zzz'],
    ['it is no text of ours', '\u0000\ud800.é.é.é'],
    ['it is overlong', `1.${'a'.repeat(5_000)}`],
    ['it is overlong and begins well', `${permits.sign(issued)}${'a'.repeat(200)}`],
  ]
  for (const [why, text] of forged) {
    it(`is void when ${why}`, () => {
      expect(permits.verify(text, asked)).toBeUndefined()
    })
  }

  it('is not issued for a decision id that would not come back whole', () => {
    for (const decisionId of ['', 'a.b', 'a,b', 'd'.repeat(65)]) {
      expect(() => permits.sign({ ...issued, decisionId })).toThrow(/cannot be part of a permit/)
    }
  })
})
