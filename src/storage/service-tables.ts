/**
 * Row types of what the service keeps beside deciding calls: tokens, legal entities, the reputation
 * monitor, scans, webhooks, permits, own numbers, blocks of decisions. Values are stored as `tables.ts` says.
 */
import type { Generated } from 'kysely'
import type { Answerer } from '../domain/call-outcome.js'
import type { OptOutChannel, OptOutScope } from '../domain/consent/consent-records.js'
import type { CallKind, CallPurpose } from '../domain/decision.js'
import type { LabelIssuer } from '../domain/spam-labels.js'

/** A bearer token; its API key may be revoked before it expires. */
export interface AccessTokenRow {
  /** SHA-256 of the token, in hex. */
  token_hash: string
  key_id: string
  expires_at: number
  /** What limits its calls further than those of the key, as JSON. */
  call_limits: string | null
}

export interface LegalEntityRow {
  id: Generated<number>
  account_id: string
  is_default: number
  legal_name: string
  /** Digits only; shown masked. */
  ein: string
  street_address: string
  city: string
  state: string
  zip: string
  country_code: string
  primary_phone_number: string
  /** The remaining fields of the create call as JSON: stored, but returned by no call. */
  more: string
  created_at: number
  modified_at: number
}

export interface MonitoredNumberRow {
  account_id: string
  number: string
  label: string | null
  legal_entity_id: number | null
  service_type: string | null
  added_at: number
  /** When its labels are checked next. */
  due_at: number
  /** When every source of the account's country answered last; null until then. */
  checked_at: number | null
  /** Sources that answered since it was added, and those that label it; bits of `label-bits.ts`. */
  heard: Generated<number>
  flagged: Generated<number>
  /** When the level was last Medium, and last High; null is never since it was added. */
  medium_at: number | null
  high_at: number | null
  /** Stored complete observations, and how many of them gave Medium and High. */
  looks: Generated<number>
  medium_looks: Generated<number>
  high_looks: Generated<number>
  /** `first_at` of the latest row of `label_observations`; null before the first. */
  span_at: number | null
}

/** Consecutive observations of a number with the same labels, per account. */
export interface LabelObservationRow {
  id: Generated<number>
  account_id: string
  number: string
  first_at: number
  last_at: number
  looks: number
  /** The sources that answered, and those of them that label the number, as bits. */
  answered: number
  flagged: number
  /** Every source of the account's country answered. */
  complete: number
}

/** A label that a source removed from a monitored number. */
export interface FlagRemovalRow {
  id: Generated<number>
  account_id: string
  number: string
  source: LabelIssuer
  removed_at: number
}

export interface ScanJobRow {
  id: string
  account_id: string
  status: 'Submitted' | 'Processing' | 'Complete' | 'Failed'
  scan_type: 'carrier' | 'carrierandapps'
  notification_url: string
  /** Deleted when the job ends: from then on the notification has it. */
  notification_key: string | null
  phone_count: number
  processed_count: number
  /** Credits the account paid, refunded if the job fails; 0 if it had no limit. */
  credits_taken: number
  /** Consecutive passes over the open numbers in which no number got a result. */
  idle_passes: number
  /** When it is continued. */
  due_at: number
  created_at: number
  finished_at: number | null
  /** Why it failed; for operators. */
  failure: string | null
}

export interface ScanNumberRow {
  job_id: string
  /** From 0, in the order of the request. */
  position: number
  number: string
  /** The number's result as JSON; null until it is processed. */
  result: string | null
}

/** A notification to a customer's address, with its attempts in `webhook_attempts`. */
export interface WebhookEventRow {
  /** `evt_` and random letters and digits. */
  id: string
  account_id: string
  /** What it is about: a scan job's id or a project's code. */
  kind: 'scan' | 'project'
  subject: string
  /** Such as `project.ftcValidation`. */
  event: string
  url: string
  /** Account and share of its receivers; see `service/webhooks/delivery-lanes.ts`. */
  lane: string
  /** Sent in the key header. */
  api_key: string | null
  /** JSON; the event kinds say what is added at each attempt. */
  body: string
  state: 'pending' | 'delivered' | 'failed'
  attempts: number
  /** Null unless pending. */
  next_attempt_at: number | null
  created_at: number
}

export interface WebhookAttemptRow {
  event_id: string
  /** From 1. */
  attempt: number
  sent_at: number
  /** Null if there was no response. */
  http_status: number | null
  error: string | null
}

