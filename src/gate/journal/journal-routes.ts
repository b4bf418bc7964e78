/**
 * The routes about a decision that was made: its record, what became of the call, and an opt-out of the
 * person called; and about calls of other systems. The routes that decide are in `http/decision-routes.ts`.
 */

import { importAttemptsEndpoint } from '../../api/gate/attempts.js'
import { type OptOutResponse, optOutEndpoint, outcomeEndpoint } from '../../api/gate/call-events.js'
import { readDecisionEndpoint } from '../../api/gate/decisions.js'
import { createRoute, type Route, requireScopeAllowed } from '../../api/route.js'
import type { CallOutcome } from '../../domain/call-outcome.js'
import type { Caller } from '../../domain/caller.js'
import type {
  OptOutReport,
  OptOutTerms,
  RecordedOptOut,
} from '../../domain/consent/consent-records.js'
import type { ImportedAttempt } from '../../domain/mandate.js'
import type { Clock } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import { AppError, invalidRequest } from '../../errors.js'
import type { DecisionDocument } from '../record/decision-document.js'
import { toReply } from '../record/describe-decision.js'
import type { Journal } from './journal.js'
import type { DecisionStore } from './projection/decision-store.js'
import { type AppliedOptOut, applyOptOut, type DecidedCall } from './reports/opt-out-reports.js'
import { applyReport, type ReportCounters } from './reports/outcome-reports.js'

type SharedDecisions = Pick<DecisionStore, 'find' | 'findNotes'>

export interface JournalRoutesDeps {
  readonly journal: Pick<Journal, 'addReceipt' | 'find' | 'index' | 'origin' | 'record'>
  /** Has the decisions of all servers, if there may be several. */
  readonly shared?: SharedDecisions | undefined
  readonly counters: ReportCounters
  readonly importedAttempts: {
    add(caller: Caller, attempts: readonly ImportedAttempt[]): Promise<void>
  }
  /** To be awaited before personal data leaves. */
  readonly recordRead: (caller: Caller, read: DecisionRead) => Promise<void>
  readonly clock: Pick<Clock, 'now'>
  readonly optOuts: {
    record(caller: Caller, report: OptOutReport): Promise<RecordedOptOut & OptOutTerms>
  }
}

export function journalRoutes(deps: JournalRoutesDeps): readonly Route[] {
  const { journal, optOuts, counters } = deps
  return [
    createRoute(readDecisionEndpoint, async (caller, { id }) => {
      const document = await requireDecision(deps, caller, id)
      const subject = { kind: 'decision', id }
      const [path] = readDecisionEndpoint.paths
      await deps.recordRead(caller, { path, what: 'decision.read', subject, rows: 1 })
      return toReply(document)
    }),
    createRoute(outcomeEndpoint, async (caller, { id, ...report }) => {
      const document = await requireDecision(deps, caller, id)
      const now = deps.clock.now()
      const outcome = await applyReport(report, { document, caller, now, counters })
      journal.record(id, outcome, journal.find(caller.accountId, id) !== undefined)
      return { recorded: true } as const
    }),
    createRoute(importAttemptsEndpoint, async (caller, { attempts: imported }) => {
      await deps.importedAttempts.add(caller, imported)
      return { recorded: true } as const
    }),
    createRoute(optOutEndpoint, async (caller, request) => {
      const findCall = (by: Caller, id: string) => findDecidedCall(deps, by, id)
      const applied = await applyOptOut(request, caller, { findCall, optOuts })
      const response = toOptOutResponse(applied)
      if (!request.receipt) return response
      const [number] = applied.numbers
      const about = { accountId: caller.accountId, number, projectId: applied.projectId }
      return { ...response, receipt: await makeReceipt(deps, about, response) }
    }),
  ]
}

/** Null if it cannot be recorded, which the journal counts and reports: the opt-out is in force all the same. */
async function makeReceipt(
  { journal }: Pick<JournalRoutesDeps, 'journal'>,
  about: {
    readonly accountId: string
    readonly number: string | undefined
    readonly projectId: string | undefined
  },
  { scope, receivedAt, effectiveAt }: OptOutResponse,
): Promise<string | null> {
  try {
    const content = { what: 'opt-out' as const, ...about, scope, receivedAt, effectiveAt }
    return await journal.addReceipt(content)
  } catch {
    return null
  }
}

function toOptOutResponse({ recorded, ignored }: AppliedOptOut): OptOutResponse {
  const { scope, receivedAt, effectiveAt, isUnderstood, lastDay, confirmBefore, rules } = recorded
  return {
    recorded: true,
    scope,
    receivedAt: formatInstant(receivedAt),
    effectiveAt: formatInstant(effectiveAt),
    understood: isUnderstood,
    lastDay,
    confirmation:
      confirmBefore === null ? null : { messages: 1, before: formatInstant(confirmBefore) },
    rules,
    ...(ignored.length > 0 && { ignored }),
  }
}

/** The number is that of the record, whatever an event of a platform says. */
async function findDecidedCall(
  deps: JournalRoutesDeps,
  caller: Caller,
  id: string,
): Promise<DecidedCall> {
  const { number, projectId, campaignId } = await requireDecision(deps, caller, id)
  if (/^\d{10}$/.test(number)) return { number, projectId, campaignId }
  const rule = 'its decision is not about a number of ten digits; send the number'
  throw invalidRequest([{ field: 'decisionId', value: id, rule }])
}

interface DecisionRead {
  readonly path: string | undefined
  readonly what: string
  readonly subject: { readonly kind: string; readonly id: string }
  readonly rows: number
}

async function requireDecision(
  { journal, shared }: JournalRoutesDeps,
  caller: Caller,
  id: string,
): Promise<DecisionDocument> {
  const found = await findDecision(journal, shared, { accountId: caller.accountId, id })
  if (found) {
    requireScopeAllowed(caller, found)
    return found
  }
  throw new AppError('not-found', `id '${id}': ${describeMissing(id, journal.index)}`)
}

/** Of this server, or of the others that share the database. */
export async function findDecision(
  journal: Pick<Journal, 'find' | 'origin'>,
  shared: SharedDecisions | undefined,
  { accountId, id }: { readonly accountId: string; readonly id: string },
): Promise<DecisionDocument | undefined> {
  let failure: unknown
  try {
    const own = journal.find(accountId, id)
    if (shared === undefined) return own
    if (own) return journal.find(accountId, id, await findNotes(shared, journal, { accountId, id }))
  } catch (cause) {
    if (shared === undefined) throw cause
    failure = cause
  }
  const found = await shared.find(accountId, id)
  if (found === undefined && failure !== undefined) throw failure
  return found
}

/** What other servers have noted about the call; nothing while the database does not answer. */
async function findNotes(
  shared: SharedDecisions,
  { origin }: Pick<Journal, 'origin'>,
  { accountId, id }: { readonly accountId: string; readonly id: string },
): Promise<Partial<CallOutcome>> {
  try {
    return await shared.findNotes(accountId, id, origin)
  } catch (cause) {
    if (cause instanceof AppError && cause.kind === 'not-available') return {}
    throw cause
  }
}

/** An id begins with its instant, so that is known even of a decision that was removed. */
function describeMissing(id: string, index: Journal['index']): string {
  const missing = 'this account has no such decision'
  const removedBefore = index?.removedBefore ?? 0
  const madeAt = parseInt(id.slice(0, 9), 36)
  if (!(madeAt < removedBefore)) return missing
  return `${missing}. Decisions from before ${formatInstant(removedBefore)} were removed after journal.keepYears`
}
