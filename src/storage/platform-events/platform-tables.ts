/** Row types for the events and calls of voice platforms. */
import type { Generated } from 'kysely'

export interface PlatformTables {
  platform_calls: PlatformCallRow
  platform_call_ids: PlatformCallIdRow
  platform_events: PlatformEventRow
  platform_event_parts: PlatformEventPartRow
  platform_reports: PlatformReportRow
  unclear_opt_outs: UnclearOptOutRow
}

/** One call at a platform, outbound or inbound. */
interface PlatformCallRow {
  account_id: string
  platform: string
  /** The id of its decision. Without a decision, an id of the platform, or of the only known event. */
  id: string
  decision_id: string | null
  /** Of the person. */
  number: string | null
  /** When the proxy reported the allowed call. */
  registered_at: number | null
  /** 1 if an id of the platform is known. */
  has_call_id: Generated<number>
  answered_at: number | null
  ended_at: number | null
  /** When words of the person came. */
  heard_at: number | null
  opted_out_at: number | null
  /** When the proxy asked the platform for the words. */
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
  /** `new`: to be processed. `waiting`: the call is not identified yet. */
  state: 'new' | 'waiting' | 'done'
  /** 1 if its words are all of the call so far. */
  is_whole: number
  received_at: number
  stored_at: number
  /** JSON of a `CallEvent`. */
  content: string
}

/** A possible opt-out, which takes effect only when a person confirms it. */
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

/** The latest report of the proxy of a platform. */
interface PlatformReportRow {
  account_id: string
  platform: string
  /** 0: it has no key to ask the platform with. */
  can_fetch: number | null
  reported_at: number
}