/** A permit of one call for a SIP edge. Deleted some time after it has expired. */
export interface PermitRow {
  /** UUID version 7: `origid` or `jti` of the permit. */
  id: string
  account_id: string
  decision_id: string
  /** The API key that it was issued to; without it, the permit cannot be used. */
  key_id: string
  /** Name of the SIP edge in the settings. */
  edge: string
  number: string
  /** Ten digits, as the number. */
  caller_id: string
  call_kind: CallKind
  project_id: string | null
  campaign_id: string | null
  postal_code: string | null
  /** Null for the purpose that `gate.purposes` gives the call. */
  purpose: CallPurpose | null
  /** What the call is about, and the caller's name for the person called. */
  subject: string | null
  person: string | null
  /** The kinds of call that its key, or the token of it, could ask for, with commas; null for all. */
  asked_kinds: string | null
  /** `expired` is not stored: it is `issued` at or after `expires_at`. */
  state: 'issued' | 'used' | 'released' | 'void'
  issued_at: number
  expires_at: number
  /** When it was used, released or made void. */
  ended_at: number | null
  /** The first channel of an Asterisk that dialed by it, as `server/id`. */
  channel: string | null
}

/** A key pair that signs permits for a SIP edge. */
export interface PermitKeyRow {
  edge: string
  /** From 1. */
  serial: number
  /** PKCS #8 in PEM, P-256. */
  private_key: string
  /** It signs until the next one does. */
  signs_from: number
}

/** A request for a decision with an `Idempotency-Key`. */
export interface RepeatedRequestRow {
  /** The API key. */
  key_id: string
  key: string
  /** SHA-256 of what it asks, in hex. */
  fingerprint: string
  /** Null while it is being decided. */
  decision_id: string | null
  at: number
}

/** An own number of an account. All that was ever said of it is kept, as evidence. */
export interface CallerIdRow {
  account_id: string
  number: string
  /** Code of the project whose calls may show it; empty for all. */
  project: string
  owner: string
  proof: string
  carrier: string | null
  attestation: 'A' | 'B' | 'C' | null
  /** Null is open. */
  valid_from: number | null
  valid_until: number | null
  callback_tested_at: number | null
  /** What proves that the account is where the number is; null without. */
  presence: string | null
  added_at: number
  added_by: string
  /** Null while it is in force; also when it was replaced. */
  ended_at: number | null
  ended_by: string | null
}

/** Nobody may show a number that begins with the prefix. */
export interface DoNotOriginateRow {
  /** Three to ten digits. */
  prefix: string
  /** Name of the list that has it. */
  source: string
  imported_at: number
  imported_by: string
}

/** A call that was allowed and that a limit on calls counts. */
export interface AttemptRow {
  /** Of an imported one, the account and its reference. */
  decision_id: string
  /** Empty without a key. */
  key_id: string
  account_id: string
  number: string
  /** Null if the request said nothing of it. */
  subject: string | null
  person: string | null
  purpose: CallPurpose
  /** When it was allowed, or dialed. */
  at: number
  /** How far the call got, see `CallReach`; null while it is not known. */
  reach: number | null
  /** 1 once the call is known to have left. */
  placed: number | null
}

/** The calls of a campaign that persons answered in a period, as one law counts them. */
export interface AbandonmentCountRow {
  account_id: string
  /** As `nameCampaign` in `src/domain/call-outcome.ts` gives it. */
  campaign: string
  /** Id of a row of the calling rules. */
  rule: string
  period_start: number
  period_end: number
  answered: number
  abandoned: number
  /** Not answered, with times; and those that the side of the caller ended too early. */
  unanswered: number
  disconnected_early: number
}

/** What was reported of a call that was answered, or that rang; kept as long as a report may still correct it. */
export interface AnsweredCallRow {
  decision_id: string
  /** When it was allowed. */
  at: number
  answered_by: Answerer | null
  answered_at: number | null
  greeting_ended_at: number | null
  connected_at: number | null
  /** In which rows of `abandonment_counts` it is counted, and as what, as JSON. */
  counted: string
  /** The same of a call that nobody answered. */
  rang: string
}

