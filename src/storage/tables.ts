/**
 * Row types of all tables. Instants are milliseconds since the epoch, days are `YYYY-MM-DD`,
 * numbers are ten digits, truth values are 0 and 1.
 */
import type { Generated, Kysely } from 'kysely'
import type { ChangeRequestRow, PersonRow } from './change-request-row.js'
import type { InternalDncListRow, ListVersionRow } from './list-tables.js'
import type { PlatformTables } from './platform-events/platform-tables.js'
import type {
  AbandonmentCountRow,
  AccessTokenRow,
  AnsweredCallRow,
  AttemptRow,
  AuditRow,
  CallerIdRow,
  ConsentRow,
  ConsoleSessionRow,
  DecisionBlockRow,
  DoNotOriginateRow,
  ErasedJournalRow,
  FlagRemovalRow,
  JournalPositionRow,
  KeyUseRow,
  LabelObservationRow,
  LegalEntityRow,
  ListRightRow,
  MonitoredNumberRow,
  OptOutStatementRow,
  PermitKeyRow,
  PermitRow,
  RecordedOutcomeRow,
  RepeatedRequestRow,
  ScanJobRow,
  ScanNumberRow,
  WebhookAttemptRow,
  WebhookEventRow,
} from './service-tables.js'

export type * from './service-tables.js'

export interface Tables extends PlatformTables {
  accounts: AccountRow
  api_keys: ApiKeyRow
  key_versions: KeyVersionRow
  key_uses: KeyUseRow
  pauses: PauseRow
  attempts: AttemptRow
  answered_calls: AnsweredCallRow
  abandonment_counts: AbandonmentCountRow
  caller_ids: CallerIdRow
  do_not_originate: DoNotOriginateRow
  approvals: ApprovalRow
  change_requests: ChangeRequestRow
  console_sessions: ConsoleSessionRow
  people: PersonRow
  projects: ProjectRow
  campaigns: CampaignRow
  project_hours: ProjectHoursRow
  internal_dnc: InternalDncRow
  internal_dnc_lists: InternalDncListRow
  change_head: ChangeHeadRow
  changes: ChangeRow
  audit: AuditRow
  edge_copy: EdgeCopyRow
  edge_opt_outs: EdgeOptOutRow
  opt_out_statements: OptOutStatementRow
  ebr_records: EbrRecordRow
  consents: ConsentRow
  erasures: ErasureRow
  erased_journals: ErasedJournalRow
  journals: JournalRow
  journal_positions: JournalPositionRow
  decision_blocks: DecisionBlockRow
  recorded_outcomes: RecordedOutcomeRow
  access_tokens: AccessTokenRow
  state_registrations: StateRegistrationRow
  legal_entities: LegalEntityRow
  monitored_numbers: MonitoredNumberRow
  label_observations: LabelObservationRow
  flag_removals: FlagRemovalRow
  scan_jobs: ScanJobRow
  scan_numbers: ScanNumberRow
  webhook_events: WebhookEventRow
  webhook_attempts: WebhookAttemptRow
  repeated_requests: RepeatedRequestRow
  shared_limits: SharedLimitRow
  list_versions: ListVersionRow
  list_rights: ListRightRow
  permits: PermitRow
  permit_keys: PermitKeyRow
}

export type Db = Kysely<Tables>

export interface AccountRow {
  id: string
  kind: 'real' | 'sandbox'
  name: string
  /** Whether role Agent may take numbers off the internal list. */
  agents_may_remove: number
  /** Decides which carriers label the account's numbers. */
  country: Generated<'US' | 'CA'>
  /** Whether one-time scans are allowed at all. */
  may_scan: Generated<number>
  /** Remaining one-time scans of numbers; null is no limit. */
  scan_credits: number | null
  /** Whether new project codes get `<account>_` in front. */
  auto_prefix: Generated<number>
  /** Signs the account's webhooks; created when first needed. */
  webhook_secret: string | null
  /** Whether adding a number that is already on the internal list changes nothing at all. */
  ignores_repeated_add: Generated<number>
  /** Maximum number of numbers in one scrub; null is the published maximum. */
  numbers_per_scrub: number | null
  /** Whether the AI flag of a scrub also follows the windows for recorded voices. */
  ai_keeps_voice_windows: Generated<number>
  created_at: number
}

