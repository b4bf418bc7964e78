/** The endpoint that shows what decisions about many numbers would say, without making them. */

import { z } from 'zod'
import { describeProblem, truncate } from '../../errors.js'
import { defineEndpoint, singleScope } from '../endpoint.js'
import { fields, numberToText, toJsonSchema } from '../fields.js'
import { createValidationError } from '../validation-error.js'
import { decisionSchema } from './decision-body.js'
import { callFields, numberFields } from './decisions.js'

/** A request of this length takes the thread that decides calls a tenth of a second, in slices. */
export const maxPreviewNumbers = 1_000

const itemRule = 'must be text, or an object with number and postalCode'

/** Also a whole number, since clients send numbers as such. */
const previewNumber = z.preprocess(
  (value) => {
    const text = numberToText(value)
    return typeof text === 'string' ? { number: text } : value
  },
  z.custom((value) => value?.constructor === Object, itemRule).pipe(fields(numberFields)),
)

export interface PreviewNumber {
  /** As dialed; of an item that has no number as text, the item itself. */
  readonly dialed: string
  readonly postalCode?: string | undefined
  /** Why no decision could be requested for it. */
  readonly problem?: string
}

/** Reads an item of `numbers`, which is valid by itself or not. */
export function readPreviewNumber(value: unknown): PreviewNumber {
  const read = previewNumber.safeParse(value, { reportInput: true })
  if (read.success) return { dialed: read.data.number, postalCode: read.data.postalCode }
  const { problems } = createValidationError(read.error)
  const problem = problems.map(({ field, ...rest }) =>
    field === '' ? rest.rule : describeProblem({ field, ...rest }),
  )
  return { dialed: truncate(findSentText(value)), problem: problem.join('; ') }
}

function findSentText(value: unknown): string {
  if (typeof value === 'string') return value
  const isObject = typeof value === 'object' && value !== null && 'number' in value
  return isObject && typeof value.number === 'string' ? value.number : JSON.stringify(value)
}

const listRule =
  'is required and must be a list of numbers, or of objects with number and postalCode'

const previewRequest = fields({
  numbers: z
    .array(z.unknown(), listRule)
    .min(1, 'must have at least 1 number')
    .max(
      maxPreviewNumbers,
      `must have at most ${maxPreviewNumbers} numbers; send several requests, or use the command ` +
        'callgate preview for a file',
    )
    .meta({ items: { anyOf: [{ type: 'string' }, toJsonSchema(fields(numberFields))] } }),
  ...callFields,
})

export type PreviewRequest = z.output<typeof previewRequest>

export const previewRowSchema = decisionSchema
  .pick({
    dialed: true,
    number: true,
    postalCode: true,
    decision: true,
    reason: true,
    message: true,
    nextAllowedAt: true,
    nextAllowedAtLatest: true,
  })
  .extend({
    callingHours: z
      .string()
      .optional()
      .describe(
        'The rule for the hours of that day where the number is, with its citation; absent if there is none for it',
      ),
  })

const previewSchema = z.object({
  allowed: z.number(),
  blocked: z.number(),
  reasons: z.record(z.string(), z.number()).describe('How many rows have each reason'),
  rows: z
    .array(previewRowSchema)
    .readonly()
    .describe('One row for each number, in the order of the request'),
})

export type PreviewBody = z.output<typeof previewSchema>

export const previewEndpoint = defineEndpoint({
  name: 'preview',
  summary:
    'What decisions about a list of numbers would say now, or at an instant. Nothing is recorded or ' +
    'counted, and no call may be placed because of it.',
  spec: 'the gate',
  method: 'POST',
  paths: ['/v1/decisions/preview'],
  accepts: ['json'],
  keyAlsoIn: [],
  rights: ['decide'],
  scopes: singleScope,
  callKind: ({ callKind }: PreviewRequest) => callKind,
  countNumbers: ({ numbers }: PreviewRequest) => numbers.length,
  request: previewRequest,
  response: previewSchema,
  otherStatuses: { 429: 'Too many concurrent bulk calls' },
  errors: 'problem',
})
