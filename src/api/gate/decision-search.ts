/** The endpoint that lists the decisions of an account. */
import { z } from 'zod'
import { reasonCodes } from '../../domain/checks.js'
import { callKinds, maxReferenceLength } from '../../domain/decision.js'
import { formatInstant } from '../../domain/time/dates.js'
import { type CsvColumns, type CsvExport, csvReplyHeaders, maxCsvRows, streamCsv } from '../csv.js'
import { defineEndpoint, type Reply } from '../endpoint.js'
import { fields, instant, optionalEnum, optionalId, optionalText } from '../fields.js'
import {
  type DecisionRecordBody,
  decisionRecordSchema,
  instant as instantText,
} from './decision-body.js'

const maxLimit = 200
const defaultLimit = 50
/** Of one answer as CSV. */

export const vias = ['http', 'predial', 'asterisk', 'check'] as const

export const oneOf = <const Word extends string>(words: readonly Word[]) =>
  z.enum(words, `must be one of ${words.join(', ')}`).optional()

const searchFields = fields({
  number: z
    .string()
    .regex(/^\d{2,15}$/, 'must be ten digits, or those of a service code')
    .optional(),
  from: instant.optional().describe('The earliest instant'),
  to: instant.optional().describe('The first instant that is too late'),
  decision: oneOf(['allow', 'block']),
  reason: oneOf(reasonCodes),
  kind: oneOf(callKinds),
  project: optionalId.describe(
    'Code of a project; the decisions without project and campaign are of the Master Project',
  ),
  via: oneOf(vias).describe('How the decision was asked for'),
  reference: optionalText(maxReferenceLength).describe('Exactly this one'),
  key: optionalText(64).describe('Id of an API key'),
  cursor: optionalText(200).describe('Of the page before, with the same filters'),
  limit: z
    .string()
    .regex(/^\d{1,3}$/, `must be a whole number from 1 to ${maxLimit}`)
    .transform(Number)
    .refine((count) => count >= 1 && count <= maxLimit, {
      error: `must be a whole number from 1 to ${maxLimit}`,
    })
    .default(defaultLimit)
    .describe(`How many on a page at most; as CSV, pages follow each other`),
  output: optionalEnum(['json', 'csv'], 'json'),
})

const request = searchFields.transform(
  ({ cursor, limit, output, kind, project, key, ...filter }, context) => {
    const { from, to } = filter
    if (from !== undefined && to !== undefined && from >= to) {
      const rule = 'must be after from'
      context.addIssue({ code: 'custom', path: ['to'], message: rule, input: formatInstant(to) })
    }
    return {
      filter: { ...filter, callKind: kind, projectId: project, keyId: key },
      cursor,
      limit,
      output,
    }
  },
)

export type DecisionSearchRequest = z.output<typeof request>

const page = z.object({
  decisions: z.array(decisionRecordSchema).readonly().describe('Newest first, without what-ifs'),
  nextCursor: z
    .string()
    .optional()
    .describe(
      'For the next page; absent after the last one. A page with fewer decisions than its limit, or none, may have one: ' +
        'more would have taken too long',
    ),
  searchedBackTo: instantText
    .optional()
    .describe('All decisions after it were searched; present if nextCursor is'),
  completeUntil: instantText.describe(
    'Of the decisions recorded before it, none is missing; later ones may be',
  ),
  removedBefore: instantText
    .optional()
    .describe('Older decisions were removed after journal.keepYears'),
})

export type DecisionSearchBody = z.output<typeof page>

/** Of one record as CSV. */
export const decisionColumns = {
  id: ({ id }) => id,
  decidedAt: ({ decidedAt }) => decidedAt,
  decision: ({ decision }) => decision,
  reason: ({ reason }) => reason,
  message: ({ message }) => message,
  number: ({ number }) => number,
  dialed: ({ dialed }) => dialed,
  callKind: ({ callKind }) => callKind,
  purpose: ({ purpose }) => purpose,
  projectId: ({ projectId }) => projectId,
  campaignId: ({ campaignId }) => campaignId,
  callerId: ({ callerId }) => callerId,
  reference: ({ reference }) => reference,
  keyId: ({ keyId }) => keyId,
  via: ({ via }) => via,
  erased: ({ erased }) => (erased ? 'true' : undefined),
  outcome: ({ outcome }) => outcome?.state,
  dialledAt: ({ outcome }) => outcome?.dialledAt,
  answeredAt: ({ outcome }) => outcome?.answeredAt,
  endedAt: ({ outcome }) => outcome?.endedAt,
} satisfies CsvColumns<DecisionRecordBody>

export type DecisionExport = CsvExport<DecisionRecordBody>

export const searchDecisionsEndpoint = defineEndpoint<
  DecisionSearchRequest,
  DecisionSearchBody | DecisionExport
>({
  name: 'decisions',
  summary:
    'The decisions of the account, newest first, a page at a time, only those that the key may ask for. With output=csv, ' +
    `up to ${maxCsvRows.toLocaleString('en')} in one answer.`,
  spec: 'the gate',
  method: 'GET',
  paths: ['/v1/decisions'],
  accepts: ['query'],
  usesServiceThread: 'always',
  keyAlsoIn: [],
  rights: ['decide'],
  // Without a project it finds those of all that the key may use.
  scopes: ({ filter: { projectId } }) => (projectId === undefined ? [] : [{ projectId }]),
  callKind: ({ filter }) => filter.callKind,
  request,
  response: page,
  replyTypes: ['application/json', 'text/csv'],
  replyHeaders: csvReplyHeaders,
  errors: 'problem',
  encode: (answer) =>
    'pages' in answer ? streamCsv(decisionColumns, answer) : ({ json: answer } satisfies Reply),
})
