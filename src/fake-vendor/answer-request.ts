/** Answers one request to the vendor: rate limit, fault, correct answer, delivery. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Timers } from '../domain/time/clock.js'
import { MinuteWindow } from '../http/limits/minute-window.js'
import { pathOf } from '../http/router.js'
import { answerControl, type ControlDeps, isControlPath } from './control.js'
import { type Fault, isConnectionFault, isReplyFault, isRowFault } from './fault.js'
import { createFaultReply, createRateLimitReply, type ReplyFaultDeps } from './reply-faults.js'
import { findTarget, isQuestionName, type RequestTarget } from './request-target.js'
import { applyRowFault } from './row-faults.js'
import { applyConnectionFault, sendVendorReply, waitWhileOpen } from './send-vendor-reply.js'
import type { ServiceDispatcher } from './service-dispatcher.js'
import type { VendorReply } from './vendor-reply.js'

export interface AnswerRequestDeps extends ControlDeps, ReplyFaultDeps {
  readonly limit: VendorRateLimiter
  readonly service: ServiceDispatcher
  readonly latencyMs: number
  readonly timers: Timers
}

/** Resolves when everything that will be sent has been sent. */
export async function answerRequest(
  request: IncomingMessage,
  response: ServerResponse,
  parts: AnswerRequestDeps,
): Promise<void> {
  // So that nobody mistakes it for a real provider.
  response.setHeader('X-Fake-Vendor', 'callgate')
  const path = normalizePath(request)
  if (isControlPath(path)) {
    const reply = await answerControl(request, path, parts)
    return await sendVendorReply(response, reply, { fault: undefined, timers: parts.timers })
  }
  const { timers, limit, faults, latencyMs, service } = parts
  const target = findTarget(path)
  const observer = parts.record.add(target, timers.monotonicMs())
  const retryAfter = limit.acquire(target, timers.monotonicMs())
  const fault = retryAfter === undefined ? faults.take(target) : undefined
  const waited = waitWhileOpen(
    response,
    latencyMs + (fault?.kind === 'slow' ? fault.ms : 0),
    timers,
  )
  const correct = await service.dispatch(request, path, {
    onNumbers: observer.onNumbers,
    isSkipped: retryAfter !== undefined || isReplyReplaced(fault),
  })
  if (!(await waited) || response.destroyed) return
  if (fault && isConnectionFault(fault))
    return applyConnectionFault(response, fault, parts.randomBytes)
  const reply =
    retryAfter === undefined
      ? applyFault(correct, fault, { target, parts })
      : createRateLimitReply(retryAfter)
  observer.onReply(reply.status)
  const delivery =
    fault === undefined || isReplyFault(fault) || isRowFault(fault) ? undefined : fault
  await sendVendorReply(response, reply, { fault: delivery, timers })
}

/** A request whose reply is replaced is not executed, so a write has no effect. */
function isReplyReplaced(fault: Fault | undefined): boolean {
  return fault !== undefined && (isConnectionFault(fault) || isReplyFault(fault))
}

function applyFault(
  correct: VendorReply,
  fault: Fault | undefined,
  { target, parts }: { readonly target: RequestTarget; readonly parts: AnswerRequestDeps },
): VendorReply {
  if (fault && isReplyFault(fault)) return createFaultReply(fault, parts)
  return fault && isRowFault(fault) && isQuestionName(target)
    ? applyRowFault(correct, fault, target)
    : correct
}

function normalizePath(request: IncomingMessage): string {
  const path = pathOf(request).toLowerCase()
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

/** Limits the requests of each question in any 60 seconds. */
export class VendorRateLimiter {
  readonly #perMinute: number
  #accepted = new Map<RequestTarget, MinuteWindow>()

  /** Infinity means no limit. */
  constructor(perMinute: number) {
    this.#perMinute = perMinute
  }

  /**
   * Counts a request, or returns the seconds after which one would be accepted. Refused requests do not
   * count, so a client that keeps asking is served again as soon as possible.
   */
  acquire(target: RequestTarget, now: number): number | undefined {
    if (this.#perMinute === Number.POSITIVE_INFINITY) return undefined
    const accepted = this.#accepted.get(target) ?? new MinuteWindow()
    this.#accepted.set(target, accepted)
    return accepted.tryAdd(this.#perMinute, now)
  }

  reset(): void {
    this.#accepted = new Map()
  }
}
