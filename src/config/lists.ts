/** The settings of the imported number lists: where they are, how many are kept, how old they may be. */
import { z } from 'zod'
import { addProblem, filePath, httpUrl, region, reloadable, text, wholeNumber } from './values.js'

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

/** Where servers of one PostgreSQL database get the files of imported lists. */
const filesSchema = z
  .strictObject({
    folder: filePath.describe(
      'With storage.engine postgres: a folder that all servers have mounted, through which they get the lists ' +
        'that one of them has imported. Without it, s3 or servers, each server imports its own',
    ),
    s3: z
      .strictObject({
        url: httpUrl
          .optional()
          .describe(
            'Instead of a folder: bucket and prefix, such as https://s3.example.com/bucket/lists',
          ),
        region: text.default('us-east-1').describe('Region that requests are signed for'),
        accessKeyId: text.optional().describe('Id of the access key'),
        secretAccessKeyFile: filePath.describe('File with the secret access key on its first line'),
      })
      .prefault({}),
    servers: z
      .array(httpUrl)
      .default([])
      .describe(
        'Instead of a folder: addresses of the servers where lists are imported, such as http://10.0.0.1:8480',
      ),
    loginIdFile: filePath.describe(
      'File with an API key of account main with the right edge on its first line, for servers',
    ),
    stageSeconds: wholeNumber(0, 3_600)
      .default(60)
      .meta({ unit: 's' })
      .describe(
        'How long an import waits, with its file in that place, for the other servers to fetch it before it is in ' +
          'force. A server that needs longer blocks until it has the file',
      ),
  })
  .prefault({})
  .superRefine(({ folder, s3, servers, loginIdFile }, context) => {
    const places = [folder !== undefined, s3.url !== undefined, servers.length > 0]
    if (places.filter(Boolean).length > 1) {
      addProblem(context, [], 'must have only one of folder, s3.url and servers')
    }
    const hasKey = s3.accessKeyId !== undefined && s3.secretAccessKeyFile !== undefined
    if (s3.url !== undefined && !hasKey) {
      addProblem(context, ['s3', 'url'], 'needs s3.accessKeyId and s3.secretAccessKeyFile')
    }
    if (servers.length > 0 && loginIdFile === undefined) {
      addProblem(context, ['loginIdFile'], 'must be given with servers')
    }
  })

export const listsSchema = z.strictObject({
  folder: filePath.describe(
    'Folder of the imported lists, which several nodes may share; default <dataDir>/lists',
  ),
  files: filesSchema,
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
