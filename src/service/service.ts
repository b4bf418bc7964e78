/** The parts of the compliance service that its routes and the embedded source use. */

import type { AccessCheck } from './accounts/access-check.js'
import type { AccessTokens } from './accounts/access-tokens.js'
import type { Approvals } from './accounts/approvals.js'
import type { CallerIds } from './accounts/caller-ids.js'
import type { AuditTrail } from './audit/audit-trail.js'
import type { RecordRead } from './audit/read-log.js'
import type { LegalCallTimes } from './calling-hours/legal-call-times.js'
import type { TimeLegalCheck } from './calling-hours/time-legal-check.js'
import type { TimeZoneInfo } from './calling-hours/time-zone-info.js'
import type { ConsentHistories } from './consent/consent-history.js'
import type { EbrRecordList } from './consent/ebr-record-list.js'
import type { EbrRecords } from './consent/ebr-records.js'
import type { InternalDnc } from './internal-dnc/internal-dnc.js'
import type { AccountKeys } from './keys/account-keys.js'
import type { LegalEntities } from './legal-entities/legal-entities.js'
import type { LitigatorCheck } from './lists/litigator-check.js'
import type { Lookups } from './lookups/lookups.js'
import type { ReassignedChecks } from './lookups/reassigned-checks.js'
import type { ProjectRecords } from './projects/project-records.js'
import type { ProjectRpc } from './projects/project-rpc.js'
import type { RemovedFlagsReport } from './reputation/flags-removed.js'
import type { ReputationMonitor } from './reputation/reputation-monitor.js'
import type { Scans } from './scans/scans.js'
import type { Scrub } from './scrub/scrub.js'

/** The services that evaluate calls: our own lists, records and rules. */
export interface CallServices {
  readonly timeLegal: Pick<TimeLegalCheck, 'check'>
  readonly callTimes: Pick<LegalCallTimes, 'list'>
  readonly timeZones: Pick<TimeZoneInfo, 'list'>
  readonly scrub: Pick<Scrub, 'streamRows'>
  readonly internalDnc: Pick<InternalDnc, 'add' | 'remove' | 'readStatus' | 'count'>
  readonly ebrRecords: Pick<EbrRecords, 'record'>
  readonly ebrRecordList: Pick<EbrRecordList, 'confirmIdentity' | 'list' | 'remove'>
  readonly consentHistories: Pick<ConsentHistories, 'add' | 'read' | 'judge'>
  readonly litigators: Pick<LitigatorCheck, 'check'>
  readonly audit: Pick<AuditTrail, 'list' | 'export'>
  readonly recordRead: RecordRead
}

/** Authentication, and the data of an account. */
export interface AccountServices {
  readonly tokens: Pick<AccessTokens, 'issue'>
  readonly access: Pick<AccessCheck, 'check'>
  readonly projects: Pick<ProjectRecords, 'get' | 'save' | 'update'>
  readonly projectRpc: Pick<ProjectRpc, 'handle'>
  readonly approvals: Pick<Approvals, 'list' | 'decide'>
  readonly callerIds: Pick<CallerIds, 'list' | 'add' | 'end'>
  /** Loaded when somebody asks. */
  readonly accountKeys: () => Promise<AccountKeys>
  readonly legalEntities: Pick<LegalEntities, 'list' | 'create' | 'update'>
  readonly recordRead: RecordRead
}

/** The services that depend on facts from providers or imports. */
export interface FactServices {
  readonly lookups: Pick<
    Lookups,
    'findIdentity' | 'findLineStatus' | 'findResOrBusiness' | 'verify'
  >
  readonly reassigned: Pick<
    ReassignedChecks,
    'checkEnhanced' | 'checkEnhancedOne' | 'checkBasic' | 'checkBasicOne'
  >
  readonly monitor: Pick<ReputationMonitor, 'add' | 'get' | 'all' | 'remove'>
  readonly flagsRemoved: Pick<RemovedFlagsReport, 'summary'>
  readonly scans: Pick<Scans, 'submit' | 'status'>
}

/** The part of {@link FactServices} whose requests or answers hold lists. */
export interface BulkFactServices {
  readonly reassigned: Pick<ReassignedChecks, 'checkEnhanced' | 'checkBasic'>
  readonly monitor: Pick<ReputationMonitor, 'get' | 'all' | 'remove'>
  readonly scans: Pick<Scans, 'submit' | 'status'>
}

/** The methods behind the published API. */
export interface Service extends CallServices, AccountServices, FactServices {}
