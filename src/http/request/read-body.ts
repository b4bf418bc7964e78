/**
 * Reads the body of a request: its bytes, up to a limit, and the fields in them, whatever its form.
 * JSON comes from strangers. What `JSON.parse` accepts is refused: a name given twice in one object
 * (the last would win in silence), deep nesting, objects with very many names, and so many values that
 * reading them would hold the event loop and the memory for long.
 */
import type { IncomingMessage } from 'node:http'
import type { FieldSource } from '../../api/endpoint.js'
import { AppError, invalidRequest, truncate } from '../../errors.js'
import {
  forEachInSlices,
  waitForNextTurn,
  yieldToEventLoop,
} from '../../runtime/yield-to-event-loop.js'
import type { Sender } from '../authenticate.js'
import type { BodyCharge } from '../limits/body-budget.js'
import { FormFields, maxFields } from './form-fields.js'
import { parseMultipart } from './multipart-body.js'
import { collectFields, type RawFields, type RepeatPolicy, urlencodedPairs } from './read-fields.js'

/** How much of a body is read before its sender is known, and of one that is refused before. */
const maxAnonymousBodyBytes = 65_536

const initialCapacity = 4_096

/** Each chunk costs as much as some hundred bytes, however small it is; the first ones are free. */
const freeChunks = 64
const minBytesPerChunk = 256

export interface BodyOptions {
  readonly maxBytes: number
  /** Counts the bytes while they are held; absent where nothing limits them. */
  readonly charge?: BodyCharge | undefined
  /**
   * For a sender that is not known: called with the body, or the first {@link maxAnonymousBodyBytes} of
   * a longer one, whose rest is read once it resolves. If it rejects, the body is refused for that.
   */
  readonly identify?: ((start: Buffer, isWhole: boolean) => Promise<void>) | undefined
}

/**
 * The whole body. Throws `too-large` as soon as more than `maxBytes` are announced or sent, and
 * `overloaded` when the charge has no room.
 */
export async function readBody(
  request: IncomingMessage,
  { maxBytes, charge, identify }: BodyOptions,
): Promise<Buffer> {
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    const problem = `Content-Encoding '${encoding}' is not supported; send the body as it is`
    throw new AppError('unsupported-media-type', problem)
  }
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > maxBytes) throw createTooLargeError(maxBytes)
  return await new Promise((resolve, reject) => {
    // One buffer that doubles: if the chunks were kept, each would hold on to the 64 KB of its read.
    let held = Buffer.alloc(0)
    let size = 0
    let chunks = 0
    let isKnown = identify === undefined
    const refuse = (cause: unknown) => {
      request.off('data', take)
      held = Buffer.alloc(0)
      size = 0
      charge?.release()
      request.resume()
      reject(cause)
    }
    const take = (chunk: Buffer) => {
      try {
        const start = size
        size += chunk.length
        chunks += 1
        if (size > maxBytes) throw createTooLargeError(maxBytes)
        const maxChunkBytes = isKnown ? maxBytes : maxAnonymousBodyBytes
        if ((chunks - freeChunks) * minBytesPerChunk > maxChunkBytes) {
          throw new AppError('too-large', 'The request body comes in too many small chunks')
        }
        if (size > held.length) {
          const doubled = Math.max(held.length * 2, initialCapacity)
          const capacity = Math.max(size, Math.min(doubled, announced || maxBytes))
          charge?.resize(capacity)
          held = Buffer.concat([held], capacity)
        }
        chunk.copy(held, start)
      } catch (cause) {
        return refuse(cause)
      }
      if (!isKnown && size > maxAnonymousBodyBytes) identifySender()
    }
    const identifySender = () => {
      request.pause()
      identify?.(held.subarray(0, maxAnonymousBodyBytes), false).then(() => {
        isKnown = true
        request.resume()
      }, refuse)
    }
    const cutOff = (cause?: unknown) =>
      reject(new AppError('invalid-request', 'The request body was cut off', { cause }))
    request.on('data', take)
    request.once('error', cutOff)
    request.once('close', cutOff)
    request.once('end', () => {
      request.off('close', cutOff)
      const body = held.subarray(0, size)
      if (isKnown) resolve(body)
      else identify?.(body, true).then(() => resolve(body), refuse)
    })
  })
}

