/** The settings of an edge: a server that decides by a copy of what is stored at a center. */
import { z } from 'zod'
import { callKinds } from '../domain/decision.js'
import { addProblem, filePath, httpUrl, instant, milliseconds, reloadable, text } from './values.js'

const whileCutOff = z
  .strictObject({
    maxAgeMs: milliseconds(0, 604_800_000)
      .default(0)
      .meta(reloadable)
      .describe(
        'How old the copy may be when a call is allowed, if more than cluster.maxStalenessMs. An opt-out ' +
          'that was given elsewhere may take so long to be enforced here',
      ),
    callKinds: z
      .array(z.enum(callKinds))
      .default(['manual'])
      .meta(reloadable)
      .describe('The kinds of call that may be allowed by such a copy'),
    reason: text
      .max(200)
      .optional()
      .meta(reloadable)
      .describe(
        'Why, and who is responsible; required with maxAgeMs, and recorded in every such decision',
      ),
    until: instant('2026-12-01T00:00:00Z')
      .optional()
      .meta(reloadable)
      .describe('When the exception ends; required with maxAgeMs'),
  })
  .superRefine(({ maxAgeMs, ...exception }, context) => {
    if (maxAgeMs === 0) return
    for (const name of ['reason', 'until'] as const) {
      if (exception[name] === undefined) addProblem(context, [name], 'is required with maxAgeMs')
    }
  })
  .prefault({})

export const edgeSchema = z
  .strictObject({
    centers: z
      .array(httpUrl)
      .default([])
      .describe(
        'Makes this server an edge: it keeps a copy of an account at these servers, which share a ' +
          'PostgreSQL database. Any one of them is asked',
      ),
    loginIdFile: filePath.describe(
      'File with the API key for the center on its first line: role Administrator, rights edge and records',
    ),
    whileCutOff,
  })
  .superRefine(({ centers, loginIdFile }, context) => {
    if (centers.length > 0 && loginIdFile === undefined) {
      addProblem(context, ['loginIdFile'], 'is required with centers')
    }
  })
