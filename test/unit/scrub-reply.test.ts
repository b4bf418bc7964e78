/** The reply to a scrub, in one or in parts, is the text of its rows, however they come. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createScrubReply } from '../../src/api/scrub/scrub-reply.js'
import { toCsvText, toJsonText } from '../../src/api/scrub/scrub-row.js'
import { type ScrubRow, scrubVersions } from '../../src/domain/scrub-row.js'
import { holdsInTime } from './properties-support.js'

const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 20 }), fc.constant('a,"b"\r\n'))
const flag = fc.option(fc.boolean(), { nil: undefined })
const row: fc.Arbitrary<ScrubRow> = fc.record({
  phone: text,
  reserved: text,
  letter: fc.constantFrom('C', 'D', 'W', 'M'),
  reason: text,
  region: text,
  country: fc.constantFrom('US', 'CA', ''),
  locale: text,
  carrierInfo: text,
  timeZoneCode: text,
  callingWindow: text,
  utcOffsetMinutes: fc.option(fc.integer({ min: -600, max: 600 }), { nil: undefined }),
  doNotCallToday: flag,
  callingTimeRestrictions: text,
  ebrType: fc.constantFrom('S', 'P', ''),
  isWirelessOrVoip: flag,
  lineType: text,
  ebrExpiresOn: text,
  wirelessPortDate: text,
  postalCode: text,
  timeZoneSource: text,
  allowed: fc.record({ manual: fc.boolean(), autodialed: fc.boolean(), ai: fc.boolean() }),
})

async function* inBatches(rows: readonly ScrubRow[], size: number) {
  for (let from = 0; from < rows.length; from += size) yield rows.slice(from, from + size)
}

test('a reply is the text of all rows', async () => {
  await holdsInTime(
    fc.asyncProperty(
      fc.array(row, { maxLength: 30 }),
      fc.constantFrom(1, 40),
      fc.constantFrom(...scrubVersions),
      fc.constantFrom('json' as const, 'csv' as const),
      fc.integer({ min: 1, max: 700 }),
      async (some, times, version, output, batchSize) => {
        // Many rows give several parts.
        const rows = Array.from({ length: times }, () => some).flat()
        const expected =
          output === 'json'
            ? `[${rows.map((one) => toJsonText([one], version)).join(',')}]`
            : rows.map((one) => toCsvText([one], version)).join('')
        for (const given of [rows, inBatches(rows, batchSize)]) {
          const reply = await createScrubReply(given, { version, output, isStreamed: false })
          expect('bytes' in reply && reply.bytes.toString() === expected).toBe(true)
        }
        const form = { version, output, isStreamed: true }
        const streamed = await createScrubReply(inBatches(rows, batchSize), form)
        let sent = ''
        if ('parts' in streamed) for await (const part of streamed.parts) sent += part
        expect(sent).toBe(expected)
      },
    ),
  )
})
