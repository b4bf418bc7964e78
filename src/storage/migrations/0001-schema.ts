/**
 * The schema of both engines, written in the words of SQLite. Rows of table audit are changed or deleted only by a transaction
 * that has set `audit_open`, which nobody else sees.
 */
import { type Kysely, PostgresAdapter, sql } from 'kysely'

const tables: readonly string[] = [
  `create table accounts (
    id text primary key, kind text not null, name text not null,
    agents_may_remove integer not null, created_at bigint not null,
    country text default 'US' not null, may_scan integer default 1 not null,
    auto_prefix integer default 0 not null, scan_credits integer, webhook_secret text,
    ignores_repeated_add bigint default 0 not null, numbers_per_scrub integer,
    ai_keeps_voice_windows integer default 0 not null)`,
  `create table api_keys (
    id text primary key, account_id text not null references accounts (id), key_hash text not null unique,
    label text not null, role text not null, created_at bigint not null, revoked_at bigint,
    rights text not null, projects text, call_kinds text,
    expires_at bigint, call_limits text, not_before bigint, version integer default 1 not null,
    root text not null, is_personal integer not null)`,
  `create table projects (
    account_id text not null references accounts (id), code text not null, name text not null,
    status text not null, industry_exemption integer not null,
    voip_restricted integer not null, inherits_internal_dnc integer not null,
    inherits_ebr integer not null, created_at bigint not null, modified_at bigint not null,
    notes text, san text, org_id text, webhook_url text, ftc_status text, ftc_message text,
    ftc_checked_at bigint, ftc_expires_on text, ftc_entire_us integer default 0 not null,
    ftc_area_codes text default '' not null,
    constraint projects_key primary key (account_id, code))`,
  `create table campaigns (
    id integer primary key autoincrement, account_id text not null, project_code text not null,
    name text not null, is_default integer not null, status text not null,
    constraint campaigns_project foreign key (account_id, project_code) references projects (account_id, code))`,
  `create table project_hours (
    account_id text not null, project_code text not null, region text not null, mon_fri text not null,
    sat text not null, sun text not null, effective_from text, effective_until text,
    constraint project_hours_project foreign key (account_id, project_code) references projects (account_id, code))`,
  `create index project_hours_lookup on project_hours (account_id, project_code, region)`,
  // Internal lists. Sequences of the database order opt-outs and consents, since clocks of servers differ.
  `create table internal_dnc (
    account_id text not null references accounts (id), list text not null, number text not null,
    added_at bigint not null, modified_at bigint not null, removed_at bigint, opted_out_at bigint not null,
    stored_at bigint not null, opted_out_seq bigint not null, key_id text,
    opted_out_by_date integer not null,
    constraint internal_dnc_key primary key (account_id, list, number))`,
  `create table internal_dnc_lists (
    account_id text not null references accounts (id), list text not null, modified_at bigint not null,
    constraint internal_dnc_lists_key primary key (account_id, list))`,
  `create table ebr_records (
    id integer primary key autoincrement, account_id text not null references accounts (id),
    project_code text not null, number text not null, type text not null, contact_on text not null,
    contact_at bigint, obligation_ends_on text, reference_num text, brand text, email text,
    recorded_at bigint not null, stored_at bigint not null, superseded_at bigint,
    stored_seq bigint not null, lifts_opt_out integer not null, key_id text not null,
    imported integer not null, erase_at bigint, consent text, confirmed_on text)`,
  `create unique index ebr_records_in_force on ebr_records (account_id, project_code, number) where superseded_at is null`,
  `create index ebr_records_erase_at on ebr_records (erase_at) where erase_at is not null`,
  `create index ebr_records_of_number on ebr_records (account_id, number)`,
  `create table access_tokens (
    token_hash text primary key, key_id text not null references api_keys (id), expires_at bigint not null,
    call_limits text)`,
  `create index access_tokens_expiry on access_tokens (expires_at)`,
  `create table state_registrations (
    account_id text not null, project_code text not null, state text not null, status text not null,
    confirmation text, submitted_at bigint,
    constraint state_registrations_key primary key (account_id, project_code, state),
    constraint state_registrations_project foreign key (account_id, project_code) references projects (account_id, code))`,
  `create table legal_entities (
    id integer primary key autoincrement, account_id text not null references accounts (id),
    is_default integer not null, legal_name text not null, ein text not null, street_address text not null,
    city text not null, state text not null, zip text not null, country_code text not null,
    primary_phone_number text not null, more text not null, created_at bigint not null,
    modified_at bigint not null)`,
  `create index legal_entities_account on legal_entities (account_id)`,
  `create table monitored_numbers (
    account_id text not null references accounts (id), number text not null, label text,
    legal_entity_id integer, service_type text, added_at bigint not null, due_at bigint not null,
    checked_at bigint, medium_at bigint, high_at bigint, span_at bigint, heard integer default 0 not null,
    flagged integer default 0 not null, looks integer default 0 not null,
    medium_looks integer default 0 not null, high_looks integer default 0 not null,
    constraint monitored_numbers_key primary key (account_id, number))`,
  `create index monitored_numbers_due on monitored_numbers (due_at)`,
  `create table label_observations (
    id integer primary key autoincrement, account_id text not null, number text not null,
    first_at bigint not null, last_at bigint not null, looks integer not null, answered integer not null,
    flagged integer not null, complete integer not null,
    constraint label_observations_key unique (account_id, number, first_at))`,
  `create index label_observations_age on label_observations (last_at)`,
  `create table flag_removals (
    id integer primary key autoincrement, account_id text not null, number text not null,
    source text not null, removed_at bigint not null)`,
  `create index flag_removals_account on flag_removals (account_id, removed_at)`,
  `create index flag_removals_age on flag_removals (removed_at)`,
  `create table scan_jobs (
    id text primary key, account_id text not null references accounts (id), status text not null,
    scan_type text not null, notification_url text not null, notification_key text,
    phone_count integer not null, processed_count integer not null, credits_taken integer not null,
    idle_passes integer not null, due_at bigint not null, created_at bigint not null, finished_at bigint,
    failure text)`,
  `create index scan_jobs_open on scan_jobs (account_id, due_at, finished_at) where finished_at is null`,
  `create index scan_jobs_finished on scan_jobs (finished_at) where finished_at is not null`,
  `create table scan_numbers (
    job_id text not null references scan_jobs (id), position integer not null, number text not null,
    result text,
    constraint scan_numbers_key primary key (job_id, position))`,
  `create table webhook_events (
    id text primary key, account_id text not null references accounts (id), kind text not null,
    subject text not null, event text not null, url text not null, lane text not null, api_key text,
    body text not null, state text not null, attempts integer not null, next_attempt_at bigint,
    created_at bigint not null)`,
  `create index webhook_events_due on webhook_events (lane, next_attempt_at, id) where next_attempt_at is not null`,
  `create index webhook_events_subject on webhook_events (account_id, kind, subject)`,
  `create table webhook_attempts (
    event_id text not null references webhook_events (id), attempt integer not null,
    sent_at bigint not null, http_status integer, error text,
    constraint webhook_attempts_key primary key (event_id, attempt))`,
  // One row: the newest change and audit row, and the newest instant at which anything was stored.
  `create table change_head (
    id integer primary key, seq bigint not null, newest_at bigint not null,
    acceptances integer default 0 not null, audit_seq bigint default 0 not null,
    audit_open integer default 0 not null, audit_key text not null,
    installation text not null)`,
  // Requests to erase a number.
  `create table erasures (
    id text primary key, number text, account_id text, includes_allowed integer not null,
    requested_by text not null, reason text, requested_at bigint not null, rows text not null,
    decisions_erased integer, decisions_kept integer, finished_at bigint)`,
  // What has changed, in the order of the commits, for the other servers of a PostgreSQL database. Empty in SQLite, which has one server.
  `create table changes (
    seq bigint primary key, account_id text, numbers text, at bigint not null,
    all_numbers integer default 1 not null)`,
  // The versions of number lists that servers of one PostgreSQL database share. Empty in SQLite.
  `create table list_versions (
    name text not null, version text not null, sha256 text not null, bytes bigint not null,
    entries bigint not null, as_of bigint not null, in_force integer not null, published_at bigint not null,
    published_by text not null,
    constraint list_versions_key primary key (name, version))`,
  // How much of a limit of all servers of a database together has been taken.
  `create table shared_limits (
    key text primary key, taken bigint not null, expires_at bigint not null)`,
  `create index shared_limits_expiry on shared_limits (expires_at)`,
  // The state of an edge's copy, and the opt-outs that the edge has not delivered.
  `create table edge_copy (
    id integer primary key, account_id text not null, cursor text not null, missing text,
    current_at bigint not null)`,
  `create table edge_opt_outs (
    account_id text not null, project text not null, list text not null, number text not null,
    added_at bigint not null,
    constraint edge_opt_outs_of_projects_key primary key (account_id, project, number))`,
  // The limits of each version of a key.
  `create table key_versions (
    key_id text not null references api_keys (id), version integer not null, limits text not null,
    changed_at bigint not null, changed_by text not null,
    constraint key_versions_key primary key (key_id, version))`,
  // Keys, accounts and checks that an operator has paused.
  `create table pauses (
    subject text primary key, account_id text not null, paused_at bigint not null, paused_by text not null,
    reason text not null)`,
  `create table approvals (
    id text primary key, account_id text not null, key_id text not null, subject text not null,
    subject_hash text not null, state text not null, requested_at bigint not null,
    expires_at bigint not null, decided_by text, decided_at bigint, note text, decision_id text)`,
  `create index approvals_account on approvals (account_id, expires_at)`,
  // Calls that limits count.
  `create table attempts (
    decision_id text primary key, key_id text not null, account_id text not null, number text not null,
    at bigint not null, subject text, person text, placed integer, purpose text not null, reach integer)`,
  `create index attempts_key on attempts (key_id, at)`,
  `create index attempts_number on attempts (key_id, number, at)`,
  `create index attempts_at on attempts (at)`,
  `create index attempts_of_number on attempts (account_id, number, at)`,
  `create index attempts_of_person on attempts (account_id, person, at) where person is not null`,
  // Permits of single calls that a SIP edge can check, and the keys that sign them.
  `create table permits (
    id text primary key, account_id text not null, decision_id text not null, key_id text not null,
    edge text not null, number text not null, caller_id text not null, call_kind text not null,
    project_id text, campaign_id text, postal_code text, purpose text, subject text, person text,
    asked_kinds text, state text not null, issued_at bigint not null, expires_at bigint not null,
    ended_at bigint, channel text)`,
  `create index permits_expiry on permits (expires_at)`,
  `create index permits_decision on permits (decision_id)`,
  `create table permit_keys (
    edge text not null, serial integer not null, private_key text not null, signs_from bigint not null,
    constraint permit_keys_key primary key (edge, serial))`,
  // What people said when they opted out: its scope, how it came in and when.
  `create table opt_out_statements (
    account_id text not null, id text not null, list text not null, number text not null, decision_id text,
    source text not null, said text, heard_at bigint not null, key_id text not null, scope text not null,
    channel text not null, received_at bigint not null, understood integer not null, read_at bigint,
    read_by text, goods text,
    constraint opt_out_statements_key primary key (account_id, id))`,
  `create index opt_out_statements_number on opt_out_statements (number)`,
  // The caller IDs that calls of an account can show.
  `create table caller_ids (
    account_id text not null references accounts (id), number text not null, project text not null,
    owner text not null, proof text not null, carrier text, attestation text, valid_from bigint,
    valid_until bigint, callback_tested_at bigint, added_at bigint not null, added_by text not null,
    ended_at bigint, ended_by text, presence text,
    constraint caller_ids_key primary key (account_id, number, project, added_at))`,
  // Requests for a decision that may be sent again.
  `create table repeated_requests (
    key_id text not null, key text not null, fingerprint text not null, decision_id text, at bigint not null,
    constraint repeated_requests_key primary key (key_id, key))`,
  `create index repeated_requests_at on repeated_requests (at)`,
  // What shows that consents were given.
  `create table consents (
    id text primary key, account_id text not null references accounts (id), project_code text not null,
    number text not null, given_at bigint not null, seller text not null, channel text not null,
    method text not null, wording text not null, wording_sha256 text not null, page text, certificate text,
    person text, purposes text, kinds text, ends_on text, recorded_at bigint not null, key_id text not null,
    erase_at bigint)`,
  `create index consents_of_number on consents (account_id, number)`,
  // Answered and abandoned calls by campaign and period, and how each answered call counts.
  `create table abandonment_counts (
    account_id text not null references accounts (id), campaign text not null, rule text not null,
    period_start bigint not null, period_end bigint not null, answered integer not null,
    abandoned integer not null, unanswered integer not null,
    disconnected_early integer not null,
    constraint abandonment_counts_key primary key (account_id, campaign, rule, period_start))`,
  `create index abandonment_counts_current on abandonment_counts (account_id, period_end)`,
  `create table answered_calls (
    decision_id text not null primary key, at bigint not null, answered_by text, answered_at bigint,
    greeting_ended_at bigint, connected_at bigint, counted text not null, rang text not null)`,
  `create index answered_calls_at on answered_calls (at)`,
  `create table do_not_originate (
    prefix text not null, source text not null, imported_at bigint not null, imported_by text not null,
    constraint do_not_originate_key primary key (prefix, source))`,
  // Which accounts may use lists of other accounts; one right for each list at a time.
  `create table list_rights (
    account_id text not null references accounts (id), list text not null, owner_id text not null,
    because text not null, granted_at bigint not null, granted_by text not null, ended_at bigint,
    ended_by text,
    constraint list_rights_key primary key (account_id, list, granted_at))`,
  `create unique index list_rights_current on list_rights (account_id, list) where ended_at is null`,
  // Who changed what and who read about whom, in the order of the commits. `mark`, `change_head.installation` and
  // `journal_positions` show that a database and a journal belong together.
  `create table audit (
    seq bigint primary key, at bigint not null, account_id text not null, who text not null,
    door text not null, action text not null, subject_kind text not null, subject text not null,
    before text, after text, reason text, mark text not null)`,
  `create index audit_newest on audit (account_id, at, seq)`,
  `create index audit_subject on audit (subject)`,
  `create table journal_positions (
    origin text primary key, seq bigint not null, leaf text not null)`,
  // Who is signed in to the console. Of a session's secret only the hash is stored.
  `create table console_sessions (
    hash text primary key, account_id text not null, key_id text not null, created_at bigint not null,
    used_at bigint not null, person text, role text)`,
  // Changes that one person has asked for and another one must approve.
  `create table change_requests (
    id text primary key, account_id text not null, kind text not null, what text not null, endpoint text,
    request text, request_hash text not null, reason text, asked_by text not null, asked_id text not null,
    asked_at bigint not null, expires_at bigint not null, state text not null, decided_by text,
    decided_at bigint, note text, problem text, asked_seq bigint not null)`,
  `create index change_requests_newest on change_requests (account_id, asked_at)`,
  // When keys were last used. Apart from the keys, which edges copy and each change of which other servers follow.
  `create table key_uses (key_id text primary key, used_at bigint not null)`,
  // The events of voice platforms, the calls that they are about, and unclear opt-outs.
  `create table platform_calls (
    account_id text not null, platform text not null, id text not null, decision_id text, number text,
    registered_at bigint, has_call_id integer default 0 not null, answered_at bigint, ended_at bigint,
    heard_at bigint, opted_out_at bigint, fetched_at bigint, changed_at bigint not null,
    constraint platform_calls_key primary key (account_id, platform, id))`,
  `create index platform_calls_number on platform_calls (number)`,
  `create index platform_calls_account_id_platform_registered_at on platform_calls (account_id, platform, registered_at)`,
  `create index platform_calls_changed_at on platform_calls (changed_at)`,
  `create table platform_call_ids (
    account_id text not null, platform text not null, call_id text not null, call text not null,
    constraint platform_call_ids_key primary key (account_id, platform, call_id))`,
  `create index platform_call_ids_account_id_platform_call on platform_call_ids (account_id, platform, call)`,
  `create table platform_events (
    account_id text not null, id text not null, platform text not null, key_id text not null,
    received_at bigint not null, stored_at bigint not null, delivery text, body text not null,
    query text not null, read_at bigint,
    constraint platform_events_key primary key (account_id, id))`,
  `create index platform_events_read_at_stored_at on platform_events (read_at, stored_at)`,
  `create table platform_event_parts (
    account_id text not null, event_id text not null, part integer not null, platform text not null,
    call text, state text not null, is_whole integer not null, received_at bigint not null,
    stored_at bigint not null, content text not null,
    constraint platform_event_parts_key primary key (account_id, event_id, part))`,
  `create index platform_event_parts_account_id_platform_call on platform_event_parts (account_id, platform, call)`,
  `create index platform_event_parts_state_stored_at on platform_event_parts (state, stored_at)`,
  `create table unclear_opt_outs (
    account_id text not null, id text not null, platform text not null, kind text not null,
    call text not null, event_id text not null, decision_id text, number text, said text,
    heard_at bigint not null, resolved_at bigint, resolved_by text, resolution text,
    constraint unclear_opt_outs_key primary key (account_id, id))`,
  `create index unclear_opt_outs_resolved_at_kind on unclear_opt_outs (resolved_at, kind)`,
  `create index unclear_opt_outs_number on unclear_opt_outs (number)`,
  `create table platform_reports (
    account_id text not null, platform text not null, can_fetch integer, reported_at bigint not null,
    constraint platform_reports_key primary key (account_id, platform))`,
  // Who has signed in.
  `create table people (
    id text primary key, account_id text not null, role text not null, email text,
    able_since bigint not null)`,
]

