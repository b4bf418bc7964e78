import { describe, expect, it, test } from 'vitest'
import {
  isFictional,
  isTollFree,
  maskNumber,
  parseDialString,
  parsePhoneNumber,
  toPhoneNumber,
} from '../../src/domain/phone-number.js'
import { describeSaid } from '../../src/domain/words/words.js'
import { createLogger, maskNumbers } from '../../src/observability/log.js'

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
    'SIP:+12125550123@pbx.example.com;user=phone',
    'sip:212-555-0123@pbx;transport=tcp;lr',
    'tel:(212)555.0123;phone-context=pbx.example.com',
    '\u00a0212\u2009555\u202f0123\r\n',
    'sips:12125550123@pbx',
  ]
  for (const text of ordinary) {
    it(`'${text}' is 2125550123`, () => {
      expect(parseDialString(text)).toEqual({ kind: 'nanp', number: '2125550123' })
    })
  }

  const others = [
    ['911', 'service-code'],
    ['9-1-1', 'service-code'],
    ['211', 'service-code'],
    ['811', 'service-code'],
    ['988', 'service-code'],
    ['933', 'service-code'],
    ['+911', 'service-code'],
    ['sip:911@host', 'service-code'],
    ['sips:+911@pbx1.example.com;user=phone', 'service-code'],
    ['tel:911', 'service-code'],
    ['tel:911;phone-context=+1', 'service-code'],
    ['1911', 'extension'],
    ['+1911', 'invalid'],
    ['9911', 'extension'],
    ['sip:911', 'invalid'],
    ['911@host', 'invalid'],
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
      expect(parseDialString(text).kind).toBe(kind)
    })
  }

  it('knows the operator’s own emergency numbers', () => {
    expect(parseDialString('112', new Set(['112']))).toEqual({ kind: 'service-code', code: '112' })
    expect(parseDialString('sip:112@pbx', new Set(['112'])).kind).toBe('service-code')
    for (const text of ['+112', '1112', '112;ext=7', '112@trunk']) {
      expect(parseDialString(text, new Set(['112'])).kind).not.toBe('service-code')
    }
  })

  const second = [
    '911;ext=2125550105',
    '988;2125550100',
    '611@2125550105',
    'sip:911;rn=+12125550105@pbx',
    'sip:911@2125550105',
    'sip:911@212-555-0105',
    'sip:911@10.0.0.1',
    'sip:911@[2001:db8::1]',
    'sip:911@pbx:5060',
    'sip:911@pbx;rn=+12125550105',
    'sip:911:2125550105@pbx',
    'sip:911@pbx?Route=2125550105',
    'sip:911@pbx@2125550105',
    'sip:911&2125550105@pbx',
    'sip:%39%31%31@pbx',
    'tel:911;ext=5',
    'tel:911;phone-context=+12125550105',
    'tel:911;phone-context=+44',
    '911,2125550105',
    '911w2125550105',
    '911#2125550105',
    '911*2125550105',
    '911\n2125550105',
    '911\0;2125550105',
    '2125550100@trunk&PJSIP/2125550105@trunk',
    '2125550100;2125550105',
    '2125550100@trunk',
    'tel:2125550100;rn=+12125550105',
    'tel:2125550100;npdi',
    'tel:2125550100;isub=1',
    'tel:2125550100;postd=pp22',
    'tel:2125550100;phone-context=+1;phone-context=+1',
    'tel:+12125550100;phone-context=+1',
    'sip:2125550100;phone-context=+1@pbx',
    'sip:2125550100@10.0.0.1',
    'sip:2125550100@pbx1.example.com',
    'sip:2125550100@pbx:5060',
    'sip:2125550100@pbx;maddr=other.example.com',
    'sip:2125550100@pbx;method=REFER',
    'sip:2125550100@',
    'sip:2125550100',
    'sip:sip:2125550100@pbx',
    'tel:2125550100@pbx',
    'urn:service:sos',
    '+44207183875012345',
    `sip:911@${'aaa.'.repeat(29)}!`,
  ]
  for (const text of second) {
    it(`${JSON.stringify(text)} is refused: more than one number may be read from it`, () => {
      expect(parseDialString(text).kind).toBe('invalid')
    })
  }

  it('that is refused is told why', () => {
    const detail = (text: string) => {
      const dialed = parseDialString(text)
      return dialed.kind === 'invalid' ? describeSaid(dialed.says) : dialed.kind
    }
    expect(detail('2125550100;ext=1')).toBe(
      'is not one telephone number: must be digits, with an optional + and spaces or ( ) . - / ' +
        'between them, or a tel: or sip: URI without other digits',
    )
    expect(detail('sip:2125550100@pbx1')).toBe(
      'has a host name with digits, which may be another number; send the number without it: pbx1',
    )
    expect(detail('+1911')).toBe('has a 1 before the service code 911; must be just 911')
    expect(detail('+44207183875012345')).toBe(
      '17 digits after + are not an international number, which has 5 to 15',
    )
  })
})

