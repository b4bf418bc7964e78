/** The settings of the imported number lists: where they are, how many are kept, how old they may be. */
import { z } from 'zod'
import { file, wholeNumber } from './config-values.js'

/** Days after its as-of date from which a list answers nothing; 0 for as long as it is there. */
const age = (days: number, what: string, then = 'the numbers it speaks for are blocked') =>
  wholeNumber(0, 3_660)
    .default(days)
    .meta({ unit: 'days' })
    .describe(`${what}; an older list answers nothing, so ${then}. 0 for no limit`)

const region = z.string().regex(/^[A-Z]{2}$/, 'must be a two-letter region such as FL')

export const lists = z.strictObject({
  folder: file.describe(
    'Folder of the imported lists, which several nodes may share; <dataDir>/lists unless given',
  ),
  keepVersions: wholeNumber(0, 100)
    .default(2)
    .describe('Earlier versions of each list that are kept for `callgate lists rollback`'),
  maxAgeDays: z
    .strictObject({
      usDnc: age(31, 'us-dnc: the national registry may be 31 days old (16 CFR 310.4(b)(3)(iv))'),
      canadaDnc: age(
        31,
        'canada-dnc: 31 days (CRTC Unsolicited Telecommunications Rules, Part II)',
      ),
      stateDnc: age(92, 'state-dnc-..: most states publish each quarter'),
      litigators: age(0, 'litigators'),
      ported: age(
        15,
        'ported-..: a call to a number ported 15 days ago (47 CFR 64.1200(a)(1)(iv))',
        'numbers of wireline and VoIP prefixes count as wireless',
      ),
    })
    .prefault({}),
  maxAgeDaysOfState: z
    .record(region, wholeNumber(0, 3_660))
    .default({})
    .describe('Other ages for the lists of single states, by region: { FL: 92, TX: 31 }'),
  warnAtPercent: wholeNumber(1, 100)
    .default(80)
    .describe('Share of its age from which a list is reported as soon too old'),
})
