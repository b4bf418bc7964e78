/** Row types of what voice platforms say about calls. */
import type { Generated } from 'kysely'

export interface PlatformTables {
  platform_calls: PlatformCallRow
  platform_call_ids: PlatformCallIdRow
  platform_events: PlatformEventRow
  platform_event_parts: PlatformEventPartRow
  platform_reports: PlatformReportRow
  unclear_opt_outs: UnclearOptOutRow
}

/** One call at a platform, whoever placed it. */
interface PlatformCallRow {
  account_id: string
  platform: string
  /** The id of its decision; of a call without one an id of the platform, or of the event that is all that is known of it. */
  id: string
  decision_id: string | null
  /** Of the person. */
  number: string | null
  /** When the proxy said that it was allowed. */
  registered_at: number | null
  /** 1 if an id of the platform is known. */
  has_call_id: Generated<number>
  answered_at: number | null
  ended_at: number | null
  /** When words of the person came. */
  heard_at: number | null
  opted_out_at: number | null
  /** When the proxy asked the platform for what was said. */
  fetched_at: number | null
  changed_at: number
}

/** Which call an id of a platform is about. */
interface PlatformCallIdRow {
  account_id: string
  platform: string
  call_id: string
  /** Of {@link PlatformCallRow}. */
  call: string
}

/** An event as it came. It is stored before it is read. */
interface PlatformEventRow {
  account_id: string
  /** A hash of its content, so that one that comes twice is stored once. */
  id: string
  platform: string
  /** Of the proxy. */
  key_id: string
  /** By the clock of the proxy. */
  received_at: number
  stored_at: number
  delivery: string | null
  /** As a JSON text, since PostgreSQL stores no character 0. */
  body: string
  query: string
  /** Null until its parts are stored. */
  read_at: number | null
}

/** What an event says of one call. */
interface PlatformEventPartRow {
  account_id: string
  event_id: string
  part: number
  platform: string
  /** Of {@link PlatformCallRow}; null until it is looked for. */
  call: string | null
  /** `new`: to be worked on. `waiting`: nobody knows yet whose call it was. */
  state: 'new' | 'waiting' | 'done'
  /** 1 if its words are all of the call so far. */
  is_whole: number
  received_at: number
  stored_at: number
  /** JSON of a `CallEvent`. */
  content: string
}

/** What may be an opt-out. It is in force only when a person says so. */
interface UnclearOptOutRow {
  account_id: string
  id: string
  platform: string
  kind: 'words' | 'speaker' | 'summary' | 'own-number' | 'unjoined'
  /** Of {@link PlatformCallRow}. */
  call: string
  event_id: string
  decision_id: string | null
  number: string | null
  said: string | null
  heard_at: number
  /** Null until a person, or a later event, has cleared it up. */
  resolved_at: number | null
  resolved_by: string | null
  resolution: 'confirmed' | 'dismissed' | 'joined' | null
}

/** What the proxy of a platform says of itself. */
interface PlatformReportRow {
  account_id: string
  platform: string
  /** 0: it has no key to ask the platform with. */
  can_fetch: number | null
  reported_at: number
}
