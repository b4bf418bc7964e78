/** One request to the vendor, from its head to what is sent: limit, fault, right answer, delivery. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Timers } from '../domain/clock.js'
import { pathOf } from '../http/bind.js'
import { answerControl, type ControlParts, isControl } from './control.js'
import { deliver, refuseReply } from './deliver.js'
import { type Fault, isConnectionFault, isReplyFault, isRowFault } from './fault.js'
import { pause } from './pause.js'
import type { RateLimit } from './rate-limit.js'
import { faultReply, type ReplyFaultTools, tooMany } from './reply-faults.js'
import type { RequestNote } from './request-record.js'
import { spoilRows } from './row-faults.js'
import type { ServiceReplies } from './service-replies.js'
import { isQuestion, type RequestTarget, targetOf } from './target.js'
import type { VendorReply } from './vendor-reply.js'

export interface ExchangeParts extends ControlParts, ReplyFaultTools {
  readonly limit: RateLimit
  readonly service: ServiceReplies
  readonly latencyMs: number
  readonly timers: Timers
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly path: string
  readonly target: RequestTarget
  readonly note: RequestNote
}

/** Resolves when all is sent that will be. */
export async function answerRequest(
  request: IncomingMessage,
  response: ServerResponse,
  parts: ExchangeParts,
): Promise<void> {
  // Nobody may take it for a provider whose answers mean something.
  response.setHeader('X-Fake-Vendor', 'callgate')
  const path = normalPath(request)
  if (isControl(path)) {
    const reply = await answerControl(request, path, parts)
    return await deliver(response, reply, { fault: undefined, timers: parts.timers })
  }
  const target = targetOf(path)
  const note = parts.record.begin(target, parts.timers.monotonicMs())
  await answerCounted({ request, response, path, target, note }, parts)
}

async function answerCounted(exchange: Exchange, parts: ExchangeParts): Promise<void> {
  const { request, response, path, target, note } = exchange
  const { timers, limit, faults, latencyMs, service } = parts
  const retryAfter = limit.refusal(target, timers.monotonicMs())
  const fault = retryAfter === undefined ? faults.take(target) : undefined
  const waited = pause(response, latencyMs + (fault?.kind === 'slow' ? fault.ms : 0), timers)
  const right = await service.reply(request, path, {
    onNumbers: note.asked,
    unasked: retryAfter !== undefined || isAnsweredOtherwise(fault),
  })
  if (!(await waited) || response.destroyed) return
  if (fault && isConnectionFault(fault)) return refuseReply(response, fault, parts.randomBytes)
  const reply =
    retryAfter === undefined ? struck(right, fault, { target, parts }) : tooMany(retryAfter)
  note.sent(reply.status)
  const delivery =
    fault === undefined || isReplyFault(fault) || isRowFault(fault) ? undefined : fault
  await deliver(response, reply, { fault: delivery, timers })
}

/** What is never answered is not done either: a write behind such a fault has no effect. */
function isAnsweredOtherwise(fault: Fault | undefined): boolean {
  return fault !== undefined && (isConnectionFault(fault) || isReplyFault(fault))
}

function struck(
  right: VendorReply,
  fault: Fault | undefined,
  { target, parts }: { readonly target: RequestTarget; readonly parts: ExchangeParts },
): VendorReply {
  if (fault && isReplyFault(fault)) return faultReply(fault, parts)
  return fault && isRowFault(fault) && isQuestion(target) ? spoilRows(right, fault, target) : right
}

function normalPath(request: IncomingMessage): string {
  const path = pathOf(request).toLowerCase()
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}
