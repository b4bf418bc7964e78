/**
 * Relationship and consent records on the wire: `ebr` (spec, "Existing business relationship and
 * consent"). What a record must hold is the subject's to say.
 */
import { z } from 'zod'
import { type EbrWireRecord, numbersInRecords, readRecords, recordFields } from './ebr-record.js'
import { endpoint, oneScope, type Reply, type ReplyContext } from './endpoint.js'
import { fields, optionalId } from './fields.js'
import { warningHeaders, warningReplyHeader } from './warnings.js'

export interface EbrRequest {
  /** Keep a record that expires later than the new one. */
  readonly keepBetterEbr: boolean
  /** Extension to the spec: whose records they become; absent means the Master Project's. */
  readonly projectId: string | undefined
  /** Implies its project. */
  readonly campaignId: string | undefined
  readonly records: readonly EbrWireRecord[]
}

/** All records are on disk. */
export interface EbrAnswer {
  readonly success: true
  /** Of records that cannot act; they travel in a header, since the body has a published form. */
  readonly warnings?: readonly string[] | undefined
}

const request = fields({
  ...recordFields,
  projId: optionalId,
  campaignId: optionalId,
}).transform((wire, context): EbrRequest => {
  const records = readRecords(wire, context)
  if (!records) {
    const message = 'is required and must not be null'
    context.addIssue({ code: 'custom', path: ['ebrList'], message, input: wire.ebrList })
  }
  return {
    keepBetterEbr: wire.keepBetterEBR,
    projectId: wire.projId,
    campaignId: wire.campaignId,
    records: records ?? [],
  }
})

/** JSON as the spec has it; the form and the address as the older clients read success: by the status. */
export function ebrReply(
  { success, warnings = [] }: EbrAnswer,
  { jsonRequested }: Pick<ReplyContext<unknown>, 'jsonRequested'>,
): Reply {
  const headers = warningHeaders(warnings)
  return jsonRequested ? { json: { success }, headers } : { text: '', headers }
}

/** Records as a JSON list, or in columns as a form or in the address. */
export const ebrPost = endpoint<EbrRequest, EbrAnswer>({
  name: 'ebr',
  summary: 'Stores business relationships and consents.',
  spec: 'Existing business relationship and consent',
  method: 'POST',
  paths: ['/app/main/rpc/ebr'],
  accepts: ['query', 'json', 'form', 'multipart'],
  keyAlsoIn: ['query', 'json', 'form', 'multipart'],
  rights: ['consent'],
  scopes: oneScope,
  rate: 'ebr',
  numbers: ({ records }) => numbersInRecords(records),
  request,
  response: z.object({ success: z.literal(true) }),
  errors: 'text',
  replyHeaders: warningReplyHeader,
  replyTypes: ['application/json', 'text/plain'],
  encode: (answer, context) => ebrReply(answer, context),
})