function createTooLargeError(maxBytes: number): AppError {
  return new AppError('too-large', `The request body is larger than ${maxBytes} bytes`)
}

/**
 * For a request whose body is refused: reads up to `maxBodyBytes` more without keeping them, less of a
 * sender without a key, so that the sender can still read the answer. Then its connection is read no
 * more, and cut a while later.
 */
export function discardBody(request: IncomingMessage, sender: Sender, maxBodyBytes: number): void {
  if (request.complete) return
  const maxBytes = sender.hasKey ? maxBodyBytes : maxAnonymousBodyBytes
  let size = 0
  let chunks = 0
  const discard = (chunk: Buffer) => {
    size += chunk.length
    chunks += 1
    if (size <= maxBytes && (chunks - freeChunks) * minBytesPerChunk <= maxBytes) return
    request.off('data', discard)
    if (sender.connection) sender.connection.holdThenDestroy()
    else request.destroy()
  }
  request.on('data', discard)
  request.resume()
}

export type BodyForm = Exclude<FieldSource, 'query'>

export interface BodyRules {
  readonly accepts: readonly FieldSource[]
  readonly acceptsAnyContentType?: boolean | undefined
  /** The field that a bare JSON list as body stands for; without it a list is refused. */
  readonly bareListField?: string | undefined
  /** `refused` when absent. */
  readonly repeats?: RepeatPolicy | undefined
}

export interface BodyFields {
  readonly form: BodyForm | undefined
  readonly fields: RawFields
}

/**
 * The fields of a body, and the form they came in. An empty body has no fields; it is refused
 * where fields can only come as JSON. Throws refusals: malformed, wrong content type.
 */
export async function parseBodyFields(
  body: Buffer,
  contentType: string,
  { accepts, acceptsAnyContentType, bareListField, repeats = 'refused' }: BodyRules,
): Promise<BodyFields> {
  const expected = bareListField === undefined ? 'a JSON object' : 'a JSON list or object'
  if (body.length === 0) {
    if (accepts.some((source) => source !== 'json')) return { form: undefined, fields: {} }
    throw createMalformedError(`the body is missing; ${expected} is needed`)
  }
  const form = acceptsAnyContentType
    ? detectBodyForm(body, contentType)
    : parseBodyForm(contentType)
  if (form === undefined || !accepts.includes(form))
    throw createContentTypeError(contentType, accepts)
  if (form !== 'json')
    return { form, fields: await parseForm(body, { form, contentType, repeats }) }
  const value = await parseJsonBody(decodeUtf8(body))
  if (Array.isArray(value) && bareListField !== undefined) {
    return { form, fields: { [bareListField]: value } }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw createMalformedError(`the body must be ${expected}`)
  }
  return { form, fields: { ...value } }
}

