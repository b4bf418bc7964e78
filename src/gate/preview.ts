/** Decisions about many numbers that are shown and not made. */

import { requireInstantInRange } from '../api/gate/decisions.js'
import {
  type PreviewBody,
  type PreviewNumber,
  previewEndpoint,
  readPreviewNumber,
} from '../api/gate/preview.js'
import { createRoute, type Route } from '../api/route.js'
import { type ReasonCode, reasons } from '../domain/checks.js'
import type { CallRequest } from '../domain/decision.js'
import type { Clock } from '../domain/time/clock.js'
import { mapConcurrently } from '../runtime/yield-to-event-loop.js'
import type { Gate } from './gate.js'
import type { DecisionReply } from './record/decision-document.js'
import { replyTo } from './record/write-record.js'

/**
 * So many numbers wait for answers at once. An answer that all of them wait for, such as their project,
 * lets all go on in one turn of the event loop.
 */
const maxPending = 100

/** The call of a preview, apart from its number. */
export type PreviewCall = Omit<CallRequest, 'dialed'>

/** What a decision about the number would be. */
export async function previewDecision(
  gate: Gate,
  call: PreviewCall,
  { dialed, postalCode = call.postalCode, problem }: PreviewNumber,
): Promise<DecisionReply> {
  const request = { ...call, dialed, postalCode }
  const invalid =
    problem === undefined ? undefined : ({ code: 'invalid-fact', quote: problem } as const)
  return replyTo(await gate.preview(request, invalid))
}

export function createPreviewRoute(gate: Gate, clock: Clock): Route {
  return createRoute(previewEndpoint, async ({ accountId, keyId }, { numbers, ...fields }) => {
    if (fields.at !== undefined) requireInstantInRange(fields.at, clock.now())
    const call: PreviewCall = { ...fields, accountId, keyId, via: 'http' }
    const rows: PreviewBody['rows'][number][] = []
    const counts = new DecisionCounts()
    const documents = mapConcurrently(numbers, maxPending, (value) =>
      previewDecision(gate, call, readPreviewNumber(value)),
    )
    for await (const document of documents) {
      counts.add(document)
      rows.push(toPreviewRow(document))
    }
    return { allowed: counts.allowed, blocked: counts.blocked, reasons: counts.byReason(), rows }
  })
}

export function toPreviewRow(document: DecisionReply): PreviewBody['rows'][number] {
  const { dialed, number, postalCode, decision, reason, message } = document
  const { nextAllowedAt, nextAllowedAtLatest } = document
  const hours = document.findings.find(({ check }) => check === 'calling-hours')
  // Otherwise it does not say the rule for the hours, but why there is none.
  const hasRule = hours?.verdict === 'pass' || reasons[hours?.reason as ReasonCode]?.kind === 'time'
  const callingHours = hasRule ? hours?.detail : undefined
  return {
    dialed,
    number,
    postalCode,
    decision,
    reason,
    message,
    nextAllowedAt,
    nextAllowedAtLatest,
    callingHours,
  }
}

export class DecisionCounts {
  allowed = 0
  blocked = 0
  readonly #reasons = new Map<string, number>()

  get total(): number {
    return this.allowed + this.blocked
  }

  add({ decision, reason }: Pick<DecisionReply, 'decision' | 'reason'>): void {
    if (decision === 'allow') this.allowed += 1
    else this.blocked += 1
    this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1)
  }

  /** The most frequent reason first. */
  byReason(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#reasons].sort(([, one], [, other]) => other - one))
  }
}
