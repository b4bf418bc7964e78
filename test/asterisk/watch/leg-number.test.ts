import { describe, expect, it } from 'vitest'
import { Trunks } from '../../../src/asterisk/trunks.js'
import { parseLegNumber } from '../../../src/asterisk/watch/leg-number.js'
import type { TrunkSettings } from '../../../src/config/settings.js'

const number = (digits: string) => ({ kind: 'number', number: digits }) as const
const code = (digits: string) => ({ kind: 'service-code', code: digits }) as const
const unreadable = { kind: 'unreadable' } as const

const options = { dialPrefix: '', serviceCodes: new Set(['112']) }

describe('the number a leg dials', () => {
  const read: readonly (readonly [string, ReturnType<typeof parseLegNumber>])[] = [
    ['2125550100@trunk', number('2125550100')],
    ['12125550100@trunk', number('2125550100')],
    ['+12125550100@trunk', number('2125550100')],
    ['trunk/sip:2125550102@127.0.0.1:5090', number('2125550102')],
    ['trunk/sip:+12125550102@h;user=phone', number('2125550102')],
    ['trunk/SIPS:2125550102@[::1]:5061', number('2125550102')],
    ['trunk/tel:+12125550102', number('2125550102')],
    ['sip:2125550102@h', number('2125550102')],
    ['trunk/2125550100', number('2125550100')],
    ['g1/2125550100', number('2125550100')],
    ['trunk/2125550100@context', number('2125550100')],
    ['2125550100', number('2125550100')],
    ['2125550100@gate/n', number('2125550100')],
    ['2125550100@trunk/carrier', number('2125550100')],
    ['4321@trunk', number('4321')],
    ['011442071234567@trunk', number('011442071234567')],
    ['+442071234567@trunk', number('+442071234567')],
    ['911@trunk', code('911')],
    ['trunk/sip:1911@h', code('911')],
    ['+911@trunk', code('911')],
    ['+1911@trunk', code('911')],
    ['11911@trunk', number('11911')],
    ['1455@trunk', number('1455')],
    ['trunk/sip:911@10.0.0.1:5060;user=phone;transport=tcp', code('911')],
    ['911@12125550100', code('911')],
    ['112@trunk', code('112')],
  ]
  for (const [text, expected] of read) {
    it(`reads ${text}`, () => expect(parseLegNumber(text, options)).toEqual(expected))
  }

  const hostile: readonly string[] = [
    '',
    '@trunk',
    'trunk',
    'trunk/carrier',
    'trunk/sip:carrier.example:5060',
    'trunk/sip:2125550100',
    'trunk/sip:sip:2125550100@h',
    'trunk/sip:2125550100:secret@h',
    'trunk/sip:2125550100;rn=2125550199@h',
    'trunk/sip:2125550100@h;rn=2125550199',
    'trunk/sip:911@h;rn=+12125550199',
    'trunk/tel:911;ext=2125550199',
    'trunk/tel:2125550100;rn=+12125550199',
    '911;ext=2125550199@trunk',
    '1988;2125550199@trunk',
    '1112@trunk@2125550199',
    'trunk/sip:2125550199@2125550100@h',
    'trunk/sip:%32125550100@h',
    'trunk/sip:2125550100@h?Route=x',
    'trunk/"2125550100" <sip:2125550199@h>',
    '2125550100@trunk/sip:2125550199@h',
    '2125550100@trunk/2125550199',
    '2125550199x@trunk/2125550100',
    'trunk/2125550100/2125550199',
    '911,2125550105@trunk',
    '2125550100@trunk,30,r',
    '2125550100@trunk&PJSIP/2125550199@trunk',
    '2125550100 2125550199@trunk',
    '2125550100w9@trunk',
    '*672125550100@trunk',
    '2125550100\n@trunk',
    "2125550100'@trunk",
    '２１２5550100@trunk',
    '555010@trunk/sip:',
    '212555@@trunk',
    `${'2'.repeat(5_000)}@trunk`,
    `2125550100@${'t'.repeat(5_000)}`,
  ]
  for (const text of hostile) {
    it(`does not read ${JSON.stringify(text.slice(0, 60))}`, () => {
      expect(parseLegNumber(text, options)).toEqual(unreadable)
    })
  }

  const prefixed: readonly (readonly [string, string, ReturnType<typeof parseLegNumber>])[] = [
    ['9', '92125550100@trunk', number('2125550100')],
    ['9', '912125550100@trunk', number('2125550100')],
    ['9', '992125550100@trunk', unreadable],
    ['9', '2125550100@trunk', number('2125550100')],
    ['9', '911@trunk', code('911')],
    ['9', '9911@trunk', code('911')],
    ['9', 'trunk/sip:92125550100@h', number('2125550100')],
    ['*67', '*672125550100@trunk', number('2125550100')],
    ['*67', '*67*672125550100@trunk', unreadable],
    ['0114#', 'g1/0114#2125550100', number('2125550100')],
    ['+1', '+12125550100@trunk', number('2125550100')],
    ['+1', '+1+12125550100@trunk', number('2125550100')],
  ]
  for (const [dialPrefix, text, expected] of prefixed) {
    it(`behind the prefix ${dialPrefix} reads ${text}`, () => {
      expect(parseLegNumber(text, { ...options, dialPrefix })).toEqual(expected)
    })
  }

  it('takes off the technology that a queue leaves before the dial string', () => {
    for (const [text, expected] of [
      ['PJSIP/2125550100@trunk', number('2125550100')],
      ['PJSIP/trunk/sip:2125550100@h', number('2125550100')],
      ['SIP/trunk/sip:2125550100@h', unreadable],
    ] as const) {
      expect(parseLegNumber(text, { ...options, technology: 'PJSIP' })).toEqual(expected)
    }
  })
})

const trunk = (name: string, channel: string): TrunkSettings => ({
  name,
  channel,
  dialPrefix: '',
  watch: true,
  defaults: {},
})

describe('trunks', () => {
  const trunks = new Trunks([
    trunk('one', 'PJSIP/trunk'),
    trunk('two', 'PJSIP/trunk-2'),
    trunk('pri', 'DAHDI/i1'),
    trunk('analogue', 'DAHDI/3'),
    trunk('hex', 'PJSIP/carrier-a'),
  ])
  const names: readonly (readonly [string, string | undefined])[] = [
    ['PJSIP/trunk-0000001f', 'one'],
    ['PJSIP/trunk-2-0000001f', 'two'],
    ['PJSIP/trunk-3-0000001f', undefined],
    ['PJSIP/carrier-a-0000001f', 'hex'],
    ['PJSIP/trunk-0000001f;2', 'one'],
    ['PJSIP/trunk-0000001f<ZOMBIE>', 'one'],
    ['PJSIP/Trunk-0000001f', undefined],
    ['SIP/trunk-0000001f', undefined],
    ['PJSIP/trunk2-0000001f', undefined],
    ['Local/PJSIP/trunk-0000001f;1', undefined],
    ['DAHDI/i1/2125550100-4', 'pri'],
    ['DAHDI/i11/2125550100-4', undefined],
    ['DAHDI/3-1', 'analogue'],
    ['DAHDI/31-1', undefined],
    ['', undefined],
  ]
  for (const [channel, name] of names) {
    it(`${channel} is on ${name}`, () => expect(trunks.findByChannel(channel)?.name).toBe(name))
  }
})
