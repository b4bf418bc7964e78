/** The scrub call on the wire (spec, "Scrub"): request and endpoints; rows are in `scrub-row.ts`. */
import { z } from 'zod'
import { type Caller, mostScrubNumbers, publishedScrubTerms } from '../domain/caller.js'
import { type ScrubItem, type ScrubVersion, scrubVersions } from '../domain/scrub-row.js'
import { mapInSlices } from '../domain/slices.js'
import { invalidRequest } from '../errors.js'
import { type EbrWireRecord, numbersInRecords, readRecords, recordFields } from './ebr-record.js'
import {
  type Endpoint,
  endpoint,
  type NeededRight,
  oneScope,
  type WireRequest,
} from './endpoint.js'
import { fields, type NumberLimit, optionalId, optionalWord, phoneList } from './fields.js'
import { type ScrubRows, scrubReply, scrubReplyHeaders } from './scrub-reply.js'
import { wireScrubRow } from './scrub-row.js'

export interface ScrubRequest {
  readonly items: readonly ScrubItem[]
  readonly version: ScrubVersion
  readonly output: 'json' | 'csv'
  readonly projectId: string | undefined
  readonly campaignId: string | undefined
  /** Records to store before the numbers are judged. */
  readonly relationships?: Relationships | undefined
}

export interface Relationships {
  readonly records: readonly EbrWireRecord[]
  /** Keep a record that expires later than the new one. */
  readonly keepBetterEbr: boolean
}

const defaultVersion: ScrubVersion = 5
/** Old clients send the version of another call's path, `v1.2`, and mean the usual form. */
const versionOfPaths = /^v1\.[2-5]$/i
const versionRule = `must be a whole number from 1 to ${scrubVersions.length}`

const version = z
  .union([z.string(), z.number()], versionRule)
  .nullish()
  .transform((value, context): ScrubVersion => {
    const text = String(value ?? '').trim()
    if (text === '') return defaultVersion
    if (versionOfPaths.test(text)) return defaultVersion
    const found = scrubVersions.find((one) => String(one) === text)
    if (found !== undefined) return found
    context.addIssue(versionRule)
    return z.NEVER
  })

/** `phone|id|postal`, the latter two optional; with still more parts it is no number at all. */
function readItem(text: string): ScrubItem {
  const [phone = '', reserved = '', postalCode = '', ...more] = text.split('|')
  return {
    phone: more.length > 0 ? text : phone.trim(),
    reserved,
    postalCode: postalCode.trim() || undefined,
  }
}

/** The inverse of {@link readItem}. A comma or bar would make one item two, or move a part. */
function writeItem({ phone, reserved = '', postalCode = '' }: ScrubItem): string {
  const parts = [phone, reserved, postalCode]
  if (parts.some((part) => /[,|]/.test(part))) {
    throw new TypeError('a scrub item holds a comma or a bar, which separate items and their parts')
  }
  return parts.join('|').replace(/\|+$/, '')
}

function send({ items, version: asked, output, projectId, campaignId }: ScrubRequest): WireRequest {
  return {
    json: {
      phoneList: items.map(writeItem).join(','),
      version: String(asked),
      output,
      ...(projectId !== undefined && { projId: projectId }),
      ...(campaignId !== undefined && { campaignId }),
    },
  }
}

const question = (limit: NumberLimit) => ({
  phoneList: phoneList(limit).describe(
    'Numbers of 10 digits separated by commas; each may be `phone|your id|postal code`',
  ),
  version: version.describe('1 to 8; 5 when absent. 8 adds the three IsCallAllowed flags'),
  output: optionalWord(['csv', 'json'], 'csv'),
  projId: optionalId.describe('Project; the Master Project when absent'),
  campaignId: optionalId.describe("Campaign; the project's default campaign when absent"),
})

type WireQuestion = z.output<z.ZodObject<ReturnType<typeof question>>>

async function readQuestion(wire: WireQuestion): Promise<ScrubRequest> {
  return {
    items: await mapInSlices(wire.phoneList, readItem),
    version: wire.version,
    output: wire.output,
    projectId: wire.projId,
    campaignId: wire.campaignId,
  }
}

/** Records that are given are stored first, all or none, and the rows then know them. */
const request = (limit: NumberLimit) =>
  fields({ ...question(limit), ...recordFields }).transform(
    async (wire, context): Promise<ScrubRequest> => {
      const records = readRecords(wire, context)
      const asked = await readQuestion(wire)
      if (!records) return asked
      return { ...asked, relationships: { records, keepBetterEbr: wire.keepBetterEBR } }
    },
  )

type ScrubEndpoint = Endpoint<ScrubRequest, ScrubRows>

const consentForRecords: NeededRight<ScrubRequest> = {
  right: 'consent',
  when: 'records are given',
  applies: ({ relationships }) => relationships !== undefined,
}

const common = {
  spec: 'Scrub',
  paths: ['/app/main/rpc/scrub'],
  rights: ['look-up', consentForRecords],
  scopes: oneScope,
  rate: 'scrub',
  numbers: ({ items, relationships }) =>
    items.length + (relationships ? numbersInRecords(relationships.records) : 0),
  /** The JSON form of version 8. */
  response: z.array(wireScrubRow),
  replyTypes: ['text/csv', 'application/json'],
  errors: 'text',
  replyHeaders: scrubReplyHeaders,
  encode: (rows, { request }) => scrubReply(rows, request),
} satisfies Partial<ScrubEndpoint>

/** Published for 50 numbers at most; some clients send 100. */
export const scrubGet = endpoint<ScrubRequest, ScrubRows>({
  ...common,
  name: 'scrub-get',
  summary: 'Whether a few numbers may be called, with the facts behind it.',
  method: 'GET',
  accepts: ['query'],
  keyAlsoIn: ['query'],
  request: request({ most: 100, advice: ', the most with GET; use POST' }),
})

function requireMostNumbers({ accountId, scrub }: Caller, { items }: ScrubRequest): void {
  const { mostNumbers } = scrub ?? publishedScrubTerms
  if (items.length <= mostNumbers) return
  const advice =
    mostNumbers < mostScrubNumbers
      ? `; its operator may allow more: callgate accounts set ${accountId} --numbers-per-scrub <n>`
      : ''
  const rule = `holds more than ${mostNumbers} numbers, the most of account ${accountId}${advice}`
  throw invalidRequest([{ field: 'phoneList', rule }])
}

/** At most 10,000 numbers, or as many as the account may send, as a form or JSON. */
export const scrubPost = endpoint<ScrubRequest, ScrubRows>({
  ...common,
  name: 'scrub-post',
  summary: 'The same for a list of numbers.',
  method: 'POST',
  accepts: ['query', 'json', 'form', 'multipart'],
  keyAlsoIn: ['query', 'json', 'form', 'multipart'],
  holdToAccount: requireMostNumbers,
  request: request({ most: mostScrubNumbers }),
  send,
})