/** The decisions of all servers, copied from their journals. An id begins with its instant, so a range of ids is a month. */
const sharedTables: readonly string[] = [
  `create table journals (
    origin text collate "C" primary key, next_seq bigint not null, removed_before bigint not null,
    shipped integer not null, seen_at bigint not null, copied_until bigint not null, last_record text collate "C")`,
  `create table erased_journals (
    erasure_id text collate "C" not null, origin text collate "C" not null, rows_done integer not null, erased integer, kept integer,
    constraint erased_journals_key primary key (erasure_id, origin))`,
  `create table decision_blocks (
    last_id text collate "C" not null, first_id text collate "C" not null, origin text collate "C" not null, first_seq bigint not null,
    decisions integer not null, amends integer not null, terms bytea not null, body bytea not null,
    primary key (last_id, first_id, origin, first_seq)) partition by range (last_id)`,
  // A search reads the terms of many blocks; the body is compressed already.
  `alter table decision_blocks
    alter column terms set storage main, alter column body set storage external`,
  `create table recorded_outcomes (
    id text collate "C" not null, origin text collate "C" not null, outcome text not null,
    primary key (id, origin)) partition by range (id)`,
]

const refusal = 'rows of table audit are neither changed nor deleted'

const sqliteTriggers: readonly string[] = ['update', 'delete'].map(
  (change) => `create trigger audit_${change} before ${change} on audit
      when (select audit_open from change_head) = 0
      begin select raise(abort, '${refusal}'); end`,
)

