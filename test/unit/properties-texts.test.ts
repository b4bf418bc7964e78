/** Phone lists, scrub items, CSV rows, dialled numbers and pre-dial lines, whatever they hold. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fields, phoneList } from '../../src/api/fields.js'
import { formatPredialLine, predialGet } from '../../src/api/gate/decisions.js'
import { scrubGet, scrubPost } from '../../src/api/scrub/scrub.js'
import { toCsvText, toJsonText } from '../../src/api/scrub/scrub-row.js'
import { parseDialString, parsePhoneNumber } from '../../src/domain/phone-number.js'
import type { ScrubRow } from '../../src/domain/scrub-row.js'
import { scrubRow } from '../support/fake-service.js'
import { anyText, holds, holdsInTime, tenDigits } from './properties-support.js'

const list = phoneList({ max: 5 })

describe('a list of numbers in one text', () => {
  test('gives its parts trimmed and in order, one comma at the end forgiven', () => {
    const part = fc.oneof(
      tenDigits,
      anyText.map((text) => text.replaceAll(',', '')),
    )
    holds(
      fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), fc.boolean(), (parts, comma) => {
        const wanted = parts.map((one) => one.trim())
        fc.pre(wanted.some((one) => one !== '') && wanted.at(-1) !== '')
        expect(list.safeParse(parts.join(',') + (comma ? ',' : '')).data).toEqual(wanted)
      }),
    )
  })

  test('never holds more parts than the limit, and none is lost in silence', () => {
    const texts = fc.oneof(anyText, fc.stringMatching(/^[,1 ]{0,12}$/))
    holds(
      fc.property(texts, (text) => {
        const parts = text.split(',').map((part) => part.trim())
        if (parts.length > 1 && parts.at(-1) === '') parts.pop()
        const refused = parts.length > 5 || parts.every((part) => part === '')
        expect(list.safeParse(text).data).toEqual(refused ? undefined : parts)
      }),
    )
  })
})

const pipeFree = (text: string) => text.replace(/[,|]/g, '')
const item = fc.record({
  phone: fc.oneof(
    tenDigits,
    anyText.map((text) => pipeFree(text).trim() || '1'),
  ),
  reserved: anyText.map((text) => pipeFree(text).trimEnd()),
  postalCode: fc.option(
    anyText.map((text) => pipeFree(text).trim() || '10001'),
    {
      nil: undefined,
    },
  ),
})

describe('scrub items', () => {
  test('what a client writes is what the server reads', async () => {
    await holdsInTime(
      fc.asyncProperty(fc.array(item, { minLength: 1, maxLength: 8 }), async (items) => {
        const request = { items, version: 8, output: 'json' } as const
        const none = { projectId: undefined, campaignId: undefined, relationships: undefined }
        const sent = scrubPost.encodeRequest?.({ ...request, ...none })?.json
        const read = await scrubPost.request.safeParseAsync(sent)
        expect(read.data).toMatchObject(request)
      }),
    )
  })

  test('any text is read as items or refused, and a number is ten digits or none', async () => {
    await holdsInTime(
      fc.asyncProperty(anyText, async (text) => {
        const read = await scrubGet.request.safeParseAsync({ phoneList: text })
        if (!read.success) return
        for (const { phone } of read.data.items) {
          expect(text).toContain(phone)
          if (parsePhoneNumber(phone)) expect(phone).toMatch(/^\d{10}$/)
        }
      }),
    )
  })

  test('an item with more parts than three is no number', async () => {
    await holdsInTime(
      fc.asyncProperty(
        tenDigits,
        fc.array(tenDigits, { minLength: 3, maxLength: 5 }),
        async (phone, more) => {
          const read = await scrubGet.request.safeParseAsync({
            phoneList: [phone, ...more].join('|'),
          })
          expect(parsePhoneNumber(read.data?.items[0]?.phone ?? '')).toBeUndefined()
        },
      ),
    )
  })
})

/**
 * Reads CSV as it is documented: a field that begins with a quote and is closed by one before a
 * comma or line end is quoted, quotes inside it are doubled; any other field is as it stands.
 */
function readCsv(text: string): readonly (readonly string[])[] {
  const rows: string[][] = []
  let row: string[] = []
  for (let at = 0; at < text.length; ) {
    const quoted = /^"((?:[^"]|"")*)"(?=[,\n])/.exec(text.slice(at))
    const plain = quoted ? undefined : /^[^,\n]*/.exec(text.slice(at))
    row.push(quoted ? (quoted[1] ?? '').replaceAll('""', '"') : (plain?.[0] ?? ''))
    at += quoted ? quoted[0].length : (plain?.[0].length ?? 0)
    if (text[at] === '\n') {
      rows.push(row)
      row = []
    }
    at += 1
  }
  return rows
}

