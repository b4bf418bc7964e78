/** The settings of what policy makes of each check's finding. */
import { z } from 'zod'
import { instant, milliseconds } from './config-values.js'

const checkPolicy = (check: string) =>
  z
    .strictObject({
      mode: z
        .enum(['enforce', 'shadow'])
        .default('enforce')
        .describe(`In shadow the ${check} check is recorded and counted, and blocks nothing`),
      onUnknown: z
        .enum(['block', 'allow'])
        .default('block')
        .describe('What becomes of a call whose check cannot be answered'),
      reason: z
        .string()
        .trim()
        .min(1)
        .max(200)
        .optional()
        .describe('Why unknown is allowed; required for that, and stands in every such decision'),
      until: instant('2026-12-01T00:00:00Z')
        .optional()
        .describe('When unknown blocks again; required to allow it'),
      staleForMs: milliseconds(0, 604_800_000)
        .default(0)
        .describe(
          'How long past its age a kept answer may still permit while its source does not answer; ' +
            'never past the instant it holds until. One that forbids is served as long as it is kept',
        ),
    })
    .superRefine(({ onUnknown, reason, until: end }, context) => {
      if (onUnknown === 'block') return
      if (reason === undefined) {
        context.addIssue({
          code: 'custom',
          path: ['reason'],
          message: 'is required to allow unknown',
        })
      }
      if (end === undefined) {
        context.addIssue({
          code: 'custom',
          path: ['until'],
          message: 'is required to allow unknown',
        })
      }
    })
    .prefault({})

export const policy = z.strictObject({
  litigator: checkPolicy('litigator'),
  internalDnc: checkPolicy('internal list'),
  permission: checkPolicy('permission'),
  callingHours: checkPolicy('calling hours'),
})
