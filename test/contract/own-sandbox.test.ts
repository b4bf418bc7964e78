/** What the rules say of the sandbox account, whose numbers have fixed facts, by our own facts. */
import { afterEach, describe, expect, it } from 'vitest'
import type { CallRow, Question } from '../../src/domain/compliance.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import { callKinds, sandboxLines } from '../support/sandbox-lines.js'
import { instant } from '../support/test-clock.js'
import { noon, type OpenOwnFacts, openOwnFacts } from './own-facts-database.js'

/** The same day, ten at night in New York. */
const night = '2026-11-24T03:00:00Z'

const onInternalList = ['0104', '0111', '0112']

function about(number: string, more: Partial<Question> = {}): Question {
  return { accountId: 'sandbox', number: toPhoneNumber(number), ...more }
}

function flagsOf({ allowed }: CallRow): string {
  return callKinds.map((kind) => Number(allowed[kind])).join('')
}

describe('the sandbox by our own facts', () => {
  let open: OpenOwnFacts | undefined
  afterEach(async () => {
    await open?.close()
    open = undefined
  })
  const at = async (text: string) => {
    open = await openOwnFacts({ sandboxAt: instant(text) })
    return open
  }

  it('has of each line its letter, record and reason', async () => {
    const { rowOf } = await at(noon)
    for (const { line, letter, scrubReason, ebrType } of sandboxLines) {
      const { row } = await rowOf(about(`212555${line}`))
      expect([line, row.letter, row.ebrType]).toEqual([line, letter, ebrType])
      expect(row.reason).toMatch(scrubReason)
    }
  })

  it('gives each line its three flags inside the window', async () => {
    const { rowOf } = await at(noon)
    for (const { line, reasons } of sandboxLines) {
      const flags = reasons.map((reason) => Number(reason === 'permitted')).join('')
      const { row } = await rowOf(about(`212555${line}`))
      expect(`${line} ${flagsOf(row)}`).toBe(`${line} ${flags}`)
    }
  })

  it('permits each line to the kinds of call that its row allows, and to no others', async () => {
    const { judge } = await at(noon)
    for (const { line, reasons } of sandboxLines) {
      for (const [index, callKind] of callKinds.entries()) {
        const { litigator, internalDnc, permission } = await judge(about(`212555${line}`), {
          callKind,
        })
        const isPermitted = [litigator, internalDnc, permission].every(
          ({ verdict }) => verdict === 'pass',
        )
        expect([line, callKind, isPermitted]).toEqual([
          line,
          callKind,
          reasons[index] === 'permitted',
        ])
      }
    }
  })

  it('gives no line a flag outside the window', async () => {
    const { rowOf } = await at(night)
    for (const { line } of sandboxLines) {
      const { row } = await rowOf(about(`212555${line}`))
      expect(`${line} ${flagsOf(row)}`).toBe(`${line} 000`)
    }
  })

  it('follows a postal code to where the contact is', async () => {
    const { rowOf } = await at('2026-11-24T03:30:00Z')
    const here = await rowOf(about('2125550100'))
    const west = await rowOf(about('2125550100', { postalCode: '90001' }))
    expect([flagsOf(here.row), flagsOf(west.row)]).toEqual(['000', '110'])
  })

  it('marks a restricted day', async () => {
    const { rowOf } = await at('2026-11-26T18:00:00Z')
    const { row: utah } = await rowOf(about('8015550100'))
    expect([utah.letter, utah.doNotCallToday, flagsOf(utah)]).toEqual(['C', true, '000'])
    const { row: newYork } = await rowOf(about('2125550100'))
    expect([newYork.doNotCallToday, flagsOf(newYork)]).toEqual([false, '110'])
  })

  it('bars wireless numbers where a state does', async () => {
    const { rowOf } = await at(noon)
    for (const [number, letter] of [
      ['6025550101', 'L'] as const,
      ['6025550106', 'F'] as const,
      ['6025550108', 'V'] as const,
      ['6025550100', 'C'] as const,
    ]) {
      const { row } = await rowOf(about(number))
      expect([number, row.letter]).toEqual([number, letter])
    }
  })

  it('tells which lines are on the internal list, whatever consent says', async () => {
    const { read } = await at(noon)
    for (const { line } of sandboxLines) {
      const { entry } = await read(about(`212555${line}`))
      const found = entry === 'not-asked' ? undefined : entry
      expect([line, found?.why]).toEqual([line, undefined])
      expect([line, found?.value?.removedAt === null]).toEqual([
        line,
        onInternalList.includes(line),
      ])
      expect(found?.value?.addedAt ?? 0).toBeLessThan(instant(noon))
    }
  })

  it('tells which line is a known litigator', async () => {
    const { judge } = await at(noon)
    for (const { line } of sandboxLines) {
      const { verdict, reason } = (await judge(about(`212555${line}`))).litigator
      const isLitigator = line === '0105'
      expect([line, verdict, reason]).toEqual([
        line,
        isLitigator ? 'deny' : 'pass',
        isLitigator ? 'litigator' : 'permitted',
      ])
    }
  })

  const closes = instant('2026-11-24T02:00:00Z')
  const times = [
    { now: noon, number: '2125550100', reason: 'permitted', holdsUntil: closes },
    { now: night, number: '2125550100', reason: 'outside-calling-hours' },
    { now: '2026-11-22T18:00:00Z', number: '2055550100', reason: 'outside-calling-hours' },
    { now: noon, number: '8005550100', reason: 'toll-free' },
    { now: noon, number: '2125550199', reason: 'unknown-prefix' },
    { now: noon, number: '9995550100', reason: 'unknown-prefix' },
  ]
  it.each(times)('hours of $number at $now: $reason', async (time) => {
    const { now, number, reason, holdsUntil } = time
    const { judge } = await at(now)
    const { legalTime } = await judge(about(number))
    const verdict = reason === 'permitted' ? 'pass' : 'deny'
    expect(legalTime).toMatchObject({ verdict, reason })
    if (holdsUntil !== undefined) expect(legalTime.holdsUntil).toBe(holdsUntil)
    expect(legalTime.says.length).toBeGreaterThan(0)
  })

  it('permits no call of an unknown project', async () => {
    const { judge, errors } = await at(noon)
    const nowhere = about('2125550100', { projectId: 'NO-SUCH-PROJECT' })
    const { legalTime, permission, internalDnc, litigator, row } = await judge(nowhere)
    expect(legalTime).toMatchObject({ verdict: 'deny', reason: 'unknown-project' })
    const unknown = { verdict: 'unknown', isRequestError: true }
    expect([permission, internalDnc]).toMatchObject([unknown, unknown])
    // By the lists of the account, whether or not its project exists.
    expect(litigator).toMatchObject({ verdict: 'pass' })
    expect(row).toBeUndefined()
    expect(errors).toEqual([])
  })

  it('tells who says it, when it was read, and until when it holds', async () => {
    const { judge } = await at(noon)
    const { litigator, internalDnc, legalTime, permission } = await judge(about('2125550106'))
    for (const finding of [litigator, internalDnc, legalTime, permission]) {
      expect(finding).toMatchObject({ source: 'embedded', asOf: instant(noon) })
      expect(finding.holdsUntil).toBeGreaterThan(instant(noon))
    }
  })

  it('never lets what depends on the hour hold past the window', async () => {
    const { judge, rowOf } = await at(noon)
    const { legalTime, permission } = await judge(about('2125550106'))
    const { holdsUntil } = await rowOf(about('2125550106'))
    for (const end of [legalTime.holdsUntil, permission.holdsUntil, holdsUntil]) {
      expect(end).toBeLessThanOrEqual(closes)
    }
  })
})
