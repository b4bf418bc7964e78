import { describe, expect, it } from 'vitest'
import { type EbrType, type ResultLetter, resultLetters } from '../../src/domain/compliance.js'
import { computeCallFlags } from '../../src/law/records/result-letter.js'

/** Manual, autodialed, AI inside the window on an ordinary day, by the record on file. */
const expectations: Readonly<
  Record<ResultLetter, Readonly<Record<'none' | 'S' | 'I' | 'T' | 'P', string>>>
> = {
  C: { none: '110', S: '110', I: '110', T: '110', P: '110' },
  X: { none: '110', S: '110', I: '110', T: '110', P: '110' },
  R: { none: '110', S: '110', I: '110', T: '110', P: '110' },
  E: { none: '110', S: '110', I: '110', T: '110', P: '111' },
  O: { none: '110', S: '110', I: '110', T: '110', P: '111' },
  W: { none: '100', S: '100', I: '100', T: '100', P: '100' },
  Y: { none: '100', S: '100', I: '100', T: '100', P: '100' },
  G: { none: '100', S: '100', I: '100', T: '100', P: '111' },
  H: { none: '100', S: '100', I: '100', T: '100', P: '111' },
  L: { none: '000', S: '000', I: '000', T: '000', P: '000' },
  F: { none: '000', S: '000', I: '000', T: '000', P: '000' },
  V: { none: '000', S: '000', I: '000', T: '000', P: '000' },
  D: { none: '000', S: '000', I: '000', T: '000', P: '000' },
  P: { none: '000', S: '000', I: '000', T: '000', P: '000' },
  B: { none: '000', S: '000', I: '000', T: '000', P: '000' },
  I: { none: '000', S: '000', I: '000', T: '000', P: '000' },
  M: { none: '000', S: '000', I: '000', T: '000', P: '000' },
  S: { none: '000', S: '000', I: '000', T: '000', P: '000' },
  T: { none: '000', S: '000', I: '000', T: '000', P: '000' },
}

const records: readonly ('none' | EbrType)[] = ['none', 'S', 'I', 'T', 'P']

function flagsOf(
  letter: ResultLetter,
  record: 'none' | EbrType,
  time = { doNotCallToday: false, insideWindow: true },
  insideVoiceWindow = true,
): string {
  const ebrType = record === 'none' ? '' : record
  const flags = computeCallFlags({ letter, ebrType, insideVoiceWindow, ...time })
  return [flags.manual, flags.autodialed, flags.ai].map((flag) => (flag ? '1' : '0')).join('')
}

describe('IsCallAllowed flags: manual, autodialed, AI', () => {
  for (const letter of resultLetters) {
    it(`of letter ${letter} by record on file`, () => {
      const given = Object.fromEntries(records.map((record) => [record, flagsOf(letter, record)]))
      expect(given).toEqual(expectations[letter])
    })
  }

  it('are the same but for AI outside the window of recorded voices', () => {
    const time = { doNotCallToday: false, insideWindow: true }
    const flags = (['C', 'E', 'G'] as const).map((letter) => flagsOf(letter, 'P', time, false))
    expect(flags).toEqual(['110', '110', '110'])
  })

  it.each([
    { when: 'on a restricted day', time: { doNotCallToday: true, insideWindow: true } },
    { when: 'outside the window', time: { doNotCallToday: false, insideWindow: false } },
    { when: 'both', time: { doNotCallToday: true, insideWindow: false } },
  ])('are all 0 $when, whatever the letter and record', ({ time }) => {
    const given = resultLetters.flatMap((letter) =>
      records.map((record) => flagsOf(letter, record, time)),
    )
    expect(new Set(given)).toEqual(new Set(['000']))
  })

  it('are all 0 for a letter nobody has heard of', () => {
    expect(flagsOf('Z' as ResultLetter, 'P')).toBe('000')
  })
})
