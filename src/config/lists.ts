/** The settings of the imported number lists: where they are, how many are kept, how old they may be. */
import { z } from 'zod'
import { filePath, region, reloadable, wholeNumber } from './values.js'

/** Maximum age of a list, in days after its as-of date; 0 for no limit. */
const maxAgeDays = (
  days: number,
  what: string,
  consequence = 'the numbers it covers are blocked',
) =>
  wholeNumber(0, 3_660)
    .default(days)
    .meta({ unit: 'days', ...reloadable })
    .describe(`${what}; an older list is not used, so ${consequence}. 0 for no limit`)

export const listsSchema = z.strictObject({
  folder: filePath.describe(
    'Folder of the imported lists, which several nodes may share; default <dataDir>/lists',
  ),
  keepVersions: wholeNumber(0, 100)
    .default(2)
    .meta(reloadable)
    .describe('Earlier versions of each list that are kept for `callgate lists rollback`'),
  maxAgeDays: z
    .strictObject({
      usDnc: maxAgeDays(
        31,
        'us-dnc: the national registry may be at most 31 days old (16 CFR 310.4(b)(3)(iv))',
      ),
      canadaDnc: maxAgeDays(
        31,
        'canada-dnc: 31 days (CRTC Unsolicited Telecommunications Rules, Part II)',
      ),
      stateDnc: maxAgeDays(92, 'state-dnc-..: most states publish each quarter'),
      litigators: maxAgeDays(0, 'litigators'),
      ported: maxAgeDays(
        15,
        'ported-..: a call to a number ported 15 days ago (47 CFR 64.1200(a)(1)(iv))',
        'numbers of wireline and VoIP prefixes are treated as wireless',
      ),
    })
    .prefault({}),
  maxAgeDaysOfState: z
    .record(region, wholeNumber(0, 3_660))
    .default({})
    .meta(reloadable)
    .describe('Maximum ages for the lists of single states, by region: { FL: 92, TX: 31 }'),
  warnAtPercent: wholeNumber(1, 100)
    .default(80)
    .meta(reloadable)
    .describe('Percentage of the maximum age from which a list is reported as expiring soon'),
})