/** Detects the format of a body. The content type decides only whether other text is a multipart form. */
function detectBodyForm(body: Buffer, contentType: string): BodyForm {
  if (/^\uFEFF?\s*[{[]/.test(body.subarray(0, 256).toString())) return 'json'
  return parseBodyForm(contentType) === 'multipart' ? 'multipart' : 'form'
}

/** The request's content type is one of JSON's. */
export function isJsonRequest(request: IncomingMessage): boolean {
  return isJsonContentType(request.headers['content-type'] ?? '')
}

export function isJsonContentType(contentType: string): boolean {
  return parseBodyForm(contentType) === 'json'
}

interface FormFormat {
  readonly form: Exclude<BodyForm, 'json'>
  readonly contentType: string
  readonly repeats: RepeatPolicy
}

/** The fields of an urlencoded or multipart body. */
export async function parseForm(
  body: Buffer,
  { form, contentType, repeats }: FormFormat,
): Promise<RawFields> {
  const found = new FormFields()
  const pairs =
    form === 'form'
      ? urlencodedPairs(decodeUtf8(body))
      : await parseMultipart(body, contentType, { maxFields })
  await forEachInSlices(pairs, ([name, value]) => found.add(name, value))
  return collectFields(found.pairs(), repeats)
}

/** Content types of the spec ("Calling hours" for JSON); other charsets than UTF-8 are not read. */
export function parseBodyForm(contentType: string): BodyForm | undefined {
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

function createContentTypeError(contentType: string, accepts: readonly FieldSource[]): AppError {
  const wanted = accepts.flatMap((source) => contentTypes[source]).join(', ')
  const given = contentType === '' ? 'is missing' : `'${truncate(contentType)}' is not accepted`
  return new AppError('unsupported-media-type', `Content-Type ${given}; send ${wanted} in UTF-8`)
}

function decodeUtf8(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw createMalformedError('the body is not well-formed UTF-8')
  }
}

const maxNestingDepth = 32
const maxNames = 1000
/** Objects and lists cost the most: of 8 MB of empty ones `JSON.parse` makes 500 ms and 200 MB. */
const maxContainers = 25_000
const maxValues = 250_000

/** A longer text is parsed in a turn of the event loop of its own. */
const maxTextInTurn = 65_536

/** Throws an `invalid-request` refusal; the value may be of any JSON type. */
export async function parseJsonBody(text: string): Promise<unknown> {
  await checkShape(text)
  if (text.length > maxTextInTurn) await waitForNextTurn()
  try {
    return JSON.parse(text)
  } catch (error) {
    // Beyond the position, the message of V8 quotes the body, which may hold a key.
    const where = /at position \d+/.exec(error instanceof Error ? error.message : '')?.[0] ?? ''
    throw createMalformedError(`the body is not well-formed JSON ${where}`.trimEnd())
  } finally {
    if (text.length > maxTextInTurn) await yieldToEventLoop()
  }
}

/** Characters that are checked in well below a millisecond. */
const pieceLength = 16_384

/** Refuses what `JSON.parse` would accept. Yields to other work after each piece of a long text. */
async function checkShape(text: string): Promise<void> {
  /** The names of each object that is open at this place; `undefined` stands for an open list. */
  const open: (Set<string> | undefined)[] = []
  let lastString = 0
  let containers = 0
  let separators = 0
  let pieceEnd = pieceLength
  for (let at = 0; at < text.length; at += 1) {
    if (at >= pieceEnd) {
      await yieldToEventLoop()
      pieceEnd = at + pieceLength
    }
    switch (text[at]) {
      case '"':
        lastString = at
        at = endOfString(text, at + 1)
        break
      case ':':
        addName(open.at(-1), text.slice(lastString, at).trimEnd())
        break
      case ',':
        separators += 1
        if (separators < maxValues) break
        throw createMalformedError(`the body has more than ${maxValues} values`)
      case '{':
      case '[':
        containers += 1
        if (containers > maxContainers) {
          throw createMalformedError(`the body has more than ${maxContainers} objects and lists`)
        }
        open.push(text[at] === '{' ? new Set() : undefined)
        if (open.length <= maxNestingDepth) break
        throw createMalformedError(`the body is nested deeper than ${maxNestingDepth} levels`)
      case '}':
      case ']':
        open.pop()
    }
  }
}

/** Position of the closing quote, or the end of a text that has none. */
export function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text[at - 1 - slashes] === '\\') slashes += 1
    if (slashes % 2 === 0) return at
  }
  return text.length
}

/** What a colon follows is a name, in an object of well-formed JSON: a string between its quotes. */
function addName(names: Set<string> | undefined, quoted: string): void {
  if (!names || !quoted.endsWith('"')) return
  const name = quoted.includes('\\') ? unescapeString(quoted) : quoted.slice(1, -1)
  if (names.has(name)) throw invalidRequest([{ field: truncate(name), rule: 'is given twice' }])
  names.add(name)
  if (names.size > maxNames)
    throw createMalformedError(`an object has more than ${maxNames} fields`)
}

export function unescapeString(quoted: string): string {
  try {
    return String(JSON.parse(quoted))
  } catch {
    return quoted
  }
}

function createMalformedError(rule: string): AppError {
  return invalidRequest([{ field: '', rule }])
}
