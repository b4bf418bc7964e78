/** Days and instants in every form that is read, against the calendar of the language. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { enhancedRndGet } from '../../src/api/lookups/reassigned.js'
import { fixedClock } from '../../src/domain/time/clock.js'
import {
  addMonths,
  formatDay,
  formatInstant,
  isWithinYears,
  parseDay,
  parseInstant,
} from '../../src/domain/time/dates.js'
import { parseHttpDate } from '../../src/domain/time/http-date.js'
import { readEbrList } from '../../src/service/consent/ebr-input.js'
import {
  anyDay,
  anyText,
  holds,
  holdsInTime,
  readOrRefused,
  tenDigits,
  two,
} from './properties-support.js'

const dayMs = 86_400_000

const iso = (date: Date) => date.toISOString().slice(0, 10)
const slashed = (date: Date) =>
  `${two(date.getUTCMonth() + 1)}/${two(date.getUTCDate())}/${date.getUTCFullYear()}`
const compact = (date: Date) => iso(date).replaceAll('-', '')

describe('days', () => {
  test('three forms of a day mean that day', () => {
    holds(
      fc.property(anyDay, (date) => {
        const day = date.getTime() / dayMs
        expect([iso(date), slashed(date), compact(date)].map(parseDay)).toEqual([day, day, day])
        expect(formatDay(day)).toBe(iso(date))
      }),
    )
  })

  test('what looks like a day and is none is not read', () => {
    const part = (max: number) => fc.integer({ min: 0, max })
    holds(
      fc.property(part(2300), part(19), part(39), (year, month, day) => {
        const text = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`
        const read = parseDay(text)
        const real = new Date(`${text}T00:00:00Z`)
        const exists = !Number.isNaN(real.getTime()) && iso(real) === text && year >= 1000
        expect(read === undefined ? undefined : formatDay(read)).toBe(exists ? text : undefined)
      }),
    )
  })

  test('any other text is not a date', () => {
    holds(
      fc.property(anyText, (text) => {
        const day = parseDay(text)
        if (day !== undefined) expect(text).toMatch(/^[\d/-]{8,10}$/)
      }),
    )
  })

  test('months later the day is the same or the last of a shorter month', () => {
    holds(
      fc.property(anyDay, fc.integer({ min: -600, max: 600 }), (date, months) => {
        const later = formatDay(addMonths(date.getTime() / dayMs, months))
        const wanted = date.getUTCFullYear() * 12 + date.getUTCMonth() + months
        expect(Number(later.slice(0, 4)) * 12 + Number(later.slice(5, 7)) - 1).toBe(wanted)
        const last = new Date(Date.UTC(0, wanted + 1, 0)).getUTCDate()
        expect(Number(later.slice(8))).toBe(Math.min(date.getUTCDate(), last))
      }),
    )
  })
})

const anyInstant = fc.integer({ min: -2_200_000_000_000, max: 7_200_000_000_000 })

describe('instants', () => {
  test('what is written is what is read', () => {
    holds(
      fc.property(anyInstant, (at) => {
        expect(parseInstant(formatInstant(at))).toBe(at)
      }),
    )
  })

  test('with an offset the instant is the same', () => {
    const offset = fc.integer({ min: -14 * 60 - 59, max: 14 * 60 + 59 })
    holds(
      fc.property(anyInstant, offset, fc.boolean(), (at, minutes, colon) => {
        const local = new Date(at + minutes * 60_000).toISOString().slice(0, -1)
        const size = Math.abs(minutes)
        const sign = minutes < 0 ? '-' : '+'
        const zone = `${sign}${two(Math.floor(size / 60))}${colon ? ':' : ''}${two(size % 60)}`
        expect(parseInstant(`${local}${zone}`)).toBe(at)
      }),
    )
  })

  test('any text is an instant as the language reads it, or none', () => {
    const part = (max: number) => fc.integer({ min: 0, max }).map(two)
    const shaped = fc
      .tuple(part(12), part(31), part(25), part(61), part(61), fc.constantFrom('', '.5', '.123'))
      .chain(([month, day, hour, minute, second, fraction]) =>
        fc
          .constantFrom('Z', '+05:30', '-08:00', '+00:60')
          .map((zone) => `2024-${month}-${day}T${hour}:${minute}:${second}${fraction}${zone}`),
      )
    holds(
      fc.property(fc.oneof(shaped, anyText), (text) => {
        const at = parseInstant(text)
        if (at === undefined) return
        expect(Number.isSafeInteger(at)).toBe(true)
        const same = text.trim().toUpperCase().replace(',', '.')
        if (/^[\d-]+T[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(same)) expect(at).toBe(Date.parse(same))
      }),
    )
  })

  test('dates of HTTP headers are read, and only those', () => {
    holds(
      fc.property(anyInstant, anyText, (at, text) => {
        const second = Math.floor(at / 1000) * 1000
        const header = new Date(second).toUTCString()
        expect(parseHttpDate(header)).toBe(second)
        expect(parseHttpDate(`${header}${text || 'x'}`)).toBeUndefined()
        expect(parseHttpDate(text)).toBeUndefined()
      }),
    )
  })

  test('fifty years are counted on the calendar', () => {
    holds(
      fc.property(anyInstant, (now) => {
        const date = new Date(now)
        const edge = new Date(date)
        edge.setUTCFullYear(date.getUTCFullYear() + 50)
        fc.pre(edge.getUTCDate() === date.getUTCDate())
        expect(isWithinYears(edge.getTime(), now, 50)).toBe(true)
        expect(isWithinYears(edge.getTime() + dayMs, now, 50)).toBe(false)
      }),
    )
  })
})

describe('consent dates', () => {
  const read = (date: string) =>
    enhancedRndGet.request.safeParse({ phoneNumber: '2125550100', date }).data?.items[0]?.consentOn

  test('four forms of a day of this century mean that day', () => {
    const since2000 = anyDay.filter((date) => /^20/.test(iso(date)))
    holds(
      fc.property(since2000, (date) => {
        const short = slashed(date).replace(/\/20(\d\d)$/, '/$1')
        const forms = [iso(date), slashed(date), compact(date), short]
        expect(forms.map(read)).toEqual(forms.map(() => date.getTime() / dayMs))
      }),
    )
  })

  test('any other text is refused', () => {
    holds(
      fc.property(anyText, (text) => {
        if (read(text) !== undefined) expect(text.trim()).toMatch(/^[\d/-]{6,10}$/)
      }),
    )
  })
})

describe('relationship records', () => {
  const clock = fixedClock(Date.UTC(2026, 10, 23, 17))
  const past = anyDay.filter((date) => date.getTime() < clock.now())
  const type = fc.constantFrom('S', 'I', 'P', 'T')

  test('each number of a record has its facts once', async () => {
    const few = fc.constantFrom('2125550100', '2125550101')
    const numbers = fc.array(fc.oneof(few, tenDigits), { minLength: 1, maxLength: 5 })
    await holdsInTime(
      fc.asyncProperty(numbers, past, type, async (phones, date, kind) => {
        const record = { phoneNumber: phones.join(' , '), type: kind }
        const facts = await readEbrList([{ ...record, dateOfLastContact: slashed(date) }], clock)
        expect(facts.map((fact) => fact.number)).toEqual([...new Set(phones)])
        expect(facts.every((fact) => fact.contactOn === date.getTime() / dayMs)).toBe(true)
        expect(facts.every((fact) => fact.type === kind)).toBe(true)
      }),
    )
  })

  test('any record is read whole or refused whole', async () => {
    const field = fc.oneof(anyText, tenDigits, past.map(slashed), type, fc.anything())
    const record = fc.record(
      {
        phoneNumber: field,
        type: field,
        dateOfLastContact: field,
        dateObligationEnds: field,
        referenceNum: field,
        brand: field,
        email: field,
      },
      { requiredKeys: [] },
    )
    const refused = (error: unknown) =>
      readOrRefused(() => {
        throw error
      })
    await holdsInTime(
      fc.asyncProperty(fc.array(record, { maxLength: 4 }), async (records) => {
        const facts = await readEbrList(records, clock).catch(refused)
        if (facts === 'refused') return
        expect(facts.every((fact) => /^\d{10}$/.test(fact.number))).toBe(true)
        expect(facts.every((fact) => Number.isSafeInteger(fact.contactOn))).toBe(true)
        expect(facts.length).toBeGreaterThanOrEqual(records.length)
      }),
      1000,
    )
  })
})
