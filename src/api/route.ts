/**
 * Binds an endpoint to the method that handles it. `http/` reads requests and encodes errors. A route
 * checks each request against the limits of the caller's key (ADR 0073); a violation is a `forbidden`
 * {@link AppError} that names the key's id, never the key.
 */
import type { z } from 'zod'
import {
  type Caller,
  canUseScope,
  nameCaller,
  type Right,
  rightsOfPeople,
  type ScopeChoice,
} from '../domain/caller.js'
import type { MaybePromise } from '../domain/compliance.js'
import type { CallKind } from '../domain/decision.js'
import { AppError, truncate } from '../errors.js'
import {
  type BytesReply,
  type Endpoint,
  ignoresUnknownFields,
  type Reply,
  type RequiredRight,
  type StreamedReply,
} from './endpoint.js'
import { toJsonSchema } from './fields.js'
import { createKnownFieldsReader } from './unknown-fields.js'
import { createValidationError } from './validation-error.js'

/** The parts of an endpoint that a server needs before it can read a request. */
export type EndpointDescriptor = Pick<
  Endpoint<unknown, unknown>,
  | 'name'
  | 'method'
  | 'paths'
  | 'accepts'
  | 'acceptsAnyContentType'
  | 'bareListField'
  | 'maxBodyBytes'
  | 'usesServiceThread'
  | 'isEndless'
  | 'requiresCurrent'
  | 'access'
  | 'rights'
  | 'rateClass'
  | 'keyAlsoIn'
  | 'keyAsPassword'
  | 'errors'
>

interface RouteContext {
  readonly caller: Caller
  /** The request's content type is JSON. */
  readonly jsonRequested: boolean
  /** Called with the count of numbers before they are processed; throws to refuse them. */
  readonly admitNumbers?: ((count: number) => MaybePromise<void>) | undefined
  /** Called with the names of unknown fields that were ignored, if there are any. */
  readonly onIgnoredFields?: ((names: readonly string[]) => void) | undefined
}

/** The parts of an endpoint that the OpenAPI description uses. */
export type EndpointDescription = EndpointDescriptor &
  Pick<
    Endpoint<unknown, unknown>,
    | 'summary'
    | 'spec'
    | 'request'
    | 'response'
    | 'replyTypes'
    | 'replyHeaders'
    | 'successStatus'
    | 'otherStatuses'
    | 'replyPattern'
    | 'examples'
  >

export interface Route {
  readonly endpoint: EndpointDescription
  /** Throws `forbidden` when the caller lacks the rights for any request of this endpoint. */
  requireRights(caller: Caller): void
  /**
   * Validates the fields and the limits of the key, calls the handler and encodes its answer.
   * Refusals are {@link AppError}s; anything else that is thrown is a bug.
   */
  handle(fields: object, context: RouteContext): Promise<Reply | BytesReply | StreamedReply>
}

/** Binds an endpoint to its handler. */
export function createRoute<Request, Response>(
  endpoint: Endpoint<Request, Response>,
  handle: (caller: Caller, request: Request) => MaybePromise<Response>,
): Route {
  const read = createFieldsReader(endpoint)
  const [path] = endpoint.paths
  // A decision is its own record.
  const namesPath = !endpoint.rights.includes('decide')
  return {
    endpoint,
    requireRights: (caller) => requireSomeRight(caller, endpoint.rights),
    async handle(given, { caller, jsonRequested, admitNumbers, onIgnoredFields }) {
      const { fields, ignored } = await read(given)
      if (ignored.length > 0) onIgnoredFields?.(ignored)
      const request = await parseRequest(endpoint, fields, caller)
      endpoint.requireAccountLimits?.(caller, request)
      if (endpoint.countNumbers) await admitNumbers?.(endpoint.countNumbers(request))
      const answer = await handle(namesPath ? { ...caller, path } : caller, request)
      if (!endpoint.encode) return { json: answer }
      return await endpoint.encode(answer, { request, jsonRequested })
    },
  }
}

/**
 * Parses the fields into a request. Throws `invalid-request`, or `forbidden` if the request exceeds the
 * rights, projects or kinds of call of the caller's key.
 */
