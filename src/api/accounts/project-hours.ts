/** The projects of an account with their registrations and calling hours, and changes of the hours. */
import { z } from 'zod'
import { defineEndpoint, maxSmallBodyBytes } from '../endpoint.js'
import { fields, optionalFlag, optionalText } from '../fields.js'
import { instant } from '../gate/decision-body.js'

const date = z.iso.date()

const hours = z
  .object({
    region: z.string(),
    monFri: z.string().describe('`09:00-20:00`, or `none`'),
    sat: z.string(),
    sun: z.string(),
    effectiveFrom: date.nullable().describe('First local day; null for all before'),
    effectiveUntil: date.nullable().describe('Last local day'),
  })
  .meta({ id: 'ProjectHours' })

const projectsResponse = z.object({
  projects: z
    .array(
      z.object({
        code: z.string(),
        name: z.string(),
        isMaster: z.boolean().describe('Of requests without a project'),
        status: z.enum(['active', 'inactive']),
        ftcStatus: z
          .enum(['pending', 'validated', 'failed', 'expired'])
          .nullable()
          .describe('Of its id at the federal registry; null without one'),
        registrations: z
          .array(
            z.object({ state: z.string(), status: z.string(), submittedAt: instant.nullable() }),
          )
          .readonly(),
        hours: z.array(hours).readonly(),
        createdAt: instant,
      }),
    )
    .readonly(),
})

export type ProjectsBody = z.output<typeof projectsResponse>

export const projectsEndpoint = defineEndpoint({
  name: 'projects',
  summary:
    'The projects that the key may use, with the state registrations and the calling hours of their own, the Master Project first.',
  spec: 'none; callgate only',
  method: 'GET',
  paths: ['/v1/projects'],
  accepts: ['query'],
  keyAlsoIn: [],
  rights: ['look-up'],
  scopes: 'none',
  request: fields({}),
  response: projectsResponse,
  errors: 'problem',
})

const hoursRequest = fields({
  code: z.string().describe('As `GET /v1/projects` has it'),
  region: z.string('is required').describe('Two-letter postal code'),
  monFri: optionalText(20).describe('`HH:MM-HH:MM`, or `none`; required unless `remove`'),
  sat: optionalText(20),
  sun: optionalText(20),
  effectiveFrom: optionalText(20).describe(
    'First local day, YYYY-MM-DD; replaces those from the same day',
  ),
  effectiveUntil: optionalText(20),
  remove: optionalFlag.describe(
    'Removes all hours of the region instead, so that the law alone holds',
  ),
  reason: optionalText(500).describe('Why, for the audit table'),
})

export type ProjectHoursRequest = z.output<typeof hoursRequest>

export const projectHoursEndpoint = defineEndpoint({
  name: 'project-hours',
  summary:
    'Sets or removes the calling hours of a project in a region. They narrow those of the law, unless the operator lets projects widen ' +
    'them (`gate.projectMayWiden`).',
  spec: 'none; callgate only',
  method: 'POST',
  paths: ['/v1/projects/:code/hours'],
  accepts: ['json'],
  maxBodyBytes: maxSmallBodyBytes,
  keyAlsoIn: [],
  rights: ['manage'],
  scopes: ({ code }: ProjectHoursRequest) => [{ projectId: code }],
  request: hoursRequest,
  response: z.object({ done: z.literal(true) }),
  otherStatuses: {
    400: 'Also for a project that is unknown or inactive',
    409: 'Wider hours need a second person (`twoPeople.for`): the text has the id of the change that waits',
  },
  errors: 'problem',
})
