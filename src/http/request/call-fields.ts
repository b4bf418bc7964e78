/** What a request for a decision says: its body and address. */
import type { IncomingMessage } from 'node:http'
import { type Endpoint, getMaxBodyBytes } from '../../api/endpoint.js'
import type { DecisionRequest } from '../../api/gate/decisions.js'
import type { Caller } from '../../domain/caller.js'
import { parseDialString } from '../../domain/phone-number.js'
import { invalidRequest } from '../../errors.js'
import { extractKey } from '../authenticate.js'
import { refuseQueryFields } from '../route-handler.js'
import { type BodyFields, parseBodyFields, readBody } from './read-body.js'
import { mergeFields, type RawFields, readQuery } from './read-fields.js'

/** The endpoint that was asked. */
type CallEndpoint = Omit<Endpoint<DecisionRequest, unknown>, 'encode'>

export type Pairs = readonly (readonly [name: string, value: unknown])[]

/** The body as sent, or why it could not be read. */
export interface ReceivedBody {
  readonly bytes?: Buffer
  readonly refusal?: unknown
}

export async function receiveBody(
  request: IncomingMessage,
  endpoint: CallEndpoint,
  maxBodyBytes: number,
): Promise<ReceivedBody> {
  if (endpoint.method === 'GET') return {}
  const maxBytes = getMaxBodyBytes(endpoint, maxBodyBytes)
  try {
    return { bytes: await readBody(request, { maxBytes }) }
  } catch (refusal) {
    return { refusal }
  }
}

/** The fields of a body, or why it could not be read. */
type CallBody = BodyFields & Pick<ReceivedBody, 'refusal'>

export async function readFieldsOf(
  { headers }: IncomingMessage,
  { bytes, refusal }: ReceivedBody,
  { accepts }: CallEndpoint,
): Promise<CallBody> {
  const none = { form: undefined, fields: {} }
  if (bytes === undefined) return { ...none, refusal }
  try {
    return await parseBodyFields(bytes, headers['content-type'] ?? '', { accepts })
  } catch (unreadable) {
    return { ...none, refusal: unreadable }
  }
}

/**
 * The service code that every field `number` holds, blank ones aside; two different numbers are no
 * emergency. No field has a name with a digit of any script: that is what a dialed
 * `911&PJSIP/2125550105` leaves of its second number.
 */
export function findServiceCode(
  pairs: Pairs,
  serviceCodes: ReadonlySet<string>,
): string | undefined {
  const codes = new Set<string | undefined>()
  for (const [name, value] of pairs) {
    if (/\p{N}/u.test(name)) return undefined
    if (name.toLowerCase() !== 'number' || value === '' || value === null) continue
    // JSON has numbers too. The point and the sign of one do not separate its digits as in text.
    const isText = typeof value === 'string' || (Number.isSafeInteger(value) && Number(value) > 0)
    const dialed = parseDialString(isText ? String(value) : '', serviceCodes)
    codes.add(dialed.kind === 'service-code' ? dialed.code : undefined)
  }
  return codes.size === 1 ? [...codes][0] : undefined
}

/** Throws a refusal for one that is malformed, or where there is none. */
export function readIdempotencyKey(
  { headers }: IncomingMessage,
  isPossible: boolean,
): string | undefined {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (isPossible && /^[!-~]{1,128}$/.test(String(key))) return String(key)
  const rule = isPossible
    ? 'must be 1 to 128 visible ASCII characters without spaces'
    : 'is not for permits; leave it out'
  throw invalidRequest([{ field: 'Idempotency-Key', value: String(key), rule }])
}

/** The fields of body and address without the key. Throws a refusal for one that is given twice. */
export function readFields(
  request: IncomingMessage,
  { accepts, keyAlsoIn }: CallEndpoint,
  { form, fields }: CallBody,
): RawFields {
  const inBody = form !== undefined && keyAlsoIn.includes(form) ? extractKey(fields).rest : fields
  if (!request.url?.includes('?')) return inBody
  const query = readQuery(request)
  const inAddress = keyAlsoIn.includes('query') ? extractKey(query).rest : query
  if (!accepts.includes('query')) refuseQueryFields(inAddress)
  return mergeFields([inAddress, inBody])
}

/** A key for one kind of call need not name it. */
export function withCallKind(
  fields: RawFields,
  { limits: { callKinds } }: Caller,
  via: 'http' | 'predial',
): RawFields {
  const name = via === 'http' ? 'callKind' : 'kind'
  if (callKinds === 'any' || callKinds.length !== 1 || fields[name] !== undefined) return fields
  const [kind] = callKinds
  return { ...fields, [name]: kind }
}