const cell = anyText

const row: fc.Arbitrary<ScrubRow> = fc
  .record({ reserved: cell, reason: cell, locale: cell, carrierInfo: cell, postalCode: cell })
  .map((texts) => ({ ...scrubRow, ...texts }))

describe('CSV rows', () => {
  test('an independent reader gets the values of the JSON rows, in their order', () => {
    holds(
      fc.property(
        fc.array(row, { maxLength: 6 }),
        fc.constantFrom(1, 2, 3, 5, 8),
        (rows, version) => {
          const wanted = rows.map((one) =>
            Object.values(JSON.parse(toJsonText([one], version as 8))),
          )
          expect(readCsv(rows.map((one) => toCsvText([one], version as 8)).join(''))).toEqual(
            wanted,
          )
        },
      ),
    )
  })

  test('columns 1 and 2 need no reader of CSV', () => {
    holds(
      fc.property(tenDigits, row, (phone, texts) => {
        const [line = ''] = toCsvText([{ ...texts, phone }], 5).split('\n')
        expect(line.split(',').slice(0, 2)).toEqual([phone, scrubRow.letter])
      }),
    )
  })
})

describe('dialled numbers', () => {
  test('any text is one of five kinds', () => {
    holds(
      fc.property(anyText, (text) => {
        const dialed = parseDialString(text)
        if (dialed.kind === 'nanp') expect(dialed.number).toMatch(/^\d{10}$/)
        if (dialed.kind === 'foreign') expect(dialed.digits).toMatch(/^(?:\+|011|00)\d+$/)
      }),
    )
  })

  test('every way to write a number means that number', () => {
    const national = tenDigits.filter((digits) => /^[2-9]\d\d[2-9]/.test(digits))
    holds(
      fc.property(national, (digits) => {
        const [area, exchange, line] = [digits.slice(0, 3), digits.slice(3, 6), digits.slice(6)]
        const ways = [
          digits,
          `1${digits}`,
          `+1${digits}`,
          `(${area}) ${exchange}-${line}`,
          `tel:+1-${area}-${exchange}-${line}`,
          `sip:1${digits}@host;user=phone`,
          `${area}.${exchange}.${line}`,
          `  +1 ${area} ${exchange} ${line} `,
        ]
        for (const way of ways) {
          expect(parseDialString(way)).toEqual({ kind: 'nanp', number: digits })
        }
      }),
    )
  })
})

describe('pre-dial requests', () => {
  test('any fields are read or refused', () => {
    const names = fc.constantFrom('number', 'kind', 'project', 'campaign', 'postal', 'callerid')
    holds(
      fc.property(fc.dictionary(fc.oneof(names, anyText), fc.anything()), (asked) => {
        const read = predialGet.request.safeParse(asked)
        if (read.success) expect(['manual', 'autodialed', 'ai']).toContain(read.data.callKind)
      }),
    )
  })

  test('a line is bound to its number or reason and closed by the end mark', () => {
    const decision = fc.constantFrom('allow', 'block')
    holds(
      fc.property(decision, tenDigits, fc.stringMatching(/^[a-z-]{1,20}$/), (made, number, id) => {
        const reason = 'outside-hours'
        const line = formatPredialLine({ decision: made as 'allow', number, reason, id })
        expect(line.split(':')).toEqual([made, made === 'allow' ? number : reason, id, 'end'])
      }),
    )
  })
})

describe('objects of fields', () => {
  const letterCase = (name: string) =>
    fc
      .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
      .map((upper) => [...name].map((one, at) => (upper[at] ? one.toUpperCase() : one)).join(''))

  test('names are read in any letter case', async () => {
    await holdsInTime(
      fc.asyncProperty(letterCase('phonelist'), letterCase('version'), async (phones, version) => {
        const read = await scrubGet.request.safeParseAsync({
          [phones]: '2125550100',
          [version]: '8',
        })
        expect(read.data).toMatchObject({ items: [{ phone: '2125550100' }], version: 8 })
      }),
    )
  })

  test('any other name is refused, members of every object included', () => {
    const schema = fields({ known: list.optional() })
    const members = fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty')
    holds(
      fc.property(fc.oneof(anyText, members), fc.anything(), (name, value) => {
        fc.pre(name.toLowerCase() !== 'known')
        expect(schema.safeParse(Object.fromEntries([[name, value]])).success).toBe(false)
      }),
    )
  })

  test('whatever comes in place of an object is refused', () => {
    const other = fc.anything().filter((value) => typeof value !== 'object' || value === null)
    holds(
      fc.property(fc.oneof(other, fc.array(fc.anything())), (value) => {
        expect(fields({ known: list.optional() }).safeParse(value).success).toBe(false)
      }),
    )
  })
})
