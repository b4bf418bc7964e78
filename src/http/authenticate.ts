/**
 * Finds the API key of a request and turns it into a {@link Caller} (spec, "Authentication"). Who
 * holds which key is known elsewhere.
 */
import type { IncomingMessage } from 'node:http'
import type { Caller } from '../domain/caller.js'
import type { Eventually } from '../domain/compliance.js'
import { AppError } from '../errors.js'
import type { RawFields } from './read-fields.js'

/** Gives `undefined` for a key that is unknown or revoked. */
export type Authenticate = (key: string) => Eventually<Caller | undefined>

const keyField = 'loginid'

/** The key in header `loginId`, or as `Authorization: Bearer`; the former goes first. */
export function keyInHeaders(request: IncomingMessage): string | undefined {
  const header = request.headers[keyField]
  const login = typeof header === 'string' ? header.trim() : ''
  if (login !== '') return login
  return /^bearer +(\S+)\s*$/i.exec(request.headers.authorization ?? '')?.[1]
}

/** Parts the key from the other fields, under any letter case of `loginId`. */
export function takeKey(fields: RawFields): {
  readonly key: string | undefined
  readonly rest: RawFields
} {
  const isKey = ([name]: readonly [string, unknown]) => name.toLowerCase() === keyField
  const entries = Object.entries(fields)
  const [given, ...more] = entries.filter(isKey)
  if (given === undefined) return { key: undefined, rest: fields }
  if (more.length > 0) throw new AppError('invalid-request', 'loginId: is given twice')
  const key = typeof given[1] === 'string' && given[1] !== '' ? given[1].trim() : undefined
  return { key, rest: Object.fromEntries(entries.filter((entry) => !isKey(entry))) }
}

/** Throws `unauthenticated` without naming the key. */
export async function callerOf(
  key: string | undefined,
  authenticate: Authenticate,
): Promise<Caller> {
  if (key === undefined) {
    throw new AppError('unauthenticated', 'The API key is missing; send it in header loginId')
  }
  const caller = await authenticate(key)
  if (caller === undefined) throw new AppError('unauthenticated', 'The API key is not valid')
  return caller
}