export interface ApiKeyRow {
  id: string
  account_id: string
  /** SHA-256 of the key, in hex; the key itself is shown once and never stored. */
  key_hash: string
  label: string
  role: 'Agent' | 'Supervisor' | 'Administrator'
  created_at: number
  revoked_at: number | null
  /** Words separated by commas. */
  rights: string
  /** Codes separated by commas; null is any project. */
  projects: string | null
  /** Words separated by commas; null is any kind of call. */
  call_kinds: string | null
  not_before: number | null
  expires_at: number | null
  /** What else limits its calls, as JSON; null is no limit. */
  call_limits: string | null
  /** Of its limits; see {@link KeyVersionRow}. */
  version: Generated<number>
  /** Who is behind it; empty at an edge. `is_personal` is 1 for their own key, and 0 for that of a program. */
  root: string
  is_personal: number
}

/** What a key was limited to, as evidence of what it could do when. */
interface KeyVersionRow {
  key_id: string
  version: number
  /** JSON. */
  limits: string
  changed_at: number
  changed_by: string
}

interface PauseRow {
  /** See `PauseSubject` in `src/domain/mandate.ts`. */
  subject: string
  /** Empty for all accounts. */
  account_id: string
  paused_at: number
  paused_by: string
  reason: string
}

/** A call that a key asks for, which waits for a person, or waited. */
export interface ApprovalRow {
  id: string
  account_id: string
  key_id: string
  /** Exactly what is approved, as JSON. */
  subject: string
  /** SHA-256 of it, in hex. */
  subject_hash: string
  state: 'waiting' | 'approved' | 'refused' | 'used'
  requested_at: number
  /** From then on it can be neither approved nor used. */
  expires_at: number
  decided_by: string | null
  decided_at: number | null
  note: string | null
  /** That used it. */
  decision_id: string | null
}

export interface ProjectRow {
  account_id: string
  /** The Master Project has the account's id as its code. */
  code: string
  name: string
  status: 'active' | 'inactive'
  /** An industry exemption lifts list matches (letter `X`). */
  industry_exemption: number
  /** Treats VoIP like wireless in states that bar sales calls to wireless numbers. */
  voip_restricted: number
  /** Uses the Master Project's internal do-not-call list. */
  inherits_internal_dnc: number
  /** Uses the Master Project's relationship and permission records. */
  inherits_ebr: number
  notes: string | null
  /** Subscription account number of the federal registry, or the organization's id there. */
  san: string | null
  org_id: string | null
  webhook_url: string | null
  /** Null as long as the project has neither `san` nor `org_id`. */
  ftc_status: FtcStatus | null
  ftc_message: string | null
  ftc_checked_at: number | null
  /** Last day of the registration. */
  ftc_expires_on: string | null
  ftc_entire_us: Generated<number>
  /** Comma-separated. */
  ftc_area_codes: Generated<string>
  created_at: number
  modified_at: number
}

export const ftcStatuses = ['pending', 'validated', 'failed', 'expired'] as const
export type FtcStatus = (typeof ftcStatuses)[number]

export const registrationStatuses = [
  'draft',
  'submitted',
  'approved',
  'rejected',
  'expired',
] as const
export type RegistrationStatus = (typeof registrationStatuses)[number]

/** A project's registration as a telephone solicitor in one state. */
export interface StateRegistrationRow {
  account_id: string
  project_code: string
  state: string
  status: RegistrationStatus
  confirmation: string | null
  submitted_at: number | null
}

export interface CampaignRow {
  id: Generated<number>
  account_id: string
  project_code: string
  name: string
  is_default: number
  status: 'active' | 'inactive'
}

/** A project's own calling hours for one region, each day part `HH:MM-HH:MM` or `none`. */
export interface ProjectHoursRow {
  account_id: string
  project_code: string
  region: string
  mon_fri: string
  sat: string
  sun: string
  /** First and last local day, both inclusive; null is open. */
  effective_from: string | null
  effective_until: string | null
}

export interface InternalDncRow {
  account_id: string
  /** Code of the project the list belongs to. */
  list: string
  number: string
  added_at: number
  modified_at: number
  /** Null while the number is on the list; kept afterwards as evidence. */
  removed_at: number | null
  /** The latest opt-out of the number, even if it was on the list already. */
  opted_out_at: number
  /** When that was written, by the machine's clock. Evidence only; nothing is ordered by it. */
  stored_at: number
  /**
   * Number of the change that stored the latest opt-out, from `change_head`; orders it against
   * `ebr_records.stored_seq`. 0 where the dates alone count: of a sandbox's fixed facts, and of an
   * opt-out that was imported with a date of its own.
   */
  opted_out_seq: number
  /**
   * 1 where `opted_out_at` is the date of an imported row, which `opted_out_seq` need not belong to:
   * an older opt-out may have a number.
   */
  opted_out_by_date: number
  /** The API key that stored the latest opt-out, or `import:<source>`; null for the fixed facts of a sandbox. */
  key_id: string | null
}

