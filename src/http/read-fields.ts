/**
 * Gets the fields of a request from address and body, whatever the body's form. Which fields an
 * endpoint knows and what they must hold is judged by its schema.
 */
import type { IncomingMessage } from 'node:http'
import type { FieldSource } from '../api/endpoint.js'
import { joined } from '../api/open-fields.js'
import { forEachInSlices } from '../domain/slices.js'
import { AppError, invalidRequest, shorten } from '../errors.js'
import { FormFields, mostFields } from './form-fields.js'
import { findText, parseJsonBody, parseLongJsonBody } from './json-body.js'
import { completeParts, parseMultipart } from './multipart-body.js'
import { type BodyOptions, readBody } from './read-body.js'

/** Names as given; a value is text unless it came as JSON. */
export type RawFields = Readonly<Record<string, unknown>>

export type BodyForm = Exclude<FieldSource, 'query'>

/**
 * What becomes of a field that stands twice: it is refused, or counts once where its values are equal
 * or all but one are empty.
 */
export type Repeats = 'refused' | 'equal'

/** What stands behind the `?`, name by name. */
export function queryPairs(request: IncomingMessage): Iterable<readonly [string, string]> {
  return new URLSearchParams((request.url ?? '').split('?').slice(1).join('?'))
}

/** The fields behind the `?`. */
export function readQuery(request: IncomingMessage, repeats: Repeats = 'refused'): RawFields {
  const address = request.url ?? ''
  const start = address.indexOf('?')
  if (start === -1) return {}
  const found = new FormFields()
  for (const [name, value] of urlencodedPairs(address.slice(start + 1))) found.add(name, value)
  return collected(found.pairs(), repeats)
}

export interface BodyRules {
  readonly accepts: readonly FieldSource[]
  /** The field that a bare JSON list as body stands for; without it a list is refused. */
  readonly listBody?: string | undefined
  /** `refused` when absent. */
  readonly repeats?: Repeats | undefined
}

/**
 * The fields of the body, and the form they came in. An empty body has no fields; it is refused
 * where fields can only come as JSON. Throws refusals: malformed, too large, wrong content type.
 */
export async function readBodyFields(
  request: IncomingMessage,
  { accepts, listBody, repeats = 'refused', ...options }: BodyRules & BodyOptions,
): Promise<{ readonly form: BodyForm | undefined; readonly fields: RawFields }> {
  const body = await readBody(request, options)
  if (body.length === 0) {
    if (accepts.every((source) => source === 'json')) {
      throw invalidRequest([
        { field: '', rule: `the body is missing; ${wanted(listBody)} is needed` },
      ])
    }
    return { form: undefined, fields: {} }
  }
  const contentType = request.headers['content-type'] ?? ''
  const form = bodyForm(contentType)
  if (form === undefined || !accepts.includes(form)) throw wrongContentType(contentType, accepts)
  return { form, fields: await parsers[form](body, { contentType, listBody, repeats }) }
}

const wanted = (listBody: string | undefined) =>
  listBody === undefined ? 'a JSON object' : 'a JSON list or object'

export interface BodyStart {
  readonly bytes: Buffer
  /** Nothing follows. */
  readonly isWhole: boolean
  readonly contentType: string
}

/**
 * One field of a body, or of its first bytes, for the forms in which it is accepted; its name is in
 * lower case. JSON is searched and not parsed, since a stranger's text may be made to cost much. Gives
 * nothing of what cannot be read: that is refused once the sender is known.
 */
export async function findField(
  name: string,
  { bytes, isWhole, contentType }: BodyStart,
  accepts: readonly FieldSource[],
): Promise<RawFields> {
  const form = bodyForm(contentType)
  if (form === undefined || !accepts.includes(form)) return {}
  if (form === 'json') return { [name]: findText(bytes.toString(), name) }
  const complete = isWhole ? bytes : completeIn[form](bytes, contentType)
  try {
    const fields = await parsers[form](complete, {
      ...{ contentType, listBody: undefined },
      repeats: 'equal',
    })
    return Object.fromEntries(Object.entries(fields).filter(([key]) => key.toLowerCase() === name))
  } catch {
    return {}
  }
}

