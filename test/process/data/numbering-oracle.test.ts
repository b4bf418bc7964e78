/** The whole import and area-code mode against the expected zones of a sample of all prefixes. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  importNumbering,
  importOcnClasses,
  type NumberingImportSummary,
  type OcnImportSummary,
} from '../../../src/data/numbering/import/numbering-import.js'
import { openNumberingPlan } from '../../../src/data/numbering/numbering-plan.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import type { NumberFacts, NumberingPlan } from '../../../src/domain/place.js'
import { fixedClock } from '../../../src/domain/time/clock.js'
import { files, lacks, rowsOf } from '../../data/test-data.js'
import { emptyTally, judge, share, type Tally, yearStart } from '../../data/zone-clocks.js'

const skip = lacks('nanpa', 'cnac', 'ocnClasses', 'prefixOracle')

describe.skipIf(skip)('with the public files of 2026-07 and 2024-10', () => {
  let folder = ''
  let summary: NumberingImportSummary
  let ocn: OcnImportSummary
  let imported: NumberingPlan
  let byAreaCode: NumberingPlan

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'callgate-numbering-'))
    const clock = fixedClock(yearStart)
    const { nanpa, cnac, ocnClasses } = files
    summary = await importNumbering({ nanpa, cnac, folder, clock })
    ocn = await importOcnClasses({ file: ocnClasses, folder })
    imported = openNumberingPlan({ folder, unknownPrefix: 'area-code' })
    byAreaCode = openNumberingPlan({ folder: join(folder, 'none'), unknownPrefix: 'area-code' })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const lookUp = (plan: NumberingPlan, prefix: string) =>
    plan.lookup(toPhoneNumber(`${prefix}2345`))

  it('the import accounts for every row', () => {
    for (const country of ['US', 'CA'] as const) {
      const { read, accepted, skipped, bad } = summary[country]!
      const left = Object.values(skipped).reduce((sum, count) => sum + count, 0)
      expect(accepted + left + bad.length).toBe(read)
      expect(bad).toEqual([])
      expect(imported.coverage()[country]).toMatchObject({ mode: 'imported', prefixes: accepted })
    }
    expect(summary.US).toMatchObject({
      read: 204_327,
      accepted: 197_816,
      asOf: Date.UTC(2026, 6, 6),
    })
    expect(summary.CA).toMatchObject({
      read: 44_000,
      accepted: 27_757,
      asOf: Date.UTC(2024, 9, 10),
    })
    expect(ocn.accepted).toBe(3117)
  })

  function tallyOf(plan: NumberingPlan): Tally & { unknown: number; elsewhere: number } {
    const tally = { ...emptyTally(), unknown: 0, elsewhere: 0 }
    for (const [prefix = '', , region, rateCentre, , zone] of rowsOf(files.prefixOracle)) {
      const facts = lookUp(plan, prefix)
      if (facts.status !== 'ok') {
        tally.unknown += 1
        continue
      }
      const { candidates } = facts.place
      if (!candidates.some((candidate) => candidate.region === region)) tally.elsewhere += 1
      if (!zone) continue
      const zones = candidates.map((candidate) => candidate.zone)
      const verdict = judge(zones, zone)
      tally[verdict] += 1
      if (verdict === 'wrong') tally.examples.push(`${prefix} ${rateCentre} ${zone}: ${zones}`)
    }
    return tally
  }

  it('imported prefixes are all known, in the right region, and hardly ever in a wrong zone', () => {
    const tally = tallyOf(imported)
    expect(tally.unknown + tally.elsewhere).toBe(0)
    expect(share(tally, 'right')).toBeGreaterThanOrEqual(99.3)
    expect(share(tally, 'wrong'), tally.examples.join('\n')).toBeLessThanOrEqual(0.05)
  })

  it('area codes alone are almost never wrong, and leave one prefix in ten undecided', () => {
    const tally = tallyOf(byAreaCode)
    expect(share(tally, 'wrong'), tally.examples.join('\n')).toBeLessThanOrEqual(0.01)
    expect(share(tally, 'undecided')).toBeLessThanOrEqual(10)
    expect(tally.elsewhere).toBe(0)
  })

  it('names the carrier the sample names', () => {
    const differing = rowsOf(files.prefixOracle).filter(([prefix = '', , , , ocnCode]) => {
      const facts = lookUp(imported, prefix)
      return facts.status !== 'ok' || (facts.carrier?.ocn ?? 'MULT') !== ocnCode
    })
    expect(differing).toEqual([])
  })

  const places: [prefix: string, what: string, facts: Partial<NumberFacts>][] = [
    ['907200', 'a cable company in Alaska', { status: 'ok', locality: 'VALDEZ' }],
    [
      '204200',
      'an exchange of Winnipeg',
      { status: 'ok', locality: 'Winnipeg', lineClass: 'voip' },
    ],
    ['850411', 'a service code', { status: 'unknown-prefix', areaCodeInUse: true }],
    ['942550', 'an area code without prefixes yet', { status: 'unknown-prefix' }],
    ['204310', 'the province-wide service', { status: 'unknown-prefix', areaCodeInUse: true }],
  ]
  it.each(places)('%s: %s', (prefix, _, expected) => {
    expect(lookUp(imported, prefix)).toMatchObject(expected)
  })

  it('gives the same object for the same prefix', () => {
    expect(lookUp(imported, '907200')).toBe(lookUp(imported, '907200'))
  })
})
