/** The litigator check in the API (spec, "Litigator check"), the same for all versions. */
import { z } from 'zod'
import { type PhoneNumber, parsePhoneNumber, toPhoneNumber } from '../../domain/phone-number.js'
import { mapInSlices } from '../../runtime/yield-to-event-loop.js'
import {
  defineEndpoint,
  type Endpoint,
  listVersionedPaths,
  maxListBodyBytes,
  singleScope,
  type WireRequest,
} from '../endpoint.js'
import { fields, type NumberListLimit, optionalEnum, optionalId, phoneList } from '../fields.js'
import { wireObject } from '../wire-object.js'

export interface LitigatorRequest {
  /** As sent, trimmed; the service rejects the request if one is malformed. */
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

const paths = listVersionedPaths('/v1.5', '/Scrub/litigator')

function request(limit: NumberListLimit): z.ZodType<LitigatorRequest> {
  return fields({
    PhoneList: phoneList(limit),
    CampaignId: optionalId,
    ProjId: optionalId,
    OutputFormat: optionalEnum(outputFormats, 'JsonArray'),
  }).transform((wire) => ({
    numbers: wire.PhoneList,
    projectId: wire.ProjId,
    campaignId: wire.CampaignId,
    outputFormat: wire.OutputFormat,
  }))
}

function encodeLitigatorRequest(request: LitigatorRequest): WireRequest {
  const { numbers, projectId, campaignId, outputFormat } = request
  return {
    json: {
      PhoneList: numbers.join(','),
      ...(campaignId !== undefined && { CampaignId: toCampaignNumber(campaignId) }),
      ...(projectId !== undefined && { ProjId: projectId }),
      ...(outputFormat !== 'JsonArray' && { OutputFormat: outputFormat }),
    },
  }
}

/** The spec requires an integer; an id that is not one is sent as text. */
function toCampaignNumber(id: string): number | string {
  const number = Number(id)
  return Number.isSafeInteger(number) && number >= 0 && String(number) === id ? number : id
}

const phoneRule = 'must be a whole number of 10 digits'

/** Spec, "Litigator result". */
export const wireLitigatorRow = wireObject({
  phone: [
    'Phone',
    z
      .int(phoneRule)
      .refine((digits) => parsePhoneNumber(String(digits)) !== undefined, phoneRule)
      .transform((digits) => toPhoneNumber(String(digits))),
    (phone) => Number(phone),
  ],
  isLitigator: ['IsLitigator', z.boolean('must be true or false')],
})

const rows = z.array(wireLitigatorRow.schema)

const response = z.union([rows, z.object({ Response: rows }).transform(({ Response }) => Response)])

type LitigatorEndpoint = Endpoint<LitigatorRequest, readonly LitigatorRow[]>

const encode: NonNullable<LitigatorEndpoint['encode']> = async (
  rows,
  { request: { outputFormat } },
) => {
  const wire = await mapInSlices(rows, wireLitigatorRow.write)
  return { json: outputFormat === 'JsonObject' ? { Response: wire } : wire }
}

/** At most 100 numbers; longer lists need POST. */
export const litigatorGet = defineEndpoint<LitigatorRequest, readonly LitigatorRow[]>({
  name: 'litigator-get',
  summary: 'Which numbers of a short list belong to known litigators.',
  spec: 'Litigator check',
  method: 'GET',
  paths,
  rateClass: 'litigator',
  requiresCurrent: true,
  countNumbers: ({ numbers }) => numbers.length,
  accepts: ['query'],
  keyAlsoIn: ['query'],
  rights: ['look-up'],
  scopes: singleScope,
  request: request({ max: 100, advice: ', the maximum with GET; use POST' }),
  response,
  otherStatuses: { 503: 'No litigator list is loaded' },
  errors: 'problem',
  encode,
})

/** At most 10,000 numbers (spec, "Limits"). */
export const litigatorPost = defineEndpoint<LitigatorRequest, readonly LitigatorRow[]>({
  name: 'litigator-post',
  summary: 'Which numbers of a list belong to known litigators.',
  spec: 'Litigator check',
  method: 'POST',
  paths,
  rateClass: 'litigator',
  requiresCurrent: true,
  countNumbers: ({ numbers }) => numbers.length,
  accepts: ['json'],
  maxBodyBytes: maxListBodyBytes,
  usesServiceThread: 'when-long',
  keyAlsoIn: ['json'],
  rights: ['look-up'],
  scopes: singleScope,
  request: request({ max: 10_000 }),
  encodeRequest: encodeLitigatorRequest,
  response,
  otherStatuses: { 503: 'No litigator list is loaded' },
  errors: 'problem',
  encode,
})
