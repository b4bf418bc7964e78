/** What a scrub row says of a number whose line is no longer what it was assigned as. */
import { describe, expect, it } from 'vitest'
import { toJsonText, wireScrubRow } from '../../src/api/scrub/scrub-row.js'
import type { LineClass, NumberFacts, PortingRecord } from '../../src/domain/place.js'
import { formatDay, parseDay } from '../../src/domain/time/dates.js'
import { planWith, testScrub } from '../support/scrub-parts.js'
import { instant, testClock } from '../support/test-clock.js'

const phone = '2127361000'
const on = parseDay('2024-10-04')
const at = instant('2026-11-23T17:00:00Z')

type Known = Partial<NumberFacts & { status: 'ok' }>

async function rowOf(known: Known) {
  const plan = planWith({
    [phone]: { carrier: { ocn: '6006', company: 'ACME' }, ...known },
  })
  const { scrub } = testScrub({ clock: testClock(), plan })
  const [row] = await scrub.listRows('main', { items: [{ phone }], version: 8, at })
  if (!row) throw new Error('no row')
  return row
}

const wireless = (day?: number): PortingRecord => ({ to: 'wireless', on: day })
const wireline = (day?: number): PortingRecord => ({ to: 'wireline', on: day })

describe('a row by the kind of line', () => {
  const table: [
    originalClass: LineClass,
    ported: PortingRecord | undefined,
    lineClass: LineClass,
    row: readonly [letter: string, isWireless: boolean, type: string, info: string, date: string],
  ][] = [
    ['wireline', undefined, 'wireline', ['C', false, 'AllOther', 'WIRELINE', '']],
    ['wireline', wireless(), 'wireless', ['W', true, 'Wireless', 'WIRELINE', '']],
    ['wireline', wireless(on), 'wireless', ['W', true, 'Wireless', 'WIRELINE', '2024-10-04']],
    ['voip', wireless(on), 'wireless', ['W', true, 'Wireless', 'VOIP', '2024-10-04']],
    ['wireless', wireline(), 'wireline', ['C', false, 'AllOther', 'WIRELESS', '']],
    ['wireless', wireline(on), 'wireline', ['C', false, 'AllOther', 'WIRELESS', '']],
    ['wireless', undefined, 'wireless', ['W', true, 'Wireless', 'WIRELESS', '']],
    ['voip', undefined, 'voip', ['Y', true, 'VoIP', 'VOIP', '']],
    ['voip', undefined, 'unknown', ['W', true, 'Wireless', 'VOIP', '']],
    ['wireline', undefined, 'unknown', ['W', true, 'Wireless', 'WIRELINE', '']],
  ]
  it.each(table)('%s, ported %j: %s', async (originalClass, ported, lineClass, expected) => {
    const row = await rowOf({ originalClass, lineClass, ...(ported && { ported }) })
    const [letter, isWirelessOrVoip, lineType, type, wirelessPortDate] = expected
    expect(row).toMatchObject({ letter, isWirelessOrVoip, lineType, wirelessPortDate })
    expect(row.carrierInfo).toBe(`6006;${type};"ACME:ACME"`)
  })

  it.each([
    ['wireline', ': a list of ported numbers is too old or cannot be read'],
    ['unknown', ''],
  ] as const)('of an unknown class says why, first %s', async (originalClass, why) => {
    const { detail } = await rowOf({ originalClass, lineClass: 'unknown' })
    expect(detail).toBe(`line class unknown, treated as wireless${why}`)
  })

  it('and a machine may dial it without consent only where it is a landline now', async () => {
    const now = await rowOf({ originalClass: 'wireless', lineClass: 'wireline' })
    const before = await rowOf({ originalClass: 'wireline', lineClass: 'wireless' })
    expect([now.allowed.autodialed, before.allowed.autodialed]).toEqual([true, false])
  })
})

describe('WirelessPortDate on the wire', () => {
  it.each([
    ['2024-10-04', '2024-10-04'],
    ['', ''],
    ['0', ''],
  ])("'%s' is read as '%s'", async (written, read) => {
    const row = await rowOf({ lineClass: 'wireless', ported: wireless(on) })
    const wire = JSON.parse(toJsonText([row], 8))
    expect(wire.WirelessPortDate).toBe(formatDay(on ?? 0))
    const { wirelessPortDate } = wireScrubRow.parse({ ...wire, WirelessPortDate: written })
    expect(wirelessPortDate).toBe(read)
  })
})