/** One row, with id 1. */
interface ChangeHeadRow {
  id: number
  /** Number of the latest change. */
  seq: number
  /** The newest instant at which anything was stored, by the machine's clock. */
  newest_at: number
  /** How often an operator has confirmed that the clock is right and `newest_at` was not. */
  acceptances: Generated<number>
  /** Number of the latest row of `audit`. */
  audit_seq: Generated<number>
  /** 1 in a transaction that may delete or change rows of `audit`. */
  audit_open: Generated<number>
  /** For hashes of numbers, in hex, as the random name that follows. */
  audit_key: string
  installation: string
}

/** What has changed, for the other servers; see `postgres-feed.ts`. */
interface ChangeRow {
  seq: number
  /** Null, as the numbers: anything may have changed. */
  account_id: string | null
  /** Separated by commas. */
  numbers: string | null
  /** Whether opt-outs and consents of any number may have changed; otherwise only those of `numbers`. */
  all_numbers: Generated<number>
  /** For people: by the clock of whoever wrote. */
  at: number
}

/** See `shared-limits.ts`. */
interface SharedLimitRow {
  key: string
  /** May be more than the limit, by what was asked for last. */
  taken: number
  expires_at: number
}

/** One row, with id 1, in the database of an edge. */
interface EdgeCopyRow {
  id: number
  /** Whose rows the center gives to the key of the edge. */
  account_id: string
  /** Of the change up to which all are in the copy. */
  cursor: string
  /** What is missing in the copy, as JSON; null if it is whole. */
  missing: string | null
  /** What was stored until then is in the copy; by the clock of the edge, and up to some seconds too early. */
  current_at: number
}

/** An opt-out that was given to an edge, until it is in what the center sends. */
interface EdgeOptOutRow {
  account_id: string
  /** Code of the project for which it was given. */
  project: string
  /** Where the edge has it: code of the project whose list that one reads. */
  list: string
  number: string
  added_at: number
}

export interface EbrRecordRow {
  id: Generated<number>
  account_id: string
  project_code: string
  number: string
  type: 'S' | 'I' | 'P' | 'T'
  contact_on: string
  /** The instant of contact, where the caller gave a time of day. */
  contact_at: number | null
  /** The last day on which the person confirmed the identity in a call; null before that. */
  confirmed_on: Generated<string | null>
  obligation_ends_on: string | null
  reference_num: string | null
  brand: string | null
  email: string | null
  recorded_at: number
  /** As `recorded_at`, but always by the machine's clock; a sandbox's may be fixed. */
  stored_at: number
  /** Number of the change that stored it, from `change_head`; orders it against opt-outs. */
  stored_seq: number
  /** 1 for a record of an import: when it was stored says nothing of when the consent was given. */
  imported: number
  /** Whether it may lift an opt-out: 0 for a record of an Agent's key where Agents may not remove. */
  lifts_opt_out: number
  /** The API key that stored it, or `import:<source>`. */
  key_id: string
  /** The consent that it points to, as JSON; null if there is none. */
  consent: Generated<string | null>
  /** Null for the record in force; a replaced record is kept as evidence. */
  superseded_at: number | null
  /** When the record of an erased number is deleted; null for all others. */
  erase_at: Generated<number | null>
}

/** A request to erase a number. It is the record of the erasure too. */
export interface ErasureRow {
  /** `e` and random digits. */
  id: string
  /** Null once the decisions no longer have it, and those that edges send need not be looked through any more. */
  number: string | null
  /** Null for all accounts. */
  account_id: string | null
  /** Whether decisions that allowed a call were erased too. */
  includes_allowed: number
  requested_by: string
  reason: string | null
  requested_at: number
  /** What was done with the rows of the database, as JSON. */
  rows: string
  /** Null until {@link ErasureRow.finished_at}. */
  decisions_erased: number | null
  decisions_kept: number | null
  finished_at: number | null
}

/** A journal whose records are copied to PostgreSQL. */
export interface JournalRow {
  /** SHA-256 of its name, in hex. */
  origin: string
  /** Number of the first record that is not copied. */
  next_seq: number
  /** Its server has removed the decisions before this instant, of all servers; 0 if it has removed none. */
  removed_before: number
  /** 1 if its server is gone and all of it was copied, or was given up, so that no erasure waits for its folder. */
  shipped: number
  /** When its server was last there, to a minute. */
  seen_at: number
  /** No decision that it made before is missing; 0 while none are copied. */
  copied_until: number
  /** The newest record that is copied, as JSON of a `CopiedRecord`; null if its server does not say it. */
  last_record: string | null
}
