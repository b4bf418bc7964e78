/** The litigator check on the wire (spec, "Litigator check"), all versions alike. */
import { z } from 'zod'
import { asPhoneNumber, type PhoneNumber, phoneNumber } from '../domain/phone-number.js'
import { mapInSlices } from '../domain/slices.js'
import {
  type Endpoint,
  endpoint,
  listBodyBytes,
  oneScope,
  versionedPaths,
  type WireRequest,
} from './endpoint.js'
import { fields, type NumberLimit, optionalId, optionalWord, phoneList } from './fields.js'

export interface LitigatorRequest {
  /** As given, trimmed; a malformed one fails the request, which is the subject's to say. */
  readonly numbers: readonly string[]
  readonly projectId: string | undefined
  readonly campaignId: string | undefined
  readonly outputFormat: (typeof outputFormats)[number]
}

/** One row per number, in the order of the request. */
export interface LitigatorRow {
  readonly phone: PhoneNumber
  readonly isLitigator: boolean
}

const outputFormats = ['JsonArray', 'JsonObject'] as const

const paths = versionedPaths('/v1.5', '/Scrub/litigator')

function request(limit: NumberLimit): z.ZodType<LitigatorRequest> {
  return fields({
    PhoneList: phoneList(limit),
    CampaignId: optionalId,
    ProjId: optionalId,
    OutputFormat: optionalWord(outputFormats, 'JsonArray'),
  }).transform((wire) => ({
    numbers: wire.PhoneList,
    projectId: wire.ProjId,
    campaignId: wire.CampaignId,
    outputFormat: wire.OutputFormat,
  }))
}

function send(asked: LitigatorRequest): WireRequest {
  const { numbers, projectId, campaignId, outputFormat } = asked
  return {
    json: {
      PhoneList: numbers.join(','),
      ...(campaignId !== undefined && { CampaignId: campaignNumber(campaignId) }),
      ...(projectId !== undefined && { ProjId: projectId }),
      ...(outputFormat !== 'JsonArray' && { OutputFormat: outputFormat }),
    },
  }
}

/** The spec wants an integer; an id that would not survive as one stays text. */
function campaignNumber(id: string): number | string {
  const number = Number(id)
  return Number.isSafeInteger(number) && number >= 0 && String(number) === id ? number : id
}

const phoneRule = 'must be a whole number of 10 digits'

/** Reads one row (spec, "Litigator result"). */
export const wireLitigatorRow = z
  .object({
    Phone: z
      .int(phoneRule)
      .refine((digits) => asPhoneNumber(String(digits)) !== undefined, phoneRule),
    IsLitigator: z.boolean('must be true or false'),
  })
  .transform(
    (wire): LitigatorRow => ({
      phone: phoneNumber(String(wire.Phone)),
      isLitigator: wire.IsLitigator,
    }),
  )

const response = z.union([
  z.array(wireLitigatorRow),
  z.object({ Response: z.array(wireLitigatorRow) }).transform(({ Response }) => Response),
])

type LitigatorEndpoint = Endpoint<LitigatorRequest, readonly LitigatorRow[]>

const encode: NonNullable<LitigatorEndpoint['encode']> = async (
  rows,
  { request: { outputFormat } },
) => {
  const wire = await mapInSlices(rows, ({ phone, isLitigator }) => ({
    Phone: Number(phone),
    IsLitigator: isLitigator,
  }))
  return { json: outputFormat === 'JsonObject' ? { Response: wire } : wire }
}

/** At most 100 numbers; longer lists go by POST. */
export const litigatorGet = endpoint<LitigatorRequest, readonly LitigatorRow[]>({
  name: 'litigator-get',
  summary: 'Which of a few numbers belong to known litigators.',
  spec: 'Litigator check',
  method: 'GET',
  paths,
  rate: 'litigator',
  numbers: ({ numbers }) => numbers.length,
  accepts: ['query'],
  keyAlsoIn: ['query'],
  rights: ['look-up'],
  scopes: oneScope,
  request: request({ most: 100, advice: ', the most with GET; use POST' }),
  response,
  outcomes: { 503: 'No litigator list is loaded' },
  errors: 'problem',
  encode,
})

/** At most 10,000 numbers (spec, "Limits"). */
export const litigatorPost = endpoint<LitigatorRequest, readonly LitigatorRow[]>({
  name: 'litigator-post',
  summary: 'Which numbers of a list belong to known litigators.',
  spec: 'Litigator check',
  method: 'POST',
  paths,
  rate: 'litigator',
  numbers: ({ numbers }) => numbers.length,
  accepts: ['json'],
  maxBodyBytes: listBodyBytes,
  keyAlsoIn: ['json'],
  rights: ['look-up'],
  scopes: oneScope,
  request: request({ most: 10_000 }),
  send,
  response,
  outcomes: { 503: 'No litigator list is loaded' },
  errors: 'problem',
  encode,
})
