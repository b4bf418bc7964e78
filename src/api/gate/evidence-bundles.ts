/** The endpoints of evidence bundles: they are packed by a job of the server that was asked, and fetched when they are done. */
import { z } from 'zod'
import { parsePhoneNumber } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { defineEndpoint, maxSmallBodyBytes, type StreamedReply } from '../endpoint.js'
import { fields, instant } from '../fields.js'
import { instant as instantText } from './decision-body.js'

const bundleStates = ['waiting', 'packing', 'done', 'failed', 'interrupted'] as const

const bundle = z
  .object({
    id: z.string(),
    state: z
      .enum(bundleStates)
      .describe(
        'One is packed at a time. `interrupted`: the server was stopped meanwhile; ask again',
      ),
    number: z.string().nullable().describe('What it is about; null for all of a period'),
    from: instantText.nullable(),
    to: instantText.nullable(),
    reason: z.string(),
    askedBy: z.string().describe('As in the audit table, such as `key:<id>`'),
    askedAt: instantText,
    startedAt: instantText.nullable(),
    endedAt: instantText.nullable(),
    deletedAt: instantText.describe('When it will be deleted, with its file'),
    percent: z
      .int()
      .nullable()
      .describe('Of the journal that has been searched; while it is packed'),
    problem: z.string().nullable().describe('Why there is no file, and what to do'),
    origin: z
      .string()
      .nullable()
      .describe('The journal that it is from: that of the server that was asked'),
    bytes: z.int().nullable(),
    sha256: z.string().nullable(),
    decisions: z.int().nullable(),
    records: z.int().nullable().describe('Of decisions and of what they rest on'),
    leftOut: z
      .enum(['settings', 'others'])
      .nullable()
      .describe(
        '`settings`: the settings of the server, which only an Administrator of account main may see. `others`, for another ' +
          'account than main: all that is of the server and of other accounts, so that it has the entries of its own records alone',
      ),
  })
  .meta({ id: 'EvidenceBundle' })

export type BundleBody = z.output<typeof bundle>

const common = {
  spec: 'none; callgate only',
  keyAlsoIn: [],
  rights: ['decide', 'records', 'consent'],
  // Of all projects; the handler refuses keys that are limited to some.
  scopes: 'none',
  errors: 'problem',
} as const

const maxReasonLength = 500
const reasonRule = `is required and must have at most ${maxReasonLength} characters`
const reason = z
  .string(reasonRule)
  .transform((text) => text.trim())
  .pipe(z.string().min(1, reasonRule).max(maxReasonLength, reasonRule))
  .describe('What for; kept in the audit')

const id = z.string().max(64, 'must not be longer than 64 characters')

export interface BundleRequest {
  readonly number?: string | undefined
  readonly from?: Instant | undefined
  readonly to?: Instant | undefined
  readonly reason: string
}

const request: z.ZodType<BundleRequest> = fields({
  number: z
    .string()
    .transform((text, context) => {
      const number = parsePhoneNumber(text)
      if (number !== undefined) return number
      context.addIssue('must be a number with ten digits')
      return z.NEVER
    })
    .optional()
    .describe('What the account has about it; needed without from and to'),
  from: instant.optional().describe('Decisions recorded then or later'),
  to: instant.optional().describe('Decisions recorded before'),
  reason,
}).superRefine(({ number, from, to }, context) => {
  const needed = 'is needed: a number, or from and to'
  if (number === undefined && from === undefined && to === undefined) {
    context.addIssue({ code: 'custom', path: ['number'], message: needed, input: '' })
  } else if (number === undefined && (from === undefined || to === undefined)) {
    const path = [from === undefined ? 'from' : 'to']
    context.addIssue({ code: 'custom', path, message: needed, input: '' })
  } else if (from !== undefined && to !== undefined && from >= to) {
    context.addIssue({ code: 'custom', path: ['to'], message: 'must be after from' })
  }
})

export const askBundleEndpoint = defineEndpoint({
  ...common,
  name: 'evidence-ask',
  summary:
    'Asks for an evidence bundle: what the journal of this server has about a number or a period of the account, with what it rests ' +
    'on, in a zip file that others can check. A job packs it. The key needs role Supervisor or Administrator and no limit to projects.',
  method: 'POST',
  paths: ['/v1/evidence'],
  accepts: ['json'],
  maxBodyBytes: maxSmallBodyBytes,
  successStatus: 202,
  otherStatuses: { 409: 'The account has as many bundles as are kept, or as may wait' },
  request,
  response: bundle,
  encode: (json) => ({ json, status: 202 }),
})

export const listBundlesEndpoint = defineEndpoint({
  ...common,
  name: 'evidence-bundles',
  summary:
    'The evidence bundles that the account has asked this server for, the newest first, at most 20. Each server has those of its own journal.',
  method: 'GET',
  paths: ['/v1/evidence'],
  accepts: ['query'],
  request: fields({}),
  response: z.object({ bundles: z.array(bundle).readonly() }),
})

export const readBundleEndpoint = defineEndpoint({
  ...common,
  name: 'evidence-bundle',
  summary: 'One evidence bundle: how far it is, and what it has.',
  method: 'GET',
  paths: ['/v1/evidence/:id'],
  accepts: ['query'],
  otherStatuses: { 404: 'This server has no such bundle of the account' },
  request: fields({ id }),
  response: bundle,
})

export interface BundleFile extends Pick<StreamedReply, 'parts'> {
  readonly name: string
  readonly bytes: number
}

export const bundleFileEndpoint = defineEndpoint({
  ...common,
  name: 'evidence-file',
  summary: 'The zip file of an evidence bundle. The download is recorded.',
  method: 'GET',
  paths: ['/v1/evidence/:id/file'],
  accepts: ['query'],
  otherStatuses: {
    404: 'This server has no such bundle of the account',
    409: 'It is not done; its state says why',
  },
  request: fields({ id }),
  response: z.custom<BundleFile>().meta({ type: 'string', format: 'binary' }),
  replyTypes: ['application/zip'],
  replyHeaders: { 'Content-Disposition': 'A name for the file, without the number' },
  encode: ({ name, bytes, parts }) => ({
    parts,
    trailerNames: [],
    trailers: () => ({}),
    contentType: 'application/zip',
    headers: {
      'Content-Disposition': `attachment; filename="${name}"`,
      'Content-Length': String(bytes),
    },
  }),
})

export const deleteBundleEndpoint = defineEndpoint({
  ...common,
  name: 'evidence-delete',
  summary: 'Deletes an evidence bundle and its file; one that is being packed is canceled.',
  method: 'POST',
  paths: ['/v1/evidence/:id/delete'],
  accepts: ['json'],
  maxBodyBytes: maxSmallBodyBytes,
  otherStatuses: { 404: 'This server has no such bundle of the account' },
  request: fields({ id, reason }),
  response: z.object({ deleted: z.literal(true) }),
})