const completeIn = {
  form: (start: Buffer) => start.subarray(0, Math.max(0, start.lastIndexOf('&'))),
  multipart: completeParts,
}

/** The request's content type is one of JSON's. */
export function isJsonRequest(request: IncomingMessage): boolean {
  return bodyForm(request.headers['content-type'] ?? '') === 'json'
}

interface ParseHints extends Pick<BodyRules, 'listBody'> {
  readonly contentType: string
  readonly repeats: Repeats
}

/** A body of more characters is looked through beside other work. */
const longBody = 65_536

const parsers: Readonly<
  Record<BodyForm, (body: Buffer, hints: ParseHints) => RawFields | Promise<RawFields>>
> = {
  async json(body, { listBody }) {
    const text = decoded(body)
    const value = text.length > longBody ? await parseLongJsonBody(text) : parseJsonBody(text)
    if (Array.isArray(value) && listBody !== undefined) return { [listBody]: value }
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
    throw invalidRequest([{ field: '', rule: `the body must be ${wanted(listBody)}` }])
  },
  async form(body, { repeats }) {
    const found = new FormFields()
    await forEachInSlices(urlencodedPairs(decoded(body)), ([name, value]) => found.add(name, value))
    return collected(found.pairs(), repeats)
  },
  async multipart(body, { contentType, repeats }) {
    const found = new FormFields()
    for (const [name, value] of await parseMultipart(body, contentType, mostFields)) {
      found.add(name, value)
    }
    return collected(found.pairs(), repeats)
  },
}

/** Content types of the spec ("Calling hours" for JSON); other charsets than UTF-8 are not read. */
function bodyForm(contentType: string): BodyForm | undefined {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';')
  const charset = parameters.map((one) => /^\s*charset\s*=\s*"?([^"\s]*)/.exec(one)?.[1])
  if (!charset.every((name) => [undefined, 'utf-8', 'utf8', 'us-ascii'].includes(name))) {
    return undefined
  }
  const media = type.trim()
  if (/^(?:application\/json|text\/json|application\/[^\s/]+\+json)$/.test(media)) return 'json'
  if (media === 'application/x-www-form-urlencoded') return 'form'
  return media === 'multipart/form-data' ? 'multipart' : undefined
}

const contentTypes: Readonly<Record<FieldSource, readonly string[]>> = {
  query: [],
  json: ['application/json', 'text/json', 'application/*+json'],
  form: ['application/x-www-form-urlencoded'],
  multipart: ['multipart/form-data'],
}

function wrongContentType(contentType: string, accepts: readonly FieldSource[]): AppError {
  const wanted = accepts.flatMap((source) => contentTypes[source]).join(', ')
  const given = contentType === '' ? 'is missing' : `'${shorten(contentType)}' is not accepted`
  return new AppError('unsupported-media-type', `Content-Type ${given}; send ${wanted} in UTF-8`)
}

function decoded(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw invalidRequest([{ field: '', rule: 'the body is not well-formed UTF-8' }])
  }
}

/** A piece of a form that is parsed at a stretch. */
const pieceLength = 4_096

function* urlencodedPairs(text: string): Generator<readonly [string, string]> {
  for (let start = 0; start < text.length; ) {
    const separator = text.indexOf('&', start + pieceLength)
    const end = separator === -1 ? text.length : separator
    yield* new URLSearchParams(text.slice(start, end))
    start = end
  }
}

/** Joins fields from several places. */
export function joinFields(parts: readonly RawFields[], repeats: Repeats = 'refused'): RawFields {
  return collected(
    parts.flatMap((part) => Object.entries(part)),
    repeats,
  )
}

function collected(pairs: Iterable<readonly [string, unknown]>, repeats: Repeats): RawFields {
  const found = new Map<string, unknown>()
  for (const [name, value] of pairs) {
    const counted = found.has(name) ? joined(found.get(name), value) : { value }
    if (!counted || (repeats === 'refused' && found.has(name))) {
      throw invalidRequest([{ field: shorten(name), rule: 'is given twice' }])
    }
    found.set(name, counted.value)
  }
  return Object.fromEntries(found)
}
