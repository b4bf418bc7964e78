import { expect } from 'vitest'
import { put, store, takeOff } from './support/internal-dnc.js'
import { listNumber, writableNumber, writableNumbersOfAllPlaces } from './support/numbers.js'
import { isDay, isOneOf, isTenDigits, isText } from './support/rules.js'
import { run } from './support/run.js'
import {
  isInsideWindow,
  knownRows,
  plainRow,
  rowsOf,
  scrubRow,
  scrubRows,
} from './support/scrubbed.js'
import {
  type FieldRule,
  fieldTable,
  type Row,
  section,
  sentence,
  sentences,
} from './support/sentence.js'

const flag = isOneOf(['0', '1'])
/** Rows of numbers that may not be called leave some flags empty. */
const flagOrEmpty = isOneOf(['0', '1', ''])
const consentLetter = /^[EOGH]$/
const windowText = /^(?:\d{1,2}:\d\d-\d{1,2}:\d\d(?:;\d{1,2}:\d\d-\d{1,2}:\d\d){2})?$/

const allowed = ['IsCallAllowedNonATDS', 'IsCallAllowedATDS', 'IsCallAllowedAI']

const fields: readonly FieldRule[] = [
  ['Phone', '10-digit number', isTenDigits],
  ['ResultCode', 'single letter', (value) => isText(value) && /^[A-Z]$/.test(value)],
  ['Reserved', 'string', isText],
  ['Reason', 'string', isText],
  ['RegionAbbrev', 'string', isText],
  ['Country', 'string', isText],
  ['Locale', 'string', isText],
  [
    'CarrierInfo',
    'carrier text separated by semicolons',
    (value) => isText(value) && (value === '' || value.includes(';')),
  ],
  ['NewReassignedAreaCode', 'string, may be empty', isText],
  ['TZCode', 'string', isText],
  ['UTCOffset', 'string', isText],
  ['CallingWindow', 'three windows H:MM-H:MM', (value) => isText(value) && windowText.test(value)],
  ['DoNotCallToday', '0 or 1', flagOrEmpty],
  ['CallingTimeRestrictions', 'a code, as string', isText],
  ['EBRType', 'P, S, I, T or empty', isOneOf(['P', 'S', 'I', 'T', ''])],
  ['IsWirelessOrVoIP', '0 or 1', flagOrEmpty],
  ['LineType', 'string', isText],
  ['EBRExpiresOn', 'a date, empty or 0', isDateOrNothing],
  ['WirelessPortDate', 'a date, empty or 0', isDateOrNothing],
  ['VoIPDate', 'a date, empty or 0', isDateOrNothing],
  ['PostalCode', 'string', isText],
  ['TZSource', 'string', isText],
  ...allowed.map((name): FieldRule => [name, '1 allowed, 0 not allowed', flag]),
]

