import { describe, expect, it } from 'vitest'
import {
  asPhoneNumber,
  isFictional,
  isTollFree,
  maskNumber,
  parseDialed,
  phoneNumber,
} from '../../src/domain/phone-number.js'
import { createLogger, maskNumbers } from '../../src/log.js'

describe('a dialled text', () => {
  const ordinary = [
    '2125550123',
    '12125550123',
    '+12125550123',
    '+1 (212) 555-0123',
    '212.555.0123',
    '212/555-0123',
    ' 212 555 0123 ',
    'tel:+1-212-555-0123',
    'tel:2125550123;phone-context=+1',
    'sip:2125550123@pbx.example.com',
    'SIP:+12125550123@10.0.0.1:5060;user=phone',
    'sips:12125550123@pbx',
  ]
  for (const text of ordinary) {
    it(`'${text}' is 2125550123`, () => {
      expect(parseDialed(text)).toEqual({ kind: 'nanp', number: '2125550123' })
    })
  }

  const others = [
    ['911', 'service-code'],
    ['9-1-1', 'service-code'],
    ['211', 'service-code'],
    ['811', 'service-code'],
    ['988', 'service-code'],
    ['933', 'service-code'],
    ['sip:911@host', 'service-code'],
    ['12', 'extension'],
    ['1001', 'extension'],
    ['100123', 'extension'],
    ['+442071838750', 'foreign'],
    ['00442071838750', 'foreign'],
    ['011442071838750', 'foreign'],
    ['1234567', 'invalid'],
    ['212555012', 'invalid'],
    ['22125550123', 'invalid'],
    ['+2125550123', 'invalid'],
    ['01112125550123', 'nanp'],
    ['0012125550123', 'nanp'],
    ['011012345678', 'invalid'],
    ['+21255501234', 'foreign'],
    ['+1212555012', 'invalid'],
    ['212555012a', 'invalid'],
    ['2125550123&SIP/x', 'invalid'],
    ['2125550123,2125550124', 'invalid'],
    ['٢١٢٥٥٥٠١٢٣', 'invalid'],
    ['+', 'invalid'],
    ['', 'invalid'],
  ] as const
  for (const [text, kind] of others) {
    it(`'${text}' is ${kind}`, () => {
      expect(parseDialed(text).kind).toBe(kind)
    })
  }

  it('knows the operator’s own emergency numbers', () => {
    expect(parseDialed('112', new Set(['112']))).toEqual({ kind: 'service-code', code: '112' })
    expect(parseDialed('+112', new Set(['112'])).kind).not.toBe('service-code')
  })
})

describe('the strict form of the API', () => {
  it('is ten digits and nothing else', () => {
    expect(asPhoneNumber('2125550123')).toBe('2125550123')
    for (const text of ['12125550123', '212-555-0123', '212555012', '212555012x', '2125550123\n']) {
      expect(asPhoneNumber(text)).toBeUndefined()
    }
    expect(() => phoneNumber('1')).toThrow(TypeError)
  })
})

describe('special codes', () => {
  it('toll-free are the codes in service and the reserved ones the spec names, not 885', () => {
    const codes = '800 833 844 855 866 877 888 822 880 881 882 883 884 886 887 889'.split(' ')
    for (const code of codes) expect(isTollFree(phoneNumber(`${code}5550100`))).toBe(true)
    for (const code of ['885', '212', '900', '801']) {
      expect(isTollFree(phoneNumber(`${code}5550100`))).toBe(false)
    }
  })

  it('fictional are 555-0100 to 555-0199', () => {
    expect(isFictional(phoneNumber('2125550100'))).toBe(true)
    expect(isFictional(phoneNumber('9075550199'))).toBe(true)
    expect(isFictional(phoneNumber('2125550200'))).toBe(false)
    expect(isFictional(phoneNumber('2125560100'))).toBe(false)
  })
})

describe('logs', () => {
  it('mask telephone numbers wherever they stand in a line, and nothing else', () => {
    const lines: string[] = []
    const log = createLogger('info', { write: (line) => void lines.push(line) })
    log.info('call to +1 (212) 555-0123', { number: '2125550124', nested: { at: ['12125550125'] } })
    const line = lines.join('')
    for (const last of ['0123', '0124', '0125']) expect(line).not.toContain(last)
    expect(line).toContain('212555****')
  })

  it('leave instants, ids and durations readable', () => {
    const text =
      '{"time":"2026-11-20T18:00:00.123Z","id":"m3k5x9a0b1c2d3e4f5a6b7c8d9","ms":1763661600123}'
    expect(maskNumbers(text)).toBe(text)
  })

  it('leave the ids of Asterisk channels readable, and mask the numbers in their names', () => {
    const ids = '{"channelId":"1795210306.0","caller":"pbx-1795210306.12"}'
    expect(maskNumbers(ids)).toBe(ids)
    expect(maskNumbers('Local/2125550123@gate-0000001f;2')).toBe('Local/212555****@gate-0000001f;2')
    expect(maskNumbers('called 2125550123. Busy')).toBe('called 212555****. Busy')
  })

  it('a short form shows too little to dial', () => {
    expect(maskNumber('2125550123')).toBe('212555****')
    expect(maskNumber('911')).toBe('***')
  })
})
