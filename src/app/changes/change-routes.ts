/** The routes of changes that need two people. One that is approved goes through its own endpoint, as if the approver had sent it. */
import {
  approveChangeEndpoint,
  type ChangeSummaryBody,
  changeEndpoint,
  changesEndpoint,
  refuseChangeEndpoint,
} from '../../api/accounts/changes.js'
import { createRoute, type Route, requirePersonMay } from '../../api/route.js'
import { type Caller, nameCaller } from '../../domain/caller.js'
import { formatInstant } from '../../domain/time/dates.js'
import { AppError, type ErrorKind } from '../../errors.js'
import { answerOwnRequest, type RouteHandlerDeps } from '../../http/route-handler.js'
import type { RecordRead } from '../../service/audit/read-log.js'
import type {
  ChangeRequest,
  ChangeRequests,
  ChangeVerdict,
} from '../../service/changes/change-requests.js'

export interface ChangeDeps {
  readonly changeRequests: ChangeRequests
  /** All endpoints that a change can be of. */
  readonly routes: readonly Route[]
  readonly deps: RouteHandlerDeps
  readonly recordRead: RecordRead
}

export function createChangeRoutes(parts: ChangeDeps): readonly Route[] {
  const { changeRequests, recordRead } = parts
  const find = async (caller: Caller, id: string) => {
    const change = await changeRequests.find(caller, id)
    requireMayMake(caller, change, parts)
    return change
  }
  return [
    createRoute(changesEndpoint, async (caller, { state }) => {
      const listed = await changeRequests.list(caller, state)
      const changes = listed.filter((change) => mayMake(caller, change, parts)).map(toBody)
      return { changes }
    }),
    createRoute(changeEndpoint, async (caller, { id }) => {
      const change = await find(caller, id)
      const subject = { kind: 'change', id }
      await recordRead(caller, { what: 'change.read', subject, rows: 1 })
      const request = change.request === undefined ? undefined : JSON.parse(change.request)
      return { ...toBody(change), request, self: await changeRequests.findWhyNot(caller, id) }
    }),
    createRoute(approveChangeEndpoint, async (caller, { reason: note, ...verdict }) => {
      await find(caller, verdict.id)
      return toBody(await approveChange(caller, { ...verdict, note }, parts))
    }),
    createRoute(refuseChangeEndpoint, async (caller, { reason: note, ...verdict }) => {
      await find(caller, verdict.id)
      return toBody(await changeRequests.refuse(caller, { ...verdict, note }))
    }),
  ]
}

/** The change was not tried: another one may approve it, or the same one later. */
const untried: ReadonlySet<ErrorKind> = new Set([
  'forbidden',
  'rate-limited',
  'overloaded',
  'not-available',
])

/** Approves it and carries it out. Rejects with the refusal of its endpoint, which the change keeps. */
export async function approveChange(
  caller: Caller,
  verdict: ChangeVerdict,
  { changeRequests, routes, deps }: Pick<ChangeDeps, 'changeRequests' | 'routes' | 'deps'>,
): Promise<ChangeRequest> {
  const change = await changeRequests.approve(caller, verdict)
  const { id, endpoint, request, requestHash, askedBy, askedSeq } = change
  if (endpoint === undefined || request === undefined) return change
  const finish = changeRequests.finish.bind(changeRequests, caller, change)
  try {
    const approved = { ...caller, change: { id, askedBy, askedSeq, requestHash } }
    const asked = { caller: approved, body: JSON.parse(request) }
    await answerOwnRequest(findRoute(routes, endpoint), asked, deps)
  } catch (cause) {
    if (!(cause instanceof AppError))
      await finish({ problem: 'the server failed; its log says why' })
    else await finish({ problem: cause.message, waits: untried.has(cause.kind) })
    throw cause
  }
  await finish({})
  return { ...change, state: 'done', request: undefined }
}

function findRoute(routes: readonly Route[], name: string): Route {
  const route = routes.find(({ endpoint }) => endpoint.name === name)
  if (!route) throw new Error(`there is no endpoint ${name}`)
  return route
}

/** Throws `forbidden` for a change that the caller could not make alone. */
function requireMayMake(
  caller: Caller,
  { endpoint }: ChangeRequest,
  { routes }: Pick<ChangeDeps, 'routes'>,
): void {
  if (endpoint === undefined) {
    if (caller.role === 'Administrator') return
    const rule = 'changes of this kind need role Administrator'
    throw new AppError('forbidden', `${nameCaller(caller)}: ${rule}`)
  }
  const route = findRoute(routes, endpoint)
  route.requireRights(caller)
  requirePersonMay(caller, route.endpoint)
}

function mayMake(caller: Caller, change: ChangeRequest, parts: Pick<ChangeDeps, 'routes'>) {
  try {
    requireMayMake(caller, change, parts)
    return true
  } catch (cause) {
    if (cause instanceof AppError) return false
    throw cause
  }
}

function toBody({
  request: _,
  endpoint: __,
  askedSeq: ___,
  ...change
}: ChangeRequest): ChangeSummaryBody {
  const { askedAt, expiresAt, decidedAt } = change
  return {
    ...change,
    askedAt: formatInstant(askedAt),
    expiresAt: formatInstant(expiresAt),
    decidedAt: decidedAt === undefined ? undefined : formatInstant(decidedAt),
  }
}
