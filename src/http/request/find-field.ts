/** Finds one field, such as the key, in the first part of a body whose sender is not known yet. */
import type { FieldSource } from '../../api/endpoint.js'
import { extractCompleteParts } from './multipart-body.js'
import { endOfString, parseBodyForm, parseForm, unescapeString } from './read-body.js'
import type { RawFields } from './read-fields.js'

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
  const form = parseBodyForm(contentType)
  if (form === undefined || !accepts.includes(form)) return {}
  if (form === 'json') return { [name]: findJsonText(bytes.toString(), name) }
  const complete = isWhole ? bytes : completePartOf[form](bytes, contentType)
  try {
    const fields = await parseForm(complete, { form, contentType, repeats: 'equal' })
    return Object.fromEntries(Object.entries(fields).filter(([key]) => key.toLowerCase() === name))
  } catch {
    return {}
  }
}

const completePartOf = {
  form: (start: Buffer) => start.subarray(0, Math.max(0, start.lastIndexOf('&'))),
  multipart: extractCompleteParts,
}

/**
 * The text of a member of a JSON object, by its name in lower case, without reading the rest; the
 * object may be cut off. `undefined` where the member is not there, is cut off, or is not text.
 */
export function findJsonText(start: string, name: string): string | undefined {
  let depth = 0
  for (let at = 0; at < start.length; at += 1) {
    const char = start.charAt(at)
    if ('{['.includes(char)) depth += 1
    else if ('}]'.includes(char)) depth -= 1
    if (char !== '"') continue
    const end = endOfString(start, at + 1)
    if (depth === 1 && readName(start, at, end)?.toLowerCase() === name) {
      return textAfterColon(start, end + 1)
    }
    at = end
  }
  return undefined
}

/**
 * The name that the string between these quotes is: in well-formed JSON every string before a colon,
 * and no other, is one.
 */
function readName(text: string, start: number, end: number): string | undefined {
  let next = end + 1
  while (text.charCodeAt(next) <= 0x20) next += 1
  if (text[next] !== ':') return undefined
  const quoted = text.slice(start, end + 1)
  return quoted.includes('\\') ? unescapeString(quoted) : quoted.slice(1, -1)
}

function textAfterColon(start: string, from: number): string | undefined {
  const value = /\s*:\s*(?=")/y
  value.lastIndex = from
  if (!value.test(start)) return undefined
  const end = endOfString(start, value.lastIndex + 1)
  const text = end < start.length ? start.slice(value.lastIndex, end + 1) : ''
  const found = unescapeString(text)
  return found === text ? undefined : found
}
