/** The endpoint of the audit table: who changed what, and who read about whom. */
import { z } from 'zod'
import type { Instant } from '../../domain/time/clock.js'
import { defineEndpoint } from '../endpoint.js'
import { fields, instant, optionalText } from '../fields.js'
import { instant as instantText } from '../gate/decision-body.js'

interface AuditRequest {
  readonly from?: Instant | undefined
  readonly to?: Instant | undefined
  readonly action?: string | undefined
  readonly who?: string | undefined
  readonly subject?: string | undefined
  readonly cursor?: string | undefined
}

const record = z
  .object({
    seq: z
      .int()
      .describe('Without gaps, in the order in which rows were stored, over all accounts'),
    at: instantText,
    who: z
      .string()
      .describe(
        '`key:<id>`, `person:<name>` in the console, `user:<name>` at the command line, or `system`',
      ),
    door: z.string().describe('`api <path>`, `console <path>`, `command <words>` or `server`'),
    action: z.string().describe('Such as `opt-out.added`'),
    subject: z.object({
      kind: z.string(),
      id: z.string().describe('Of reads about a number a keyed hash and its last four digits'),
    }),
    before: z.unknown().describe('What changed, as it was'),
    after: z.unknown().describe('What changed, as it is'),
    reason: z.string().nullable(),
  })
  .meta({ id: 'AuditRecord' })

export type AuditRecordBody = z.output<typeof record>

const request: z.ZodType<AuditRequest> = fields({
  from: instant.optional().describe('The earliest instant'),
  to: instant.optional().describe('The first instant that is too late'),
  action: optionalText(60).describe('Exactly this action'),
  who: optionalText(200).describe('Exactly this one'),
  subject: optionalText(200).describe('An id; ten digits also find who read about that number'),
  cursor: optionalText(40).describe('Of the page before'),
})

export const auditEndpoint = defineEndpoint({
  name: 'audit',
  summary:
    'Who changed what in the account and who read about whom, newest first, 200 on a page. The key needs role Administrator ' +
    'and no limit to projects. Reading it adds a row.',
  spec: 'none; callgate only',
  method: 'GET',
  paths: ['/v1/audit'],
  accepts: ['query'],
  usesServiceThread: 'always',
  keyAlsoIn: [],
  rights: ['manage'],
  // Of all projects.
  scopes: 'none',
  request,
  response: z.object({
    records: z.array(record).readonly(),
    cursor: z.string().nullable().describe('For the next page; null if this is the last'),
  }),
  errors: 'problem',
})