section('scrub-row', () => {
  fieldTable(rowsOf, fields)

  sentence('every value is a string', async (needs) => {
    for (const row of await rowsOf(needs)) {
      expect(Object.values(row).filter((value) => !isText(value))).toEqual([])
    }
  })

  sentence('the row has the fields of the table', async () => {
    expect(Object.keys(await plainRow('8'))).toEqual(
      expect.arrayContaining(fields.map(([name]) => name)),
    )
  })

  sentences(
    run.facts.scrub ?? [],
    ({ phone, about }) => `${phone}: ${about}`,
    async ({ phone, row }, needs) => {
      expect((await knownRows(needs)).get(phone)).toMatchObject(row)
    },
  )

  sentences(
    [
      [
        'E, O, G, H: the consent or relationship is current',
        consentLetter,
        (row: Row) => row.EBRType !== '',
      ],
      ['D: on a DNC list without consent', /^D$/, notAllowed],
      ['C: clean number with no consent on file', /^C$/, (row: Row) => row.EBRType === ''],
      ['F, V: wireless-prohibited state', /^[FV]$/, (row: Row) => row.IsCallAllowedAI === '0'],
      [
        'W: observed for a wireless number with no consent',
        /^W$/,
        (row: Row) => row.IsWirelessOrVoIP === '1' && row.EBRType === '',
      ],
    ] as const,
    ([text]) => `ResultCode ${text}`,
    async ([, letter, holds], needs) => {
      const rows = (await rowsOf(needs)).filter((row) => letter.test(String(row.ResultCode)))
      needs(rows.length > 0 ? rows : undefined, 'facts.scrub: a number with that letter')
      expect(rows.filter((row) => !holds(row))).toEqual([])
    },
  )

  sentence('Reserved is the echo of the second pipe field', async () => {
    expect((await scrubRow(`${listNumber()}|lead-7`)).Reserved).toBe('lead-7')
  })

  sentence('Reserved is empty without a second pipe field', async () => {
    expect((await plainRow('8')).Reserved).toBe('')
  })

  sentence('PostalCode is the postal code used', async (needs) => {
    const known = needs(run.facts.scrub?.[0], 'facts.scrub')
    expect((await scrubRow(`${known.phone}||90210`)).PostalCode).toContain('90210')
  })

  sentence('TZSource tells that the timezone came from the supplied postal code', async (needs) => {
    const known = needs(run.facts.scrub?.[0], 'facts.scrub')
    const [plain, postal] = await scrubRows([known.phone, `${known.phone}||90210`])
    expect(postal?.TZSource).not.toBe('')
    expect(postal?.TZSource).not.toBe(plain?.TZSource)
  })

  sentences(
    [
      'IsCallAllowedAI 1 implies IsCallAllowedATDS 1',
      'IsCallAllowedAI 1 implies IsCallAllowedNonATDS 1',
    ],
    (text) => text,
    async (text, needs) => {
      const other = text.includes('NonATDS') ? 'IsCallAllowedNonATDS' : 'IsCallAllowedATDS'
      const rows = (await rowsOf(needs)).filter((row) => row.IsCallAllowedAI === '1')
      expect(rows.filter((row) => row[other] !== '1')).toEqual([])
    },
  )

  sentence('wireless without consent: NonATDS 1, ATDS 0, AI 0 inside its window', async (needs) => {
    const rows = (await rowsOf(needs)).filter((row) => row.ResultCode === 'W' && mayCallNow(row))
    needs(
      rows.length > 0 ? rows : undefined,
      'facts.scrub: a wireless number inside its window now',
    )
    expect(rows.map((row) => allowed.map((name) => row[name]))).toEqual(
      rows.map(() => ['1', '0', '0']),
    )
  })

  sentences(
    [
      ['EBRType is P', (row: Row) => row.EBRType === 'P'],
      ['ResultCode is E, O, G or H', (row: Row) => consentLetter.test(String(row.ResultCode))],
      ['ResultCode is not F or V', (row: Row) => !/^[FV]$/.test(String(row.ResultCode))],
      ['DoNotCallToday is 0', (row: Row) => row.DoNotCallToday === '0'],
      ['the local time is inside CallingWindow', (row: Row) => isInsideWindow(row) !== false],
    ] as const,
    ([check]) => `IsCallAllowedAI is 1 only when ${check}`,
    async ([, holds], needs) => {
      const rows = (await rowsOf(needs)).filter((row) => row.IsCallAllowedAI === '1')
      expect(rows.filter((row) => !holds(row))).toEqual([])
    },
  )

  sentence('IsCallAllowedAI is 1 when every check holds', async (needs) => {
    const rows = (await rowsOf(needs)).filter(
      (row) => row.EBRType === 'P' && consentLetter.test(String(row.ResultCode)) && mayCallNow(row),
    )
    needs(
      rows.length > 0 ? rows : undefined,
      'facts.scrub: a number with a permission that is inside its window now',
    )
    expect(rows.map((row) => row.IsCallAllowedAI)).toEqual(rows.map(() => '1'))
  })

  sentence('with a postal code the contact’s actual location is used for it', async (needs) => {
    const known = run.facts.scrub?.find(({ row }) => row.EBRType === 'P' && row.ResultCode === 'G')
    const { phone } = needs(known, 'facts.scrub: a wireless number with a permission')
    const postalCodes = ['10001', '60601', '90210', '96813', '96910']
    const rows = await scrubRows(postalCodes.map((code) => `${phone}||${code}`))
    expect(new Set(rows.map((row) => row.UTCOffset)).size).toBe(postalCodes.length)
    const wrong = rows.filter((row) => {
      const inside = isInsideWindow(row)
      const wanted = inside && row.DoNotCallToday === '0' ? '1' : '0'
      return inside !== undefined && row.IsCallAllowedAI !== wanted
    })
    expect(wrong).toEqual([])
  })

  sentence('a clean number with no consent gives 0', async (needs) => {
    const rows = (await rowsOf(needs)).filter((row) => row.ResultCode === 'C')
    needs(rows.length > 0 ? rows : undefined, 'facts.scrub: a clean number')
    expect(rows.map((row) => row.IsCallAllowedAI)).toEqual(rows.map(() => '0'))
  })

  sentence('a Sale or Inquiry EBR gives 0', async (needs) => {
    const [sale, inquiry] = [writableNumber(needs), writableNumber(needs)]
    await store(sale, 'S', 1)
    await store(inquiry, 'I', 1)
    const rows = await scrubRows([sale, inquiry])
    expect(rows.map(({ EBRType, IsCallAllowedAI }) => `${EBRType} ${IsCallAllowedAI}`)).toEqual([
      'S 0',
      'I 0',
    ])
  })

  sentences(
    ['wireless', 'voip'] as const,
    (line) => `${line} numbers with a Permission EBR give 1 when the other checks pass`,
    async (line, needs) => {
      const rows = await scrubRows(writableNumbersOfAllPlaces(needs, line))
      const open = rows.find(mayCallNow)
      const phone = String(needs(open, 'facts.writable: a place inside its window now').Phone)
      await store(phone, 'P', 1)
      expect(await scrubRow(phone)).toMatchObject({
        EBRType: 'P',
        IsWirelessOrVoIP: '1',
        ResultCode: 'G',
        IsCallAllowedAI: '1',
      })
    },
  )

  sentence(
    'an internal list entry newer than the consent makes the next scrub give 0',
    async (needs) => {
      const phone = writableNumber(needs)
      await store(phone, 'P', 2)
      expect((await scrubRow(phone)).ResultCode).toMatch(consentLetter)
      await put(phone)
      try {
        expect(await scrubRow(phone)).toMatchObject({ IsCallAllowedAI: '0' })
      } finally {
        await takeOff(phone)
      }
    },
  )
})

function mayCallNow(row: Row): boolean {
  return row.DoNotCallToday === '0' && isInsideWindow(row) === true
}

function notAllowed(row: Row): boolean {
  return allowed.every((name) => row[name] === '0')
}

function isDateOrNothing(value: unknown): boolean {
  return value === '' || value === '0' || (isText(value) && isDay(value.slice(0, 10)))
}
