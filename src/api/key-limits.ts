/**
 * Holds a request against the limits of the key that asks (ADR 0073). Every refusal is a
 * `forbidden` {@link AppError} that names the key's id, never the key.
 */
import { type Caller, mayName, type Right, type ScopeChoice } from '../domain/caller.js'
import type { CallKind } from '../domain/decision.js'
import { AppError, shorten } from '../errors.js'
import type { Endpoint, NeededRight } from './endpoint.js'

type Needs<Request> = Pick<Endpoint<Request, unknown>, 'rights' | 'scopes' | 'callKind'>

/**
 * Refuses a caller none of whose requests to an endpoint could be answered, so that no body need be
 * read: the key lacks a right that every request needs, or all of those that some requests need.
 */
export function requireSomeRight(caller: Caller, needed: readonly NeededRight<never>[]): void {
  requireRights(
    caller,
    needed.filter((one) => typeof one === 'string'),
  )
  const all = needed.map((one) => (typeof one === 'string' ? one : one.right))
  if (all.length === 0 || all.some((right) => caller.limits.rights.has(right))) return
  throw missingRight(caller, all.map((right) => `'${right}'`).join(' or '))
}

/** Refuses a request beyond the rights, projects or kinds of call of the caller's key. */
export function requireWithinLimits<Request>(
  caller: Caller,
  request: Request,
  { rights, scopes, callKind }: Needs<Request>,
): void {
  requireRights(
    caller,
    rights.flatMap((one) => {
      if (typeof one === 'string') return [one]
      return one.applies(request) ? [one.right] : []
    }),
  )
  if (scopes !== 'none' && caller.limits.projects !== 'any') {
    for (const scope of scopes(request)) requireScopeAllowed(caller, scope)
  }
  const kind = callKind?.(request)
  if (kind !== undefined) requireKind(caller, kind)
}

function requireRights(caller: Caller, needed: readonly Right[]): void {
  const missing = needed.find((right) => !caller.limits.rights.has(right))
  if (missing !== undefined) throw missingRight(caller, `'${missing}'`)
}

function missingRight({ keyId, limits }: Caller, names: string): AppError {
  const held = [...limits.rights].join(', ') || 'none'
  const advice = 'use a key made with that right (callgate keys create --can)'
  return new AppError(
    'forbidden',
    `key ${keyId} lacks the right ${names}; it has ${held}; ${advice}`,
  )
}

/** Refuses a project or campaign that a key limited to some projects may not name. */
export function requireScopeAllowed(caller: Caller, scope: ScopeChoice): void {
  const { keyId, limits } = caller
  if (limits.projects === 'any' || mayName(caller, scope)) return
  const codes = shorten([...limits.projects.codes].join(', '))
  const rule = `key ${keyId} is limited to the projects ${codes}`
  throw new AppError('forbidden', `${describeScope(scope)}: ${rule}; name one of them`)
}

function describeScope({ projectId, campaignId }: ScopeChoice): string {
  const named = [
    ...(projectId === undefined ? [] : [`project '${shorten(projectId)}'`]),
    ...(campaignId === undefined ? [] : [`campaign '${shorten(campaignId)}'`]),
  ]
  return named.join(', ') || 'no project is named, which means the Master Project'
}

function requireKind({ keyId, limits: { callKinds } }: Caller, kind: CallKind): void {
  if (callKinds === 'any' || callKinds.has(kind)) return
  const rule = `key ${keyId} is limited to calls of kind ${[...callKinds].join(', ')}`
  throw new AppError('forbidden', `kind '${kind}': ${rule}`)
}
