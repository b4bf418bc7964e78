/**
 * What anyone who fills the compliance port must answer about the sandbox account, whose numbers
 * have fixed facts. Run it with {@link complianceContract} from a test file of the filler.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { Instant } from '../../src/domain/clock.js'
import type {
  Asked,
  Compliance,
  LegalTimeQuestion,
  Question,
  ScrubVerdict,
} from '../../src/domain/compliance.js'
import { phoneNumber } from '../../src/domain/phone-number.js'
import { instant } from '../support/test-clock.js'

export interface OpenCompliance {
  readonly compliance: Compliance
  close(): Promise<void>
}

/** Makes a filler whose sandbox account stands at an instant and has written nothing yet. */
export type MakeCompliance = (sandboxAt: Instant) => Promise<OpenCompliance>

/** Monday, noon in New York. */
const noon = '2026-11-23T17:00:00Z'
/** The same day, ten at night there. */
const night = '2026-11-24T03:00:00Z'

const lines: readonly {
  readonly line: string
  readonly letter: ScrubVerdict['letter']
  readonly reason: RegExp
  readonly ebrType: ScrubVerdict['ebrType']
  /** Manual, autodialed, AI, inside the window. */
  readonly flags: string
}[] = [
  { line: '0100', letter: 'C', reason: /^;;;$/, ebrType: '', flags: '110' },
  { line: '0101', letter: 'W', reason: /^;;;W$/, ebrType: '', flags: '100' },
  { line: '0102', letter: 'Y', reason: /^;;;$/, ebrType: '', flags: '100' },
  {
    ...{ line: '0103', letter: 'D', ebrType: '', flags: '000' },
    reason: /^National \(USA\) \d{4}-\d{2}-\d{2};;;$/,
  },
  { line: '0104', letter: 'P', reason: /^$/, ebrType: '', flags: '000' },
  { line: '0105', letter: 'D', reason: /^Litigator$/, ebrType: '', flags: '000' },
  { line: '0106', letter: 'G', reason: /^;;;W$/, ebrType: 'P', flags: '111' },
  {
    ...{ line: '0107', letter: 'O', ebrType: 'P', flags: '111' },
    reason: /^National \(USA\) \d{4}-\d{2}-\d{2};;;$/,
  },
  {
    ...{ line: '0108', letter: 'H', ebrType: 'P', flags: '111' },
    reason: /^National \(USA\) \d{4}-\d{2}-\d{2};;;W$/,
  },
  { line: '0109', letter: 'E', reason: /^;;;$/, ebrType: 'S', flags: '110' },
  { line: '0110', letter: 'G', reason: /^;;;W$/, ebrType: 'S', flags: '100' },
  { line: '0111', letter: 'P', reason: /^$/, ebrType: 'P', flags: '000' },
  { line: '0112', letter: 'O', reason: /^;;;$/, ebrType: 'P', flags: '111' },
  { line: '0113', letter: 'W', reason: /^;;;W$/, ebrType: '', flags: '100' },
  { line: '0114', letter: 'C', reason: /^;;;$/, ebrType: '', flags: '110' },
  { line: '0115', letter: 'C', reason: /^;;;$/, ebrType: '', flags: '110' },
  { line: '0116', letter: 'Y', reason: /^;;;$/, ebrType: '', flags: '100' },
  { line: '0117', letter: 'W', reason: /^;;;W$/, ebrType: '', flags: '100' },
  { line: '0118', letter: 'W', reason: /^;;;W$/, ebrType: '', flags: '100' },
  { line: '0119', letter: 'C', reason: /^;;;$/, ebrType: '', flags: '110' },
  { line: '0120', letter: 'I', reason: /^$/, ebrType: '', flags: '000' },
]

const onInternalList = ['0104', '0111', '0112']

function about(number: string, more: Partial<Question> = {}): Question {
  return { accountId: 'sandbox', number: phoneNumber(number), ...more }
}

function legalAbout(number: string, more: Partial<LegalTimeQuestion> = {}): LegalTimeQuestion {
  const plain = { recordedVoice: false, lawToo: false, strictestPlace: false }
  return { ...about(number), ...plain, ...more }
}

function valueIn<T>(asked: Asked<T>): T {
  if (!asked.answered) throw new Error(`unanswered: ${asked.why}, ${asked.detail}`)
  return asked.value
}