describe('the strict form of the API', () => {
  it('is ten digits and nothing else', () => {
    expect(parsePhoneNumber('2125550123')).toBe('2125550123')
    for (const text of ['12125550123', '212-555-0123', '212555012', '212555012x', '2125550123\n']) {
      expect(parsePhoneNumber(text)).toBeUndefined()
    }
    expect(() => toPhoneNumber('1')).toThrow(TypeError)
  })
})

describe('special codes', () => {
  it('toll-free are the codes in service and the reserved ones the spec names, not 885', () => {
    const codes = '800 833 844 855 866 877 888 822 880 881 882 883 884 886 887 889'.split(' ')
    for (const code of codes) expect(isTollFree(toPhoneNumber(`${code}5550100`))).toBe(true)
    for (const code of ['885', '212', '900', '801']) {
      expect(isTollFree(toPhoneNumber(`${code}5550100`))).toBe(false)
    }
  })

  it('fictional are 555-0100 to 555-0199', () => {
    expect(isFictional(toPhoneNumber('2125550100'))).toBe(true)
    expect(isFictional(toPhoneNumber('9075550199'))).toBe(true)
    expect(isFictional(toPhoneNumber('2125550200'))).toBe(false)
    expect(isFictional(toPhoneNumber('2125560100'))).toBe(false)
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

describe('characters that people do not see or take for others', () => {
  test.each([
    ['212\u2011555\u20110123', 'U+2011'],
    ['212\u2010555\u20100123', 'U+2010'],
    ['212\u2013555\u20130123', 'en dash'],
    ['(212) 555\u20140123', 'em dash'],
    ['212\u2212555\u22120123', 'minus'],
    ['+1\u00a0212\u00a0555\u00a00123', 'U+00A0'],
    ['\u200b2125550123\u200b', 'U+200B'],
    ['212\u200b555\u200b0123', 'U+200B inside'],
    ['\u202a+1 (212) 555-0123\u202c', 'U+202A'],
    ['\u2068212-555-0123\u2069', 'U+2068'],
    ['\u200e2125550123', 'U+200E'],
    ['\ufeff2125550123', 'U+FEFF'],
    ['２１２５５５０１２３', 'full width'],
    ['＋１（２１２）５５５－０１２３', 'full width signs'],
  ])('%j is read', (text) => {
    expect(parseDialString(text)).toEqual({ kind: 'nanp', number: '2125550123' })
  })

  test('an emergency number is one with them, too', () => {
    for (const text of ['9\u20111\u20111', '\u202a911\u202c', '９１１', '9\u200b11'])
      expect(parseDialString(text)).toEqual({ kind: 'service-code', code: '911' })
  })

  test.each([
    ['\u202e3210555212\u202c', 'U+202E'],
    ['\u202d2125550123', 'U+202D'],
    ['212555012\u0663', 'U+0663'],
    ['212555012\u00b3', 'U+00B3'],
    ['212555\u2022123', 'U+2022'],
    ['21255501２３\u0966', 'U+0966'],
  ])('%j is refused, and the character is named', (text, name) => {
    const parsed = parseDialString(text)
    expect(parsed).toMatchObject({
      kind: 'invalid',
      says: [{ code: 'not-one-number' }, { code: 'has-character', params: { character: name } }],
    })
  })

  test('two numbers do not become one', () => {
    for (const text of ['2125550123\u200b2125550124', '2125550123\u20132125550124'])
      expect(parseDialString(text)).toMatchObject({ kind: 'invalid' })
  })
})
