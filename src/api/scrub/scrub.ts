/** The scrub endpoints (spec, "Scrub") and their requests; rows are in `scrub-row.ts`. */
import { z } from 'zod'
import {
  type Caller,
  defaultMaxScrubNumbers,
  defaultScrubLimits,
  maxScrubNumbers,
} from '../../domain/caller.js'
import { repairZip } from '../../domain/place.js'
import { type ScrubItem, type ScrubVersion, scrubVersions } from '../../domain/scrub-row.js'
import { invalidRequest } from '../../errors.js'
import { mapInSlices } from '../../runtime/yield-to-event-loop.js'
import {
  defineEndpoint,
  type Endpoint,
  type RequiredRight,
  singleScope,
  type WireRequest,
} from '../endpoint.js'
import { fields, type NumberListLimit, optionalEnum, optionalId, phoneList } from '../fields.js'
import {
  countRecordNumbers,
  type EbrWireRecord,
  pickRecords,
  recordFields,
} from '../records/ebr-record.js'
import { createScrubReply, type ScrubRows, scrubReplyHeaders } from './scrub-reply.js'
import { wireScrubRow } from './scrub-row.js'

export interface ScrubRequest {
  readonly items: readonly ScrubItem[]
  readonly version: ScrubVersion
  readonly output: 'json' | 'csv'
  readonly projectId: string | undefined
  readonly campaignId: string | undefined
  /** Records to store before the numbers are scrubbed. */
  readonly relationships?: ScrubRecords | undefined
}

interface ScrubRecords {
  readonly records: readonly EbrWireRecord[]
  /** Keep an existing record that expires later than the new one. */
  readonly keepBetterEbr: boolean
}

const defaultScrubVersion: ScrubVersion = 5
/** Old clients send a path version such as `v1.2` in this field; they get the default version. */
const pathVersionPattern = /^v1\.[2-5]$/i
const versionRule = `must be a whole number from 1 to ${scrubVersions.length}`

const version = z
  .union([z.string(), z.number()], versionRule)
  .nullish()
  .transform((value, context): ScrubVersion => {
    const text = String(value ?? '').trim()
    if (text === '') return defaultScrubVersion
    if (pathVersionPattern.test(text)) return defaultScrubVersion
    const known = scrubVersions.find((number) => String(number) === text)
    if (known !== undefined) return known
    context.addIssue(versionRule)
    return z.NEVER
  })

/** `phone|id|postal`, the latter two optional; with more parts the item is an invalid number. */
function parseItem(text: string): ScrubItem {
  const [phone = '', reserved = '', postalCode = '', ...more] = text.split('|')
  return {
    phone: more.length > 0 ? text : phone.trim(),
    reserved,
    postalCode: repairZip(postalCode.trim()) || undefined,
  }
}

/** The inverse of {@link parseItem}. Throws for parts that contain a comma or bar, the separators. */
function formatItem({ phone, reserved = '', postalCode = '' }: ScrubItem): string {
  const parts = [phone, reserved, postalCode]
  if (parts.some((part) => /[,|]/.test(part))) {
    throw new TypeError(
      'a scrub item contains a comma or a bar, which separate items and their parts',
    )
  }
  return parts.join('|').replace(/\|+$/, '')
}

function encodeScrubRequest({
  items,
  version: scrub,
  output,
  projectId,
  campaignId,
}: ScrubRequest): WireRequest {
  return {
    json: {
      phoneList: items.map(formatItem).join(','),
      version: String(scrub),
      output,
      ...(projectId !== undefined && { projId: projectId }),
      ...(campaignId !== undefined && { campaignId }),
    },
  }
}

const requestFields = (limit: NumberListLimit) => ({
  phoneList: phoneList(limit).describe(
    'Numbers of 10 digits separated by commas; each may be `phone|your id|postal code`',
  ),
  version: version.describe('1 to 8; 5 when absent. 8 adds the three IsCallAllowed flags'),
  output: optionalEnum(['csv', 'json'], 'csv'),
  projId: optionalId.describe('Project; the Master Project when absent'),
  campaignId: optionalId.describe("Campaign; the project's default campaign when absent"),
})

type WireRequestFields = z.output<z.ZodObject<ReturnType<typeof requestFields>>>

async function parseRequest(wire: WireRequestFields): Promise<ScrubRequest> {
  return {
    items: await mapInSlices(wire.phoneList, parseItem),
    version: wire.version,
    output: wire.output,
    projectId: wire.projId,
    campaignId: wire.campaignId,
  }
}

/** Records in the request are stored first, all or none, so that the rows reflect them. */
const request = (limit: NumberListLimit) =>
  fields({ ...requestFields(limit), ...recordFields }).transform(
    async (wire, context): Promise<ScrubRequest> => {
      const records = pickRecords(wire, context)
      const scrub = await parseRequest(wire)
      if (!records) return scrub
      return { ...scrub, relationships: { records, keepBetterEbr: wire.keepBetterEBR } }
    },
  )

type ScrubEndpoint = Endpoint<ScrubRequest, ScrubRows>

const consentForRecords: RequiredRight<ScrubRequest> = {
  right: 'consent',
  condition: 'records are given',
  appliesTo: ({ relationships }) => relationships !== undefined,
}

const common = {
  spec: 'Scrub',
  paths: ['/app/main/rpc/scrub'],
  rights: ['look-up', consentForRecords],
  scopes: singleScope,
  rateClass: 'scrub',
  requiresCurrent: true,
  countNumbers: ({ items, relationships }) =>
    items.length + (relationships ? countRecordNumbers(relationships.records) : 0),
  /** The JSON form of version 8. */
  response: z.array(wireScrubRow),
  replyTypes: ['text/csv', 'application/json'],
  errors: 'text',
  replyHeaders: scrubReplyHeaders,
  encode: (rows, { request: { version, output, items } }) => {
    const isStreamed = items.length > defaultMaxScrubNumbers
    return createScrubReply(rows, { version, output, isStreamed })
  },
} satisfies Partial<ScrubEndpoint>

/** Published for at most 50 numbers; some clients send 100. */
export const scrubGet = defineEndpoint<ScrubRequest, ScrubRows>({
  ...common,
  name: 'scrub-get',
  summary: 'Whether numbers of a short list may be called, with the facts behind each result.',
  method: 'GET',
  accepts: ['query'],
  keyAlsoIn: ['query'],
  request: request({ max: 100, advice: ', the maximum with GET; use POST' }),
})

function requireMaxNumbers({ accountId, scrub }: Caller, { items }: ScrubRequest): void {
  const { maxNumbers } = scrub ?? defaultScrubLimits
  if (items.length <= maxNumbers) return
  const advice =
    maxNumbers < maxScrubNumbers
      ? `; the operator can raise it: callgate accounts set ${accountId} --numbers-per-scrub <n>`
      : ''
  const rule = `has more than ${maxNumbers} numbers, the maximum of account ${accountId}${advice}`
  throw invalidRequest([{ field: 'phoneList', rule }])
}

/** At most 10,000 numbers, or the limit of the account, as a form or JSON. */
export const scrubPost = defineEndpoint<ScrubRequest, ScrubRows>({
  ...common,
  name: 'scrub-post',
  summary: 'Whether numbers of a long list may be called.',
  method: 'POST',
  accepts: ['query', 'json', 'form', 'multipart'],
  keyAlsoIn: ['query', 'json', 'form', 'multipart'],
  usesServiceThread: 'when-long',
  requireAccountLimits: requireMaxNumbers,
  request: request({ max: maxScrubNumbers }),
  encodeRequest: encodeScrubRequest,
})
