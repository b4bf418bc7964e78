/**
 * Gives names to the bodies that hold no rows, as seen of services that speak the API: login pages,
 * empty bodies, CSV and error texts where JSON was asked, error objects.
 */
import { ReplyError } from './batch-question.js'

/** A body of a successful reply, as it arrived. */
export interface ReplyText {
  readonly body: string
  /** Lower case, without parameters. */
  readonly contentType: string
}

/**
 * What to say of a body that is no JSON at all. A service that does not accept the key may answer
 * 200 with its login page, so a web page counts as a refusal.
 */
export function oddText({ body, contentType }: ReplyText): ReplyError {
  const text = body.trim()
  if (text === '') return notUnderstood('answered with an empty body')
  if (isWebPage(text, contentType)) {
    return new ReplyError('refused', 'answered with a web page, as for a key that is not accepted')
  }
  if (text.startsWith('<')) return notUnderstood('answered with XML where JSON was asked')
  if (/^[[{]/.test(text)) return notUnderstood('answered with JSON that is broken or cut off')
  if (/not a valid number/i.test(text)) {
    return notUnderstood('answered with a text that a number is not valid')
  }
  const firstLine = text.split('\n', 1)[0] ?? ''
  if (/^"?\d{10}"?,/.test(firstLine)) {
    return notUnderstood('answered with CSV where JSON was asked')
  }
  return notUnderstood(`answered with plain text where JSON was asked: '${excerpt(text)}'`)
}

/** What to say of JSON that is no list of rows: an error object of any published shape, or else. */
export function oddJson(value: unknown): ReplyError {
  if (typeof value !== 'object' || value === null) {
    const kind = value === null ? 'null' : `a ${typeof value}`
    return notUnderstood(`answered with ${kind} where rows were asked`)
  }
  const fields = new Map(
    Object.entries(value).map(([name, content]) => [name.toLowerCase(), content]),
  )
  const why = [401, 403].includes(Number(fields.get('status'))) ? 'refused' : 'not-understood'
  const name = errorFields.find((field) => fields.has(field))
  if (name === undefined) {
    return new ReplyError(why, 'answered with an object that holds no rows')
  }
  const said = fields.get(name)
  const text = typeof said === 'string' ? `: '${excerpt(said)}'` : ''
  return new ReplyError(why, `answered with an error${text}`)
}

/** In the order in which they tell most: shapes of the spec ("Errors"), of RFC 6749 and RFC 9457. */
const errorFields: readonly string[] = [
  ...['error_description', 'error', 'reasonphrase', 'detail', 'title'],
  ...['errormessage', 'message', 'reason'],
]

/** JSON under a wrong content type is not a page: its rows are judged like any others. */
function isWebPage(text: string, contentType: string): boolean {
  if (/^[[{]/.test(text)) return false
  if (contentType === 'text/html' || contentType === 'application/xhtml+xml') return true
  const start = text.slice(0, 1000)
  return text.startsWith('<') && (!/^<\?xml/i.test(start) || /<(?:!doctype\s+)?html/i.test(start))
}

function notUnderstood(detail: string): ReplyError {
  return new ReplyError('not-understood', detail)
}

const longestExcerpt = 60
const longestWord = 20

/**
 * The start of a provider's text, fit for a log: words that hold a digit or are very long may be
 * numbers or keys, and show as `***`.
 */
export function excerpt(text: string): string {
  const words = plainText(text, 10 * longestExcerpt)
    .split(' ')
    .map((word) => (/\d/.test(word) || word.length > longestWord ? '***' : word))
  const line = words.join(' ')
  return line.length <= longestExcerpt ? line : `${line.slice(0, longestExcerpt - 3)}...`
}

/** A provider's text as one line of printable characters, cut to a length. */
export function plainText(text: string, longest: number): string {
  return text
    .slice(0, longest)
    .replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S}]+/gu, ' ')
    .trim()
}