function flagsOf({ allowed }: ScrubVerdict): string {
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
      for (const { line, letter, reason, ebrType } of lines) {
        const verdict = valueIn(await compliance.scrub(about(`212555${line}`)))
        expect([line, verdict.letter, verdict.ebrType]).toEqual([line, letter, ebrType])
        expect(verdict.reason).toMatch(reason)
      }
    })

    it('gives each line its three flags inside the window', async () => {
      const compliance = await at(noon)
      for (const { line, flags } of lines) {
        const verdict = valueIn(await compliance.scrub(about(`212555${line}`)))
        expect(`${line} ${flagsOf(verdict)}`).toBe(`${line} ${flags}`)
      }
    })

    it('gives no line a flag outside the window', async () => {
      const compliance = await at(night)
      for (const { line } of lines) {
        const verdict = valueIn(await compliance.scrub(about(`212555${line}`)))
        expect(`${line} ${flagsOf(verdict)}`).toBe(`${line} 000`)
      }
    })

    it('follows a postal code to where the contact is', async () => {
      const compliance = await at('2026-11-24T03:30:00Z')
      const here = valueIn(await compliance.scrub(about('2125550100')))
      const west = about('2125550100', { postalCode: '90001' })
      expect([flagsOf(here), flagsOf(valueIn(await compliance.scrub(west)))]).toEqual([
        ...['000', '110'],
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
        ...[['6025550101', 'L'] as const, ['6025550106', 'F'] as const],
        ...[['6025550108', 'V'] as const, ['6025550100', 'C'] as const],
      ]) {
        const verdict = valueIn(await compliance.scrub(about(number)))
        expect([number, verdict.letter]).toEqual([number, letter])
      }
    })

    it('tells which lines are on the internal list, whatever consent says', async () => {
      const compliance = await at(noon)
      for (const { line } of lines) {
        const status = valueIn(await compliance.internalDnc(about(`212555${line}`)))
        expect([line, status.onList]).toEqual([line, onInternalList.includes(line)])
        if (!status.onList) expect(status.addedAt).toBeUndefined()
        else expect(status.addedAt ?? 0).toBeLessThan(instant(noon))
      }
    })

    it('tells which line is a known litigator', async () => {
      const compliance = await at(noon)
      for (const { line } of lines) {
        const status = valueIn(await compliance.litigator(about(`212555${line}`)))
        expect([line, status.isLitigator]).toEqual([line, line === '0105'])
      }
    })

    const times = [
      { now: noon, number: '2125550100', status: 'OK', permitted: true, secondsLeft: 32_400 },
      { now: night, number: '2125550100', status: 'OK', permitted: false, secondsLeft: 0 },
      {
        ...{ now: '2026-11-22T18:00:00Z', number: '2055550100', status: 'OK' },
        ...{ permitted: false, secondsLeft: 0 },
      },
      { now: noon, number: '8005550100', status: 'TOLL_FREE', permitted: false, secondsLeft: 0 },
      { now: noon, number: '2125550199', status: 'UNKNOWN_NXX', permitted: false, secondsLeft: 0 },
      { now: noon, number: '9995550100', status: 'UNKNOWN_NXX', permitted: false, secondsLeft: 0 },
    ]
    it.each(times)('legal time of $number at $now: $status, $permitted', async (time) => {
      const { now, number, status, permitted, secondsLeft } = time
      const compliance = await at(now)
      const found = valueIn(await compliance.legalTime(legalAbout(number)))
      expect([found.status, found.permitted, found.secondsLeft]).toEqual([
        ...[status, permitted, secondsLeft],
      ])
      if (status === 'OK') expect(found.message).toBeNull()
      else expect(found.message).toContain(number)
    })

    it('answers an unknown project with no permission and no exception', async () => {
      const compliance = await at(noon)
      const nowhere = { projectId: 'NO-SUCH-PROJECT' }
      const found = valueIn(await compliance.legalTime(legalAbout('2125550100', nowhere)))
      expect([found.status, found.permitted]).toEqual(['INVALID_PROJECT', false])
      const scrubbed = await compliance.scrub(about('2125550100', nowhere))
      expect(scrubbed.answered).toBe(false)
      const listed = await compliance.internalDnc(about('2125550100', nowhere))
      expect(listed.answered).toBe(false)
    })

    it('tells who answered, when, and until when the answer holds', async () => {
      const compliance = await at(noon)
      const asked = [
        await compliance.scrub(about('2125550106')),
        await compliance.internalDnc(about('2125550106')),
        await compliance.litigator(about('2125550106')),
        await compliance.legalTime(legalAbout('2125550106')),
      ]
      for (const answer of asked) {
        expect(answer.answered && answer.source.length > 0).toBe(true)
        expect(answer.answered && Number.isFinite(answer.asOf)).toBe(true)
        expect(answer.answered && answer.holdsUntil > instant(noon)).toBe(true)
      }
    })

    it('never lets an answer that depends on the hour hold past the window', async () => {
      const compliance = await at(noon)
      const closes = instant('2026-11-24T02:00:00Z')
      for (const answer of [
        await compliance.scrub(about('2125550106')),
        await compliance.legalTime(legalAbout('2125550106')),
      ]) {
        expect(answer.answered && answer.holdsUntil <= closes).toBe(true)
      }
    })
  })
}
