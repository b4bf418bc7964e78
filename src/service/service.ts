/** The subjects of the compliance service, as its routes and the embedded source are handed them. */
import type { AccessTokens } from './accounts/access-tokens.js'
import type { ValidateAccess } from './accounts/validate-access.js'
import type { LegalCallTimes } from './calling-hours/call-times-batch.js'
import type { TimeLegal } from './calling-hours/time-legal-batch.js'
import type { TimeZoneInfo } from './calling-hours/time-zone-info.js'
import type { Consent } from './consent/consent.js'
import type { ConsentRecords } from './consent/consent-records.js'
import type { InternalDnc } from './internal-dnc/internal-dnc.js'
import type { LegalEntities } from './legal-entities/legal-entities.js'
import type { Litigators } from './litigator.js'
import type { Lookups } from './lookups/lookups.js'
import type { ReassignedChecks } from './lookups/reassigned-checks.js'
import type { ProjectRecords } from './projects/project-records.js'
import type { ProjectRpc } from './projects/project-rpc.js'
import type { FlagsRemoved } from './reputation/flags-removed.js'
import type { ReputationMonitor } from './reputation/reputation-monitor.js'
import type { Scans } from './scans/scans.js'
import type { Scrub } from './scrub/scrub.js'

/** What a call is judged by: our own lists, records and rules. */
export interface CallSubjects {
  readonly timeLegal: Pick<TimeLegal, 'check'>
  readonly callTimes: Pick<LegalCallTimes, 'list'>
  readonly timeZones: Pick<TimeZoneInfo, 'list'>
  readonly scrub: Pick<Scrub, 'rows' | 'batches'>
  readonly internalDnc: Pick<InternalDnc, 'add' | 'remove' | 'status' | 'count'>
  readonly consent: Pick<Consent, 'record'>
  readonly consentRecords: Pick<ConsentRecords, 'list' | 'remove'>
  readonly litigators: Pick<Litigators, 'check'>
}

/** Who one is, and what is kept for an account. */
export interface AccountSubjects {
  readonly tokens: Pick<AccessTokens, 'grant'>
  readonly access: Pick<ValidateAccess, 'check'>
  readonly projects: Pick<ProjectRecords, 'get' | 'save' | 'update'>
  readonly projectRpc: Pick<ProjectRpc, 'answer'>
  readonly legalEntities: Pick<LegalEntities, 'list' | 'create' | 'update'>
}

/** What rests on facts from outside. */
export interface FactSubjects {
  readonly lookups: Pick<Lookups, 'identity' | 'lineStatus' | 'resOrBusiness' | 'verification'>
  readonly reassigned: Pick<ReassignedChecks, 'enhanced' | 'enhancedOne' | 'basic' | 'basicOne'>
  readonly monitor: Pick<ReputationMonitor, 'add' | 'get' | 'all' | 'remove'>
  readonly flagsRemoved: Pick<FlagsRemoved, 'summary'>
  readonly scans: Pick<Scans, 'submit' | 'status'>
}

/** The calls of the published API, each subject narrowed to them. */
export interface Service extends CallSubjects, AccountSubjects, FactSubjects {}
