import type { ReportCounters } from '../../gate/journal/reports/outcome-reports.js'
import { AttemptOutcomes } from '../../service/accounts/attempt-outcomes.js'
import type { Callgate } from '../callgate.js'

/** The counters that reports to a server update. */
export function createReportCounters(
  callgate: Pick<Callgate, 'storage' | 'abandonment' | 'service' | 'data'>,
): ReportCounters {
  return {
    attempts: new AttemptOutcomes(callgate.storage),
    abandonment: callgate.abandonment,
    identities: callgate.service.ebrRecordList,
    getCallingRules: () => callgate.data.rules,
  }
}
