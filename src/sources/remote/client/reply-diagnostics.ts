/**
 * Describes bodies without rows, as observed from services with this API: login pages, empty bodies,
 * CSV or error texts instead of JSON, and error objects.
 */
import { ReplyError } from '../batch-question.js'

/** The body of a successful reply, as received. */
export interface ReplyText {
  readonly body: string
  /** Lower case, without parameters. */
  readonly contentType: string
}

/**
 * Describes a body that is not JSON. A service that does not accept the key may answer 200 with its
 * login page, so a web page is treated as a refusal.
 */
export function diagnoseText({ body, contentType }: ReplyText): ReplyError {
  const text = body.trim()
  if (text === '') return createReplyError('answered with an empty body')
  if (isWebPage(text, contentType)) {
    return new ReplyError('refused', 'answered with a web page, as for a key that is not accepted')
  }
  if (text.startsWith('<')) return createReplyError('answered with XML instead of JSON')
  if (/^[[{]/.test(text)) return createReplyError('answered with JSON that is broken or cut off')
  if (/not a valid number/i.test(text)) {
    return createReplyError('answered with a message that a number is not valid')
  }
  const firstLine = text.split('\n', 1)[0] ?? ''
  if (/^"?\d{10}"?,/.test(firstLine)) {
    return createReplyError('answered with CSV instead of JSON')
  }
  return createReplyError(`answered with plain text instead of JSON: '${redactExcerpt(text)}'`)
}

/** Describes JSON that is not a list of rows, such as an error object of any published form. */
export function diagnoseJson(value: unknown): ReplyError {
  if (typeof value !== 'object' || value === null) {
    const kind = value === null ? 'null' : `a ${typeof value}`
    return createReplyError(`answered with ${kind} instead of rows`)
  }
  const fields = new Map(
    Object.entries(value).map(([name, content]) => [name.toLowerCase(), content]),
  )
  const why = [401, 403].includes(Number(fields.get('status'))) ? 'refused' : 'not-understood'
  const name = errorFields.find((field) => fields.has(field))
  if (name === undefined) {
    return new ReplyError(why, 'answered with an object without rows')
  }
  const message = fields.get(name)
  const text = typeof message === 'string' ? `: '${redactExcerpt(message)}'` : ''
  return new ReplyError(why, `answered with an error${text}`)
}

/** The most informative first; from the spec ("Errors"), RFC 6749 and RFC 9457. */
const errorFields: readonly string[] = [
  'error_description',
  'error',
  'reasonphrase',
  'detail',
  'title',
  'errormessage',
  'message',
  'reason',
]

/** JSON with a wrong content type is not treated as a page; its rows are parsed as usual. */
function isWebPage(text: string, contentType: string): boolean {
  if (/^[[{]/.test(text)) return false
  if (contentType === 'text/html' || contentType === 'application/xhtml+xml') return true
  const start = text.slice(0, 1000)
  return text.startsWith('<') && (!/^<\?xml/i.test(start) || /<(?:!doctype\s+)?html/i.test(start))
}

function createReplyError(detail: string): ReplyError {
  return new ReplyError('not-understood', detail)
}

const maxExcerptLength = 60
const maxWordLength = 20

/**
 * The start of a provider's text, safe for a log: words that contain a digit or are very long may be
 * numbers or keys, and become `***`.
 */
export function redactExcerpt(text: string): string {
  const words = toPlainText(text, 10 * maxExcerptLength)
    .split(' ')
    .map((word) => (/\d/.test(word) || word.length > maxWordLength ? '***' : word))
  const line = words.join(' ')
  return line.length <= maxExcerptLength ? line : `${line.slice(0, maxExcerptLength - 3)}...`
}

/** A provider's text as one line of printable characters, truncated. */
export function toPlainText(text: string, maxLength: number): string {
  return text
    .slice(0, maxLength)
    .replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S}]+/gu, ' ')
    .trim()
}
