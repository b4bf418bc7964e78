import { describe, expect, it } from 'vitest'
import { parseDay } from '../../src/domain/time/dates.js'
import { formatReason, type ReasonInput } from '../../src/judge/row-words.js'
import { formatCarrier } from '../../src/service/scrub/scrub-row.js'
import { findTimeZoneCode } from '../../src/service/scrub/time-zone-codes.js'
import { instant } from '../support/test-clock.js'

describe('reason of a scrub row', () => {
  const clean: ReasonInput = {
    letter: 'C',
    isLitigator: false,
    country: 'US',
    nationalOn: undefined,
    state: undefined,
    isWireless: false,
  }
  const national = { letter: 'D', nationalOn: parseDay('2024-01-31') } as const
  const texas = { region: 'TX', on: parseDay('2024-03-01') ?? 0 }
  const cases: readonly (Partial<ReasonInput> & { readonly text: string })[] = [
    { text: ';;;' },
    { letter: 'W', isWireless: true, text: ';;;W' },
    { ...national, text: 'National (USA) 2024-01-31;;;' },
    { ...national, country: 'CA', text: 'National (CAN) 2024-01-31;;;' },
    { ...national, isWireless: true, text: 'National (USA) 2024-01-31;;;W' },
    { letter: 'D', state: texas, text: ';State (TX) 2024-03-01;;' },
    {
      ...national,
      state: texas,
      isWireless: true,
      text: 'National (USA) 2024-01-31;State (TX) 2024-03-01;;W',
    },
    { ...national, letter: 'H', isWireless: true, text: 'National (USA) 2024-01-31;;;W' },
    { letter: 'D', isLitigator: true, isWireless: true, text: 'Litigator' },
    { ...national, isLitigator: true, text: 'Litigator' },
    { ...national, letter: 'P', isWireless: true, text: '' },
    { ...national, letter: 'P', isLitigator: true, text: '' },
    { ...national, letter: 'B', isWireless: true, text: '' },
    { letter: 'B', isLitigator: true, isWireless: true, text: 'Litigator' },
    { letter: 'I', text: '' },
    { letter: 'M', text: '' },
  ]
  it.each(cases)("is '$text'", ({ text, ...facts }) => {
    expect(formatReason({ ...clean, ...facts })).toBe(text)
  })
})

describe('carrier of a scrub row', () => {
  it.each([
    { of: undefined, as: 'wireless', text: '' },
    { of: { ocn: '6006', company: 'ACME' }, as: 'wireless', text: '6006;WIRELESS;"ACME:ACME"' },
    {
      of: { ocn: '9100', company: 'A "B"; C' },
      as: 'wireline',
      text: '9100;WIRELINE;"A  B   C:A  B   C"',
    },
    { of: { ocn: '123A', company: 'NET' }, as: 'voip', text: '123A;VOIP;"NET:NET"' },
    { of: { ocn: '0000', company: 'X' }, as: 'unknown', text: '0000;;"X:X"' },
  ] as const)('$text', ({ of, as, text }) => {
    expect(formatCarrier(of, as)).toBe(text)
  })
})

describe('time zone code', () => {
  it.each([
    { zone: 'Pacific/Pago_Pago', code: '1' },
    { zone: 'Pacific/Honolulu', code: '2' },
    { zone: 'America/Anchorage', code: '3' },
    { zone: 'America/Los_Angeles', code: '4' },
    { zone: 'America/Denver', code: '10' },
    { zone: 'America/Phoenix', code: '15' },
    { zone: 'America/Chicago', code: '20' },
    { zone: 'America/Regina', code: '25' },
    { zone: 'America/New_York', code: '35' },
    { zone: 'America/Atikokan', code: '45' },
    { zone: 'America/Halifax', code: '50' },
    { zone: 'America/Puerto_Rico', code: '55' },
    { zone: 'America/St_Johns', code: '60' },
    { zone: 'Pacific/Guam', code: '275' },
    // On permanent daylight saving time since 2026.
    { zone: 'America/Vancouver', code: '15' },
    { zone: 'America/Edmonton', code: '25' },
    { zone: 'America/Winnipeg', code: '45' },
    // Daylight saving in Hawaii time: the table has no such zone.
    { zone: 'America/Adak', code: '' },
  ])('$zone is $code', ({ zone, code }) => {
    expect(findTimeZoneCode(zone, instant('2026-11-23T17:00:00Z'))).toBe(code)
  })

  it('follows the law of the judged instant', () => {
    expect(findTimeZoneCode('America/Vancouver', instant('2024-11-23T17:00:00Z'))).toBe('4')
  })
})
