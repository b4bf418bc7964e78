/**
 * Finds the credential of a request and turns it into a {@link Caller} (spec, "Authentication").
 * Who holds which key or token is known elsewhere.
 */
import type { IncomingMessage } from 'node:http'
import type { Caller } from '../domain/caller.js'
import type { Eventually } from '../domain/compliance.js'
import { AppError } from '../errors.js'
import type { RawFields } from './read-fields.js'

/** Under the name `loginId`, or after `Authorization: Bearer`. */
export type CredentialPlace = 'login-id' | 'bearer'

export interface Credential {
  readonly text: string
  readonly place: CredentialPlace
}

/** Gives `undefined` for what is unknown, expired, revoked, or no credential in that place. */
export type Authenticate = (
  credential: string,
  place: CredentialPlace,
) => Eventually<Caller | undefined>

/** In lower case: names of headers and fields are compared so. */
export const keyField = 'loginid'

/** The key in header `loginId`, or a key or token as `Authorization: Bearer`; the former goes first. */
export function keyInHeaders(request: IncomingMessage): Credential | undefined {
  const header = request.headers[keyField]
  const login = typeof header === 'string' ? header.trim() : ''
  if (login !== '') return { text: login, place: 'login-id' }
  const bearer = /^bearer +(\S+)\s*$/i.exec(request.headers.authorization ?? '')?.[1]
  return bearer === undefined ? undefined : { text: bearer, place: 'bearer' }
}

/** The key as password of `Authorization: Basic`; the user is not looked at. */
export function keyAsPassword(request: IncomingMessage): Credential | undefined {
  const encoded = basicOf(request)
  if (encoded === undefined) return undefined
  const [, text] = /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  return credential(text)
}

/** Parts the key from the other fields, under any letter case of `loginId`. */
export function takeKey(fields: RawFields): {
  readonly key: Credential | undefined
  readonly rest: RawFields
} {
  const entries = Object.entries(fields)
  const rest = entries.filter(([name]) => !isKeyName(name))
  if (rest.length === entries.length) return { key: undefined, rest: fields }
  return { key: keyAmong(entries), rest: Object.fromEntries(rest) }
}

/** The key among fields by name; throws when there are two. */
export function keyAmong(fields: Iterable<readonly [string, unknown]>): Credential | undefined {
  const [given, ...more] = [...fields].filter(([name]) => isKeyName(name))
  if (more.some(([, other]) => other !== given?.[1])) {
    throw new AppError('invalid-request', 'loginId: is given twice')
  }
  return credential(given?.[1])
}

/** Throws `unauthenticated` for a key in the address where the setting `http.keysInAddress` forbids it. */
export function admitKeyInAddress(key: Credential | undefined, allowed = true): void {
  if (key === undefined || allowed) return
  const problem = 'A key in the address is not taken here; send it in header loginId'
  throw new AppError('unauthenticated', problem)
}

const isKeyName = (name: string) => name.toLowerCase() === keyField

function credential(value: unknown): Credential | undefined {
  const text = typeof value === 'string' ? value.trim() : ''
  return text === '' ? undefined : { text, place: 'login-id' }
}

const refusals: Readonly<Record<CredentialPlace, string>> = {
  'login-id': 'The API key is not valid',
  bearer: 'The access token or API key is not valid, or has expired',
}

/** Throws `unauthenticated` without naming the key. */
export async function callerOf(
  key: Credential | undefined,
  authenticate: Authenticate,
): Promise<Caller> {
  if (key === undefined) {
    throw new AppError('unauthenticated', 'The API key is missing; send it in header loginId')
  }
  const caller = await authenticate(key.text, key.place)
  if (caller === undefined) throw new AppError('unauthenticated', refusals[key.place])
  return caller
}

/**
 * The fields of a token request together with those of a client that shows itself by
 * `Authorization: Basic` (RFC 6749, section 2.3.1). The body may name the same client once more
 * (section 3.2.1) and may not hold a secret as well.
 */
export function withBasicClient(request: IncomingMessage, fields: RawFields): RawFields {
  const encoded = basicOf(request)
  if (encoded === undefined) return fields
  const client = basicClient(encoded)
  const { client_id: id = client.client_id, client_secret: secret } = fields
  if (id === client.client_id && secret === undefined) return { ...fields, ...client }
  const problem = 'The client shows itself in the body and by Authorization: Basic; use one of them'
  throw new AppError('invalid-request', problem)
}

function basicOf(request: IncomingMessage): string | undefined {
  return /^basic +(\S+)\s*$/i.exec(request.headers.authorization ?? '')?.[1]
}

/** Both parts are form-encoded before they are joined. */
function basicClient(encoded: string) {
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  try {
    if (id !== undefined && secret !== undefined) {
      return { client_id: formDecoded(id), client_secret: formDecoded(secret) }
    }
  } catch {
    // A stray percent sign: refused below like any other malformed credential.
  }
  throw new AppError('unauthenticated', 'Authorization: Basic is not well formed')
}

const formDecoded = (text: string) => decodeURIComponent(text.replaceAll('+', ' '))
