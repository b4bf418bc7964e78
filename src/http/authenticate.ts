/** Finds the credential of a request, and the {@link Caller} it belongs to (spec, "Authentication"). */
import type { IncomingMessage } from 'node:http'
import type { Endpoint } from '../api/endpoint.js'
import type { Caller } from '../domain/caller.js'
import type { MaybePromise } from '../domain/compliance.js'
import { AppError } from '../errors.js'
import type { RawFields } from './request/read-fields.js'

/** Under the name `loginId`, or after `Authorization: Bearer`. */
type CredentialPlace = 'login-id' | 'bearer'

export interface Credential {
  readonly text: string
  readonly place: CredentialPlace
}

/** Gives `undefined` for what is unknown, expired, revoked, or no credential in that place. */
export type Authenticate = (
  credential: string,
  place: CredentialPlace,
) => MaybePromise<Caller | undefined>

/** In lower case: names of headers and fields are compared so. */
export const keyField = 'loginid'

/** The key in header `loginId`, or a key or token as `Authorization: Bearer`; `loginId` takes precedence. */
export function findKeyInHeaders(request: IncomingMessage): Credential | undefined {
  const header = request.headers[keyField]
  // `node:http` joins the values of a header that is sent twice. Two different values are not a key.
  const joined = String(header ?? '').trim()
  const [first = '', ...others] = joined.split(',').map((text) => text.trim())
  const login = others.every((other) => other === first) ? first : joined
  if (login !== '') return { text: login, place: 'login-id' }
  const bearer = /^bearer +(\S+)\s*$/i.exec(request.headers.authorization ?? '')?.[1]
  return bearer === undefined ? undefined : { text: bearer, place: 'bearer' }
}

/** The key as password of `Authorization: Basic`; the user name is ignored. */
function findKeyInBasicAuth(request: IncomingMessage): Credential | undefined {
  const encoded = readBasicCredentials(request.headers.authorization)
  if (encoded === undefined) return undefined
  const [, text] = /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  return toCredential(text)
}

/** Separates the key from the other fields, under any letter case of `loginId`. */
export function extractKey(fields: RawFields): {
  readonly key: Credential | undefined
  readonly rest: RawFields
} {
  const entries = Object.entries(fields)
  const rest = entries.filter(([name]) => !isKeyName(name))
  if (rest.length === entries.length) return { key: undefined, rest: fields }
  return { key: findKey(entries), rest: Object.fromEntries(rest) }
}

/** The key among fields by name; throws when there are two different ones. */
export function findKey(fields: Iterable<readonly [string, unknown]>): Credential | undefined {
  const [given, ...more] = [...fields].filter(([name]) => isKeyName(name))
  if (more.some(([, other]) => other !== given?.[1])) {
    throw createRepeatedKeyError()
  }
  return toCredential(given?.[1])
}

const createRepeatedKeyError = () =>
  new AppError('invalid-request', 'loginId: was sent twice with different values; send it once')

const isKeyName = (name: string) => name.toLowerCase() === keyField

function toCredential(value: unknown): Credential | undefined {
  const text = typeof value === 'string' ? value.trim() : ''
  return text === '' ? undefined : { text, place: 'login-id' }
}

const refusals: Readonly<Record<CredentialPlace, string>> = {
  'login-id': 'The API key is not valid',
  bearer: 'The access token or API key is not valid, or has expired',
}

/** The sender of one request. */
export interface Sender {
  readonly authenticate: Authenticate
  /** Its connection, where a `ConnectionTracker` keeps it. */
  readonly connection: { assignTo(accountId: string): void; holdThenDestroy(): void } | undefined
  /** Has shown a valid key with this request, even if it may not make this call, or not now. */
  hasKey: boolean
}

/**
 * Finds the caller by the key that comes before the body: in the headers, as a password, or in the
 * address. Gives `undefined` where there is none. Throws `unauthenticated` for one that is not valid, and
 * for one in the address where the setting `http.keysInAddress` forbids it.
 */
export async function identifyBeforeBody(
  request: IncomingMessage,
  sender: Sender,
  { endpoint, query, keysInAddress = true }: KeyPlaces,
): Promise<Caller | undefined> {
  const inAddress = endpoint.keyAlsoIn.includes('query') ? findKey(query) : undefined
  if (inAddress !== undefined && !keysInAddress) {
    const problem =
      'A key in the URL is not accepted here (`http.keysInAddress` is false); send it in header loginId'
    throw new AppError('unauthenticated', problem)
  }
  const inHeaders = findKeyInHeaders(request)
  const asPassword = endpoint.keyAsPassword ? findKeyInBasicAuth(request) : undefined
  const key = inHeaders ?? asPassword ?? inAddress
  return key && (await identify(sender, key))
}

interface KeyPlaces {
  readonly endpoint: Pick<Endpoint<unknown, unknown>, 'keyAlsoIn' | 'keyAsPassword'>
  /** The fields of the address. */
  readonly query: Iterable<readonly [string, unknown]>
  /** The setting; yes when absent. */
  readonly keysInAddress: boolean | undefined
}

/**
 * Finds whose key it is. Throws `unauthenticated` without naming the key, and `overloaded` when its account has too many
 * connections.
 */
export async function identify(sender: Sender, key: Credential | undefined): Promise<Caller> {
  if (key === undefined) {
    throw new AppError('unauthenticated', 'The API key is missing; send it in header loginId')
  }
  const caller = await sender.authenticate(key.text, key.place)
  if (caller === undefined) throw new AppError('unauthenticated', refusals[key.place])
  sender.hasKey = true
  sender.connection?.assignTo(caller.accountId)
  return caller
}

/**
 * The fields of a token request together with those of a client that identifies itself by
 * `Authorization: Basic` (RFC 6749, section 2.3.1). The body may name the same client again
 * (section 3.2.1) but may not also hold a secret.
 */
export function addBasicClient(authorization: string | undefined, fields: RawFields): RawFields {
  const encoded = readBasicCredentials(authorization)
  if (encoded === undefined) return fields
  const client = parseBasicClient(encoded)
  const { client_id: id = client.client_id, client_secret: secret } = fields
  if (id === client.client_id && secret === undefined) return { ...fields, ...client }
  const problem = 'Client credentials are in both the body and Authorization: Basic; send only one'
  throw new AppError('invalid-request', problem)
}

function readBasicCredentials(authorization = ''): string | undefined {
  return /^basic +(\S+)\s*$/i.exec(authorization)?.[1]
}

/** Both parts are form-encoded before they are joined. */
function parseBasicClient(encoded: string) {
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  try {
    if (id !== undefined && secret !== undefined) {
      return { client_id: decodeFormValue(id), client_secret: decodeFormValue(secret) }
    }
  } catch {
    // A stray percent sign: refused below like any other malformed credential.
  }
  throw new AppError('unauthenticated', 'Authorization: Basic is not well formed')
}

const decodeFormValue = (text: string) => decodeURIComponent(text.replaceAll('+', ' '))
