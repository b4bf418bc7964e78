/** Numbers the suite may write about. All are fictional: 555-0100 to 555-0199 of some area code. */
import { run } from './run.js'
import type { Needs } from './sentence.js'

const plainAreaCodes = [
  '212',
  '305',
  '312',
  '404',
  '503',
  '602',
  '615',
  '702',
  '713',
  '804',
  '816',
  '907',
  '213',
  '216',
  '303',
  '314',
  '402',
  '412',
  '505',
  '605',
  '704',
  '801',
  '808',
  '919',
]

/** Repeated runs begin at different numbers, so that they find few traces of each other. */
const seed = Math.floor(Date.now() / 1000)

function counterFrom(start: number) {
  let next = start
  return () => next++
}

/** 555-0120 to 555-0199, of which no sandbox known to us has facts. */
const nextListed = counterFrom(seed)
const nextWritable = counterFrom(seed * 7)

/** Numbers for lists alone: nothing need be known of them. */
export function listNumbers(count: number): readonly string[] {
  return Array.from({ length: count }, () => {
    const at = nextListed()
    const areaCode = plainAreaCodes[Math.floor(at / 80) % plainAreaCodes.length]
    return `${areaCode}55501${20 + (at % 80)}`
  })
}

export function listNumber(): string {
  return listNumbers(1)[0] ?? ''
}

/** A number whose scrub row may be changed by consents and list entries. */
export function writableNumber(
  needs: Needs,
  line: 'landline' | 'wireless' | 'voip' = 'landline',
): string {
  const writable = needs(run.facts.writable, 'facts.writable: numbers to store consents of')
  const digits = needs(writable[line], `facts.writable.${line}`)
  const { areaCodes } = writable
  const own = areaCodes.length > 2 * farCount ? areaCodes.slice(0, -farCount) : areaCodes
  return `${own[nextWritable() % own.length]}${digits}`
}

/** The last area codes are shared by the cases that need a number of many places. */
const farCount = 6

/** Numbers of many places, so that some are inside their calling hours at nearly any time. */
export function writableNumbersOfAllPlaces(
  needs: Needs,
  line: 'landline' | 'wireless' | 'voip',
): readonly string[] {
  const { areaCodes } = needs(run.facts.writable, 'facts.writable: numbers to store consents of')
  const drawn = Array.from({ length: 10 }, () => writableNumber(needs, line))
  // The list ends with places far from each other.
  const far = areaCodes.slice(-farCount).map((areaCode) => `${areaCode}${drawn[0]?.slice(3)}`)
  return [...drawn, ...far]
}

/** A text per run, for codes and labels. */
export const runMark = seed.toString(36).toUpperCase()