export async function parseRequest<Request>(
  endpoint: Pick<Endpoint<Request, unknown>, 'request' | 'rights' | 'scopes' | 'callKind'>,
  fields: object,
  caller: Caller,
): Promise<Request> {
  const parsed = await endpoint.request.safeParseAsync(fields, { reportInput: true })
  if (!parsed.success) throw createValidationError(parsed.error)
  const request = parsed.data
  const { limits } = caller
  for (const one of endpoint.rights) {
    const right = typeof one === 'string' ? one : one.appliesTo(request) && one.right
    if (right && !limits.rights.has(right)) throw createMissingRightError(caller, [right])
  }
  if (endpoint.scopes !== 'none' && limits.projects !== 'any') {
    for (const scope of endpoint.scopes(request)) requireScopeAllowed(caller, scope)
  }
  if (endpoint.callKind && limits.callKinds !== 'any') {
    const kind = endpoint.callKind(request)
    if (kind !== undefined) requireCallKindAllowed(caller, kind)
  }
  return request
}

function createFieldsReader(endpoint: EndpointDescriptor & { readonly request: z.ZodType }) {
  if (!ignoresUnknownFields(endpoint)) {
    return async (fields: object) => ({ fields, ignored: [] as readonly string[] })
  }
  let made: ReturnType<typeof createKnownFieldsReader> | undefined
  return (fields: object) => {
    made ??= createKnownFieldsReader(toJsonSchema(endpoint.request))
    return made(fields)
  }
}

/**
 * Throws `forbidden` if the key could not make any request to an endpoint, so that no body need be
 * read: it lacks a right that every request needs, or every right that some requests need.
 */
export function requireSomeRight(caller: Caller, needed: readonly RequiredRight<never>[]): void {
  const missing: Right[] = []
  for (const one of needed) {
    const right = typeof one === 'string' ? one : one.right
    if (caller.limits.rights.has(right)) continue
    if (typeof one === 'string') throw createMissingRightError(caller, [right])
    missing.push(right)
  }
  if (missing.length > 0 && missing.length === needed.length) {
    throw createMissingRightError(caller, missing)
  }
}

/** Some roles of people have a right for some of its endpoints only. */
export function requirePersonMay(
  caller: Caller,
  { name, rights }: Pick<EndpointDescriptor, 'name' | 'rights'>,
): void {
  const role = caller.session?.personRole
  if (role === undefined) return
  const { only } = rightsOfPeople[role]
  for (const needed of rights) {
    const allowed = only[typeof needed === 'string' ? needed : needed.right]
    if (allowed === undefined || allowed.includes(name)) continue
    const rule = `the role ${role} does not permit that; the roles of people are in docs/sign-in.md`
    throw new AppError('forbidden', `${nameCaller(caller)}: ${rule}`)
  }
}

function createMissingRightError(caller: Caller, rights: readonly Right[]): AppError {
  const names = rights.map((right) => `'${right}'`).join(' or ')
  const held = [...caller.limits.rights].join(', ') || 'none'
  const advice = caller.session?.person
    ? 'the roles of people are in docs/sign-in.md'
    : 'use a key created with that right (callgate keys create --can)'
  return new AppError(
    'forbidden',
    `${nameCaller(caller)} lacks the right ${names}; it has ${held}; ${advice}`,
  )
}

/** Throws `forbidden` for a project or campaign that a key limited to some projects may not use. */
export function requireScopeAllowed(caller: Caller, scope: ScopeChoice): void {
  const { limits } = caller
  if (limits.projects === 'any' || canUseScope(caller, scope)) return
  const codes = truncate(limits.projects.codes.join(', '))
  const rule = `${nameCaller(caller)} is limited to the projects ${codes}`
  throw new AppError('forbidden', `${describeScope(scope)}: ${rule}; name one of them`)
}

function describeScope({ projectId, campaignId }: ScopeChoice): string {
  const named = [
    ...(projectId === undefined ? [] : [`project '${truncate(projectId)}'`]),
    ...(campaignId === undefined ? [] : [`campaign '${truncate(campaignId)}'`]),
  ]
  return named.join(', ') || 'no project is named, so the Master Project applies'
}

function requireCallKindAllowed(caller: Caller, kind: CallKind): void {
  const { callKinds } = caller.limits
  if (callKinds === 'any' || callKinds.includes(kind)) return
  const rule = `${nameCaller(caller)} is limited to calls of kind ${callKinds.join(', ')}`
  throw new AppError('forbidden', `kind '${kind}': ${rule}`)
}