/** What a person said when they opted out; `internal_dnc` has the opt-out. */
export interface OptOutStatementRow {
  account_id: string
  /** Of one about a decision or a reference a hash of its content, so that it is stored once. */
  id: string
  /** Code of the project the list belongs to for whose calls it was said. */
  list: string
  number: string
  decision_id: string | null
  source: string
  said: string | null
  /** When it was stored and took effect. */
  heard_at: number
  key_id: string
  scope: OptOutScope
  channel: OptOutChannel
  /** When the person said it, or it came in. */
  received_at: number
  /** 0 if a person should read the words. */
  understood: number
  /** When a person did. */
  read_at: Generated<number | null>
  read_by: Generated<string | null>
  /** The good or service that the call was about. */
  goods: Generated<string | null>
}

/** What shows that a person gave consent. None is changed; only an erasure takes from it. */
export interface ConsentRow {
  /** `c` and the number of the change that stored it. */
  id: string
  account_id: string
  /** Of the project whose records it is for. */
  project_code: string
  number: string
  given_at: number
  seller: string
  channel: string
  method: 'oral' | 'recorded' | 'written'
  /** As it was shown or read to the person. */
  wording: string
  /** In hex. */
  wording_sha256: string
  page: string | null
  /** Address of the certificate of a witness service. */
  certificate: string | null
  person: string | null
  /** JSON lists; null if nothing was said. */
  purposes: string | null
  kinds: string | null
  /** `YYYY-MM-DD`, the first day without it. */
  ends_on: string | null
  recorded_at: number
  key_id: string
  /** When the consent of an erased number is deleted; null for all others. */
  erase_at: Generated<number | null>
}

/** That an account may use lists of another one. None is changed, except that it ends. */
export interface ListRightRow {
  account_id: string
  /** A list that checks use, or `all`. */
  list: string
  /** The account whose lists they are. */
  owner_id: string
  because: string
  granted_at: number
  granted_by: string
  /** Null while it is in force; one is of each account and list. */
  ended_at: number | null
  ended_by: string | null
}

/** Decisions of one journal that were made within ten seconds; in PostgreSQL only. */
export interface DecisionBlockRow {
  /** Greatest id of its decisions. */
  last_id: string
  first_id: string
  origin: string
  /** Of the first of its records. */
  first_seq: number
  decisions: number
  /** 1 if some of them replace decisions of earlier blocks. */
  amends: number
  /** What may be in it; see `gate/journal/projection/block-terms.ts`. */
  terms: Buffer
  /** See `gate/journal/projection/block-format.ts`. */
  body: Buffer
}

/** What a journal says became of the call of a decision; in PostgreSQL only. */
export interface RecordedOutcomeRow {
  /** Of the decision. */
  id: string
  origin: string
  /** JSON of what is known of the call. */
  outcome: string
}

/** Who changed something, or read about a person; see `audit/audit-log.ts`. */
export interface AuditRow {
  /** Without gaps, in the order of the commits. */
  seq: number
  at: number
  /** Of the whole server: `main`. */
  account_id: string
  who: string
  door: string
  /** Such as `opt-out.added`. */
  action: string
  subject_kind: string
  /** Of kind `number` ten digits, of a read a keyed hash and the last four; replaced when the number is erased. */
  subject: string
  /** JSON of what changed. */
  before: string | null
  after: string | null
  reason: string | null
  /** Random, so that another row of the same number is known. */
  mark: string
}

/** A record that was on disk in a journal when it was stored, by the hash of the journal's name. */
export interface JournalPositionRow {
  origin: string
  seq: number
  /** Of the tree, in hex. */
  leaf: string
}

/** How far an erasure has come with one of the journals; in PostgreSQL only. */
export interface ErasedJournalRow {
  erasure_id: string
  origin: string
  /** 1 once what is copied of the journal no longer has the number. */
  rows_done: number
  /** Decisions in the journal; null until it is done. */
  erased: number | null
  kept: number | null
}

/** When a key was last used; see `service/keys/key-uses.ts`. */
export interface KeyUseRow {
  key_id: string
  /** To a minute. */
  used_at: number
}

/** Somebody who is signed in to the console; see `service/people/sessions.ts`. */
export interface ConsoleSessionRow {
  /** SHA-256 of its secret, in hex. */
  hash: string
  account_id: string
  /** The key that it began with, or `person:<issuer> <subject>`. */
  key_id: string
  /** The name of somebody who has signed in without a key, and as what. */
  person: string | null
  role: string | null
  created_at: number
  /** To a minute. */
  used_at: number
}
