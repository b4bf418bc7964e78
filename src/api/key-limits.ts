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
 * Refuses a caller who can make no valid request of an endpoint, so that its body need not be read:
 * one that lacks a right every request needs, or all of those that some requests need.
 */
export function requireSomeRight(caller: Caller, needed: readonly NeededRight<never>[]): void {
  const always = needed.filter((one) => typeof one === 'string')
  requireRights(caller, always)
  const others = needed.map((one) => (typeof one === 'string' ? one : one.right))
  if (others.length === 0 || others.some((right) => caller.limits.rights.has(right))) return
  throw lackOf(caller, others)
}

/** Refuses a request that needs a right, names a project or asks for a kind the key is not good for. */
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
  const missing = needed.filter((right) => !caller.limits.rights.has(right))
  if (missing.length > 0) throw lackOf(caller, missing)
}

function lackOf({ keyId, limits }: Caller, missing: readonly Right[]): AppError {
  const names = missing.map((right) => `'${right}'`).join(' or ')
  const held = [...limits.rights].join(', ') || 'none'
  const problem = `key ${keyId} lacks the right ${names}; it has ${held}`
  return new AppError('forbidden', `${problem}. Use a key made with --can ${missing[0]}`)
}

/** Refuses a project or campaign that a key limited to some projects may not name. */
export function requireScopeAllowed(caller: Caller, scope: ScopeChoice): void {
  const { keyId, limits } = caller
  if (limits.projects === 'any' || mayName(caller, scope)) return
  const codes = shorten([...limits.projects.codes].join(', '))
  const rule = `key ${keyId} is limited to the projects ${codes}`
  throw new AppError('forbidden', `${namedIn(scope)}: ${rule}; name one of them`)
}

function namedIn({ projectId, campaignId }: ScopeChoice): string {
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
