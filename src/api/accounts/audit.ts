/** The endpoint of the audit table: who changed what, and who read about whom. */
import { z } from 'zod'
import type { Instant } from '../../domain/time/clock.js'
import { type CsvColumns, type CsvExport, csvReplyHeaders, maxCsvRows, streamCsv } from '../csv.js'
import { defineEndpoint, type Reply } from '../endpoint.js'
import { fields, instant, optionalEnum, optionalText } from '../fields.js'
import { instant as instantText } from '../gate/decision-body.js'

interface AuditRequest {
  readonly from?: Instant | undefined
  readonly to?: Instant | undefined
  readonly action?: string | undefined
  readonly who?: string | undefined
  readonly subject?: string | undefined
  readonly cursor?: string | undefined
  readonly output: 'json' | 'csv'
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
  output: optionalEnum(['json', 'csv'], 'json'),
})

const page = z.object({
  records: z.array(record).readonly(),
  cursor: z.string().nullable().describe('For the next page; null if this is the last'),
})

const toJson = (value: unknown) => (value === null ? undefined : JSON.stringify(value))

const columns = {
  seq: ({ seq }) => String(seq),
  at: ({ at }) => at,
  who: ({ who }) => who,
  door: ({ door }) => door,
  action: ({ action }) => action,
  subjectKind: ({ subject }) => subject.kind,
  subjectId: ({ subject }) => subject.id,
  before: ({ before }) => toJson(before),
  after: ({ after }) => toJson(after),
  reason: ({ reason }) => reason ?? undefined,
} satisfies CsvColumns<AuditRecordBody>

export const auditEndpoint = defineEndpoint<
  AuditRequest,
  z.output<typeof page> | CsvExport<AuditRecordBody>
>({
  name: 'audit',
  summary:
    'Who changed what in the account and who read about whom, newest first, 200 on a page. The key needs role Administrator ' +
    `and no limit to projects. Reading it adds a row. With output=csv, up to ${maxCsvRows.toLocaleString('en')} in one answer.`,
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
  response: page,
  replyTypes: ['application/json', 'text/csv'],
  replyHeaders: csvReplyHeaders,
  errors: 'problem',
  encode: (answer) =>
    'pages' in answer ? streamCsv(columns, answer) : ({ json: answer } satisfies Reply),
})