const postgresTriggers: readonly string[] = [
  `create function refuse_audit_change() returns trigger language plpgsql as $$
    begin
      if (select audit_open from change_head) = 0 then
        raise exception '${refusal}';
      end if;
      if tg_op = 'DELETE' then return old; end if;
      return new;
    end $$`,
  `create trigger audit_kept before update or delete on audit
    for each row execute function refuse_audit_change()`,
]

/** SQLite's integers have 64 bits, and its texts are compared by their bytes. */
const toPostgres = (table: string) =>
  table
    .replace(
      'integer primary key autoincrement',
      'bigint generated by default as identity primary key',
    )
    .replace(/ text\b/g, ' text collate "C"')

const insertHead = (key: string, installation: string) =>
  `insert into change_head (id, seq, newest_at, audit_key, installation) values (1, 0, 0, ${key}, ${installation})`

const sqlite: readonly string[] = [
  ...tables,
  ...sqliteTriggers,
  insertHead('lower(hex(randomblob(32)))', 'lower(hex(randomblob(16)))'),
]

const postgres: readonly string[] = [
  ...tables.map(toPostgres),
  ...sharedTables,
  ...postgresTriggers,
  insertHead(
    `replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')`,
    `replace(gen_random_uuid()::text, '-', '')`,
  ),
]

export async function up(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  for (const statement of isPostgres ? postgres : sqlite) await sql.raw(statement).execute(db)
}
