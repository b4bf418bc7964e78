/** Reads the body of a request and writes it anew, so that callgate and the platform read the same. */
import type { IncomingMessage } from 'node:http'
import { getErrorMessage } from '../errors.js'
import { parseBodyForm, parseJsonBody } from '../http/request/read-body.js'
import { isObject, type JsonObject } from './platforms/platform.js'
import { Refusal } from './refusal.js'

const maxBodyBytes = 1_048_576

export interface EncodedBody {
  readonly contentType: string
  readonly text: string
}

/** Throws a refusal for a longer body, or if the sender goes away. */
export async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  try {
    for await (const part of request as AsyncIterable<Buffer>) {
      size += part.length
      if (size > maxBodyBytes) break
      parts.push(part)
    }
  } catch {
    throw new Refusal('unreadable-request', 'the connection ended before the body was complete')
  }
  if (size <= maxBodyBytes) return Buffer.concat(parts)
  throw new Refusal('unreadable-request', `the body is larger than ${maxBodyBytes} bytes`)
}

/** An empty body has no fields. */
export async function parseFields(
  bytes: Buffer,
  form: 'json' | 'form',
  contentType = '',
): Promise<JsonObject> {
  if (parseBodyForm(contentType) !== form) {
    const wanted = form === 'json' ? 'application/json' : 'application/x-www-form-urlencoded'
    const advice = /protobuf/i.test(contentType) ? ': use JSON instead of protobuf' : ''
    throw new Refusal('unreadable-request', `Content-Type: must be ${wanted} in UTF-8${advice}`)
  }
  const text = decode(bytes)
  return form === 'json' ? await parseJson(text) : parseForm(text)
}

export function encodeFields(fields: JsonObject, form: 'json' | 'form'): EncodedBody {
  if (form === 'json') return { contentType: 'application/json', text: JSON.stringify(fields) }
  const pairs = Object.entries(fields).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one): [string, string] => [name, String(one)]),
  )
  const text = new URLSearchParams(pairs).toString()
  return { contentType: 'application/x-www-form-urlencoded', text }
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Refusal('unreadable-request', 'the body is not UTF-8')
  }
}

/** Names given twice are refused, also inside. */
async function parseJson(text: string): Promise<JsonObject> {
  if (text === '') return {}
  let value: unknown
  try {
    value = await parseJsonBody(text)
  } catch (cause) {
    throw new Refusal('ambiguous-request', `the body: ${getErrorMessage(cause)}`)
  }
  if (isObject(value)) return value
  throw new Refusal('ambiguous-request', 'the body must be a JSON object')
}

/** A name that is given several times has a list. */
function parseForm(text: string): JsonObject {
  const fields: JsonObject = Object.create(null)
  if (text === '') return fields
  for (const pair of text.split('&')) {
    const [name = '', value, ...more] = pair.split('=').map(decodeFormText)
    if (name === '' || value === undefined || more.length > 0) {
      throw new Refusal(
        'ambiguous-request',
        'the form has a pair that is not of the form name=value',
      )
    }
    const known = fields[name]
    if (known === undefined) fields[name] = value
    else fields[name] = [...(Array.isArray(known) ? known : [known]), value]
  }
  return fields
}

function decodeFormText(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new Refusal('ambiguous-request', 'the form has a broken escape')
  }
}
