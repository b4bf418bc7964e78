/** Describes the error responses of the endpoints. */
import { statusByErrorKind } from '../errors.js'
import type { ErrorShape } from './endpoint.js'
import type { JsonSchema } from './fields.js'

import type { EndpointDescription } from './route.js'

interface ErrorBody {
  readonly type: string
  readonly schema: JsonSchema
}

const text = { type: 'string' }

function object(...names: readonly string[]): JsonSchema {
  const properties = Object.fromEntries(names.map((name) => [name, text]))
  return { type: 'object', properties, required: names }
}

const plain: ErrorBody = { type: 'text/plain', schema: text }

/** RFC 9457. */
const problem = {
  type: 'object',
  properties: {
    type: text,
    title: text,
    status: { type: 'integer' },
    detail: { type: 'string', description: 'The field, its value and the rule' },
    instance: text,
  },
  required: ['type', 'title', 'status', 'detail', 'instance'],
}

/** RFC 6749, section 5.2. */
const oauthError = {
  type: 'object',
  properties: {
    error: {
      ...text,
      description:
        'Such as `invalid_client`, or `invalid_authorization_details` (RFC 9396) for limits of a token ' +
        'that cannot be read',
    },
    error_description: text,
  },
  required: ['error', 'error_description'],
}

function named(name: string, schema: JsonSchema): JsonSchema {
  return { $ref: `#/$defs/${name}`, $defs: { [name]: schema } }
}

const errorBodies: Readonly<Record<ErrorShape, readonly ErrorBody[]>> = {
  'reason-phrase': [{ type: 'application/json', schema: object('ReasonPhrase') }],
  text: [plain],
  'text-or-error': [plain, { type: 'application/json', schema: object('error') }],
  oauth: [{ type: 'application/json', schema: named('OAuthError', oauthError) }],
  'reason-line': [plain],
  'block-line': [plain],
  problem: [{ type: 'application/problem+json', schema: named('Problem', problem) }],
}

const forbiddenMeaning = 'the key lacks a right, or is limited to other projects or kinds of call'

const notCurrentMeaning = 'this server does not know what others have stored in the last moments'

function capitalize(parts: readonly (string | undefined)[]): string {
  const text = parts.filter((part) => part !== undefined).join('; or ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Responses by status: those common to all endpoints of its kind, and its own. */
export function createErrorResponses({
  errors,
  access,
  method,
  rateClass,
  requiresCurrent,
  otherStatuses = {},
}: EndpointDescription): Record<string, OpenApiResponse> {
  const status = statusByErrorKind
  const overloadedMeaning = 'The server has too much to do, or cannot use its database'
  const meanings: Record<string, string> = {
    [status['invalid-request']]: 'The request is invalid; the text names field, value and rule',
    [status.unauthenticated]: 'The key or token is missing, not valid, revoked or expired',
    ...(method !== 'GET' && { [status['too-large']]: 'The body is too long' }),
    // RFC 6749, section 5.2, has 400 for that.
    ...(method !== 'GET' &&
      errors !== 'oauth' && {
        [status['unsupported-media-type']]: 'The body is of a type that is not read here',
      }),
    500: 'The request failed; the cause is in the log of the server',
    [status.overloaded]: overloadedMeaning,
    ...(rateClass !== undefined && {
      429: 'Too many requests or numbers in a minute, or too many concurrent bulk calls',
    }),
    ...otherStatuses,
    ...(requiresCurrent && {
      503: capitalize([otherStatuses[503] ?? overloadedMeaning, notCurrentMeaning]),
    }),
    ...(access !== 'open' && { 403: capitalize([otherStatuses[403], forbiddenMeaning]) }),
  }
  const content = Object.fromEntries(
    errorBodies[errors].map(({ type, schema }) => [type, { schema }]),
  )
  const retryAfter = { description: 'Seconds to wait', schema: { type: 'integer' } }
  return Object.fromEntries(
    Object.entries(meanings).map(([status, description]) => [
      status,
      {
        description,
        ...(status === '429' && { headers: { 'Retry-After': retryAfter } }),
        ...(Number(status) >= 400 && { content }),
      },
    ]),
  )
}

export interface OpenApiResponse {
  readonly description: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>
}
