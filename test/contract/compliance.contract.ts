/**
 * What anyone who fills the compliance port must answer about the sandbox account, whose numbers
 * have fixed facts. Run it with {@link complianceContract} from a test file of the filler.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { Answer, CallRow, Compliance, Question } from '../../src/domain/compliance.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import type { Instant } from '../../src/domain/time/clock.js'
import { describeSaid } from '../../src/domain/words/words.js'
import { sandboxLines } from '../support/sandbox-lines.js'
import { instant } from '../support/test-clock.js'

interface OpenCompliance {
  readonly compliance: Compliance
  close(): Promise<void>
}

/** Makes a filler whose sandbox account stands at an instant and has written nothing yet. */
export type MakeCompliance = (sandboxAt: Instant) => Promise<OpenCompliance>

/** Monday, noon in New York. */
const noon = '2026-11-23T17:00:00Z'
/** The same day, ten at night there. */
const night = '2026-11-24T03:00:00Z'

const onInternalList = ['0104', '0111', '0112']

function about(number: string, more: Partial<Question> = {}): Question {
  return { accountId: 'sandbox', number: toPhoneNumber(number), ...more }
}

function valueIn<T>(asked: Answer<T>): T {
  if (!asked.ok) throw new Error(`unanswered: ${asked.reason}, ${describeSaid(asked.says)}`)
  return asked.value
}

function flagsOf({ allowed }: CallRow): string {
  return [allowed.manual, allowed.autodialed, allowed.ai].map(Number).join('')
}

