/** Endpoint -> method: the service's whole API on one page. */
import { isTimeLegalToCall } from '../api/calling-hours.js'
import { type EbrAnswer, ebrPost } from '../api/consent.js'
import {
  type InternalDncAnswer,
  type InternalDncRequest,
  internalDncGet,
  internalDncPost,
} from '../api/internal-dnc.js'
import { type LitigatorRequest, litigatorGet, litigatorPost } from '../api/litigator.js'
import { type Route, route } from '../api/route.js'
import { type ScrubRequest, scrubGet, scrubPost } from '../api/scrub.js'
import type { Caller } from '../domain/caller.js'
import type { Service } from './service.js'

export interface ServiceRoutesOptions {
  /** Answer IsTimeLegalToCall as `[{"Response": [rows]}]` instead of a flat list. */
  readonly wrappedRows: boolean
}

export function serviceRoutes(
  service: Service,
  { wrappedRows }: ServiceRoutesOptions,
): readonly Route[] {
  const { timeLegal, scrub, internalDnc, consent, litigators } = service
  const scrubbed = ({ accountId }: Caller, request: ScrubRequest) => scrub.rows(accountId, request)
  const listed = internalDncActions(internalDnc)
  const checked = ({ accountId }: Caller, request: LitigatorRequest) =>
    litigators.check(accountId, request)
  return [
    route(isTimeLegalToCall({ wrappedRows }), (caller, { items }) =>
      timeLegal.check(caller, items),
    ),
    route(scrubGet, scrubbed),
    route(scrubPost, scrubbed),
    route(internalDncGet, listed),
    route(internalDncPost, listed),
    route(ebrPost, async (caller, request): Promise<EbrAnswer> => {
      await consent.record(caller, request)
      return { success: true }
    }),
    route(litigatorGet, checked),
    route(litigatorPost, checked),
  ]
}

function internalDncActions(internalDnc: Service['internalDnc']) {
  return async (caller: Caller, request: InternalDncRequest): Promise<InternalDncAnswer> => {
    switch (request.action) {
      case 'add':
        await internalDnc.add(caller, request)
        return { done: true }
      case 'remove':
        await internalDnc.remove(caller, request)
        return { done: true }
      case 'status':
        return { items: await internalDnc.status(caller, request) }
      case 'count':
        return await internalDnc.count(caller, request)
    }
  }
}
