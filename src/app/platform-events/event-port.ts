/** Gives the event inbox access to the deciding thread: records of decisions, and the list of opt-outs. */
import type { OutcomeReport } from '../../api/gate/call-events.js'
import type { CallOutcome } from '../../domain/call-outcome.js'
import { type Caller, noLimits } from '../../domain/caller.js'
import { AppError } from '../../errors.js'
import { findDecision } from '../../gate/journal/journal-routes.js'
import { applyReport } from '../../gate/journal/reports/outcome-reports.js'
import type { CallPort, Sender } from '../../service/platform-events/call-port.js'
import type { Callgate } from '../callgate.js'
import { createReportCounters } from '../journal/report-counters.js'
import { createOptOuts } from '../service.js'

export function createEventPort(callgate: Callgate): CallPort {
  const counters = createReportCounters(callgate)
  const optOuts = createOptOuts(callgate)
  const { journal, sharedDecisions, pauses, metrics } = callgate
  const { clock, log } = callgate.runtime
  const find = (accountId: string, id: string) =>
    findDecision(journal, sharedDecisions, { accountId, id })
  /** An opt-out applies to all projects, so it does not wait until a new server can look up the project of the call. */
  const findUnlessStarting = (accountId: string, id: string) =>
    find(accountId, id).catch((cause: unknown) => {
      if (isOfKind(cause, 'not-available')) return undefined
      throw cause
    })
  return {
    findCalledNumber: async ({ accountId, decisionId }) =>
      (await find(accountId, decisionId))?.number,
    noteOutcome: async ({ decisionId, outcome, ...sender }) => {
      const { accountId } = sender
      const document = await find(accountId, decisionId)
      if (!document) return false
      const context = { document, caller: toCaller(sender), now: clock.now(), counters }
      const { state, answeredBy, dialStatus, leg, ...times } = outcome
      const isAnswered = state === 'answered'
      const known = isAnswered || state === 'failed' ? state : 'dialled'
      const note = async (more: Partial<CallOutcome>) => {
        const { dialledAt, answeredAt, endedAt } = more
        const report: OutcomeReport = {
          ...{ state: known, dialStatus, leg, dialledAt, answeredAt, endedAt },
          ...(isAnswered && { answeredBy, fromPlatform: true }),
        }
        const noted = await applyReport(report, context)
        journal.record(decisionId, noted, journal.find(accountId, decisionId) !== undefined)
      }
      try {
        await note(times).catch((cause: unknown) => {
          if (!isOfKind(cause, 'invalid-request')) throw cause
          // The platform's clock is wrong, but the outcome of the call is still known.
          return note({})
        })
      } catch (cause) {
        if (!isOfKind(cause, 'conflict')) throw cause
        log.error('a platform reported a call that was not allowed', { decisionId, err: cause })
      }
      return true
    },
    recordOptOut: async ({ report, ...sender }) => {
      const { decisionId } = report
      const call = decisionId ? await findUnlessStarting(sender.accountId, decisionId) : undefined
      await optOuts.record(toCaller(sender), {
        ...report,
        projectId: call?.projectId,
        campaignId: call?.campaignId,
      })
    },
    forgetHeldNumbers: () => pauses.forget(),
    reportPlatformEvent: ({ platform, result, cause }) => {
      metrics.countPlatformEvent(platform, result)
      if (result === 'failed') {
        log.error('an event of a platform could not be processed; trying again', {
          platform,
          cause,
        })
      }
    },
  }
}

const isOfKind = (cause: unknown, kind: AppError['kind']) =>
  cause instanceof AppError && cause.kind === kind

/** The caller is the proxy, whose key may have been revoked since. */
const toCaller = ({ accountId, keyId }: Sender): Caller => ({
  ...{ accountId, keyId, role: 'Agent', limits: noLimits },
  path: '/v1/platform-events',
})