export function complianceContract(name: string, makeCompliance: MakeCompliance): void {
  describe(`${name} as a source of compliance answers`, () => {
    let open: OpenCompliance | undefined
    afterEach(async () => {
      await open?.close()
      open = undefined
    })
    const at = async (text: string) => {
      open = await makeCompliance(instant(text))
      return open.compliance
    }

    it('scrubs each line of the sandbox to its letter, record and reason', async () => {
      const compliance = await at(noon)
      for (const { line, letter, scrubReason, ebrType } of sandboxLines) {
        const verdict = valueIn(await compliance.scrub(about(`212555${line}`)))
        expect([line, verdict.letter, verdict.ebrType]).toEqual([line, letter, ebrType])
        expect(verdict.reason).toMatch(scrubReason)
      }
    })

    it('gives each line its three flags inside the window', async () => {
      const compliance = await at(noon)
      for (const { line, reasons } of sandboxLines) {
        const flags = reasons.map((reason) => Number(reason === 'permitted')).join('')
        const verdict = valueIn(await compliance.scrub(about(`212555${line}`)))
        expect(`${line} ${flagsOf(verdict)}`).toBe(`${line} ${flags}`)
      }
    })

    it('gives no line a flag outside the window', async () => {
      const compliance = await at(night)
      for (const { line } of sandboxLines) {
        const verdict = valueIn(await compliance.scrub(about(`212555${line}`)))
        expect(`${line} ${flagsOf(verdict)}`).toBe(`${line} 000`)
      }
    })

    it('follows a postal code to where the contact is', async () => {
      const compliance = await at('2026-11-24T03:30:00Z')
      const here = valueIn(await compliance.scrub(about('2125550100')))
      const west = about('2125550100', { postalCode: '90001' })
      expect([flagsOf(here), flagsOf(valueIn(await compliance.scrub(west)))]).toEqual([
        '000',
        '110',
      ])
    })

    it('marks a restricted day', async () => {
      const compliance = await at('2026-11-26T18:00:00Z')
      const utah = valueIn(await compliance.scrub(about('8015550100')))
      expect([utah.letter, utah.doNotCallToday, flagsOf(utah)]).toEqual(['C', true, '000'])
      const newYork = valueIn(await compliance.scrub(about('2125550100')))
      expect([newYork.doNotCallToday, flagsOf(newYork)]).toEqual([false, '110'])
    })

    it('bars wireless numbers where a state does', async () => {
      const compliance = await at(noon)
      for (const [number, letter] of [
        ['6025550101', 'L'] as const,
        ['6025550106', 'F'] as const,
        ['6025550108', 'V'] as const,
        ['6025550100', 'C'] as const,
      ]) {
        const verdict = valueIn(await compliance.scrub(about(number)))
        expect([number, verdict.letter]).toEqual([number, letter])
      }
    })

    it('tells which lines are on the internal list, whatever consent says', async () => {
      const compliance = await at(noon)
      for (const { line } of sandboxLines) {
        const status = valueIn(await compliance.internalDnc(about(`212555${line}`)))
        expect([line, status.onList]).toEqual([line, onInternalList.includes(line)])
        if (!status.onList) expect(status.addedAt).toBeUndefined()
        else expect(status.addedAt ?? 0).toBeLessThan(instant(noon))
      }
    })

    it('tells which line is a known litigator', async () => {
      const compliance = await at(noon)
      for (const { line } of sandboxLines) {
        const status = valueIn(await compliance.litigator(about(`212555${line}`)))
        expect([line, status.isLitigator]).toEqual([line, line === '0105'])
      }
    })

    const times = [
      { now: noon, number: '2125550100', status: 'OK', permitted: true, secondsLeft: 32_400 },
      { now: night, number: '2125550100', status: 'OK', permitted: false, secondsLeft: 0 },
      {
        now: '2026-11-22T18:00:00Z',
        number: '2055550100',
        status: 'OK',
        permitted: false,
        secondsLeft: 0,
      },
      { now: noon, number: '8005550100', status: 'TOLL_FREE', permitted: false, secondsLeft: 0 },
      { now: noon, number: '2125550199', status: 'UNKNOWN_NXX', permitted: false, secondsLeft: 0 },
      { now: noon, number: '9995550100', status: 'UNKNOWN_NXX', permitted: false, secondsLeft: 0 },
    ]
    it.each(times)('legal time of $number at $now: $status, $permitted', async (time) => {
      const { now, number, status, permitted, secondsLeft } = time
      const compliance = await at(now)
      const found = valueIn(await compliance.legalTime(about(number)))
      expect([found.status, found.permitted, found.secondsLeft]).toEqual([
        status,
        permitted,
        secondsLeft,
      ])
      if (status === 'OK') expect(found.message).toBeNull()
      else expect(found.message).toContain(number)
    })

    it('answers an unknown project with no permission and no exception', async () => {
      const compliance = await at(noon)
      const nowhere = { projectId: 'NO-SUCH-PROJECT' }
      const found = valueIn(await compliance.legalTime(about('2125550100', nowhere)))
      expect([found.status, found.permitted]).toEqual(['INVALID_PROJECT', false])
      const scrubbed = await compliance.scrub(about('2125550100', nowhere))
      expect(scrubbed.ok).toBe(false)
      const listed = await compliance.internalDnc(about('2125550100', nowhere))
      expect(listed.ok).toBe(false)
    })

    it('tells who answered, when, and until when the answer holds', async () => {
      const compliance = await at(noon)
      const asked = [
        await compliance.scrub(about('2125550106')),
        await compliance.internalDnc(about('2125550106')),
        await compliance.litigator(about('2125550106')),
        await compliance.legalTime(about('2125550106')),
      ]
      for (const answer of asked) {
        expect(answer.ok && answer.source.length > 0).toBe(true)
        expect(answer.ok && Number.isFinite(answer.asOf)).toBe(true)
        const { holdsUntil = Number.POSITIVE_INFINITY } = answer.ok ? answer : { holdsUntil: 0 }
        expect(holdsUntil).toBeGreaterThan(instant(noon))
      }
    })

    it('never lets an answer that depends on the hour hold past the window', async () => {
      const compliance = await at(noon)
      const closes = instant('2026-11-24T02:00:00Z')
      for (const answer of [
        await compliance.scrub(about('2125550106')),
        await compliance.legalTime(about('2125550106')),
      ]) {
        expect(answer.ok && answer.holdsUntil).toBeLessThanOrEqual(closes)
      }
    })
  })
}
