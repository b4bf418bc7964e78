/**
 * What decisions rest on, as their records name it, and the entries of the audit table in the journal that show it: each is a
 * record of the same tree.
 */
import { parseCampaignId, parseProjectCode } from '../../domain/caller.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatDay, parseInstant } from '../../domain/time/dates.js'
import { toLocalTime } from '../../domain/time/time-zones.js'
import type { DecisionDocument, FindingDocument } from '../../gate/record/decision-document.js'
import { listRecordedPlaces, readRecord } from '../../gate/record/read-record.js'
import type { AuditRecord } from '../../storage/audit/audit-log.js'
import type { Question } from './question.js'

/** A record with an entry of the audit table. */
export interface Change extends Pick<AuditRecord, 'at' | 'action'> {
  readonly record: number
  readonly consentId?: string | undefined
}

/** The version of a list that decisions name. */
export interface NamedList {
  readonly name: string
  readonly version: string
  readonly asOf: string
  /** Of decisions that name it, by their `decidedAt`. */
  readonly firstAt: string
  lastAt: string
  /** Of its import and of its use. */
  readonly changes: Change[]
  /** Of the latest of those; each an entry of the audit table. */
  readonly facts: object[]
}

/** What one server used from an entry of the audit table on: its settings, or its calling rules. */
export interface InUse {
  readonly kind: string
  readonly host: string
  readonly version: string
  readonly at: Instant
  readonly record: number
}

/** The calls of a local day to a region, by the version of the calling rules that they were judged by. */
export interface RegionDay {
  readonly region: string
  readonly day: number
  readonly version: string
}

interface AccountBasis {
  readonly numbers: Set<string>
  readonly callerIds: Set<string>
  readonly projects: Set<string>
  readonly campaigns: Set<number>
  readonly keys: Set<string>
}

const getOrAdd = <Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value => {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

const keptKinds: ReadonlySet<string> = new Set([...['key', 'project', 'pause', 'caller-id']])
const importsOfRecords: ReadonlySet<string> = new Set([
  'opt-outs.imported',
  'consent-records.imported',
])
const subjectOfNumber = '"subject":{"kind":"number"'

export class Basis {
  /** By id. */
  readonly accounts = new Map<string, AccountBasis>()
  readonly lists = new Map<string, NamedList>()
  readonly regionDays = new Map<string, RegionDay>()
  /** In use at one of the decisions. */
  readonly inUse = new Map<number, InUse & { readonly body: Buffer }>()
  hasReassigned = false
  readonly #question: Question
  /** Entries about keys, projects, pauses and own numbers, by account, kind and id. */
  readonly #changes = new Map<string, Change[]>()
  /** By account and instant. */
  readonly #batches = new Map<string, Change[]>()
  readonly #listEntries: { readonly record: number; readonly entry: AuditRecord }[] = []
  /** The latest of each server and kind. */
  readonly #latest = new Map<string, InUse & { readonly body: Buffer }>()
  #hasNewInUse = false

  constructor(question: Question) {
    this.#question = question
  }

  /** Entries about numbers of persons are searched when the numbers are known. */
  addAudit(record: number, body: Buffer): void {
    if (body.includes(subjectOfNumber)) return
    const entry = readRecord('audit', { seq: record, body })
    const { action, at, accountId, subject } = entry
    if (action === 'settings.in-use' || action === 'rules.in-use') {
      this.#addInUse({
        kind: subject.kind,
        host: subject.id,
        version: readVersion(entry),
        at,
        record,
        body: Buffer.from(body),
      })
    } else if (subject.kind === 'consent-records' || importsOfRecords.has(action)) {
      getOrAdd(this.#batches, toKey(accountId, String(at)), () => []).push({ record, at, action })
    } else if (subject.kind === 'list' || subject.kind === 'import') {
      this.#listEntries.push({ record, entry })
    } else if (keptKinds.has(subject.kind)) {
      const key = toKey(accountId, subject.kind, subject.id)
      getOrAdd(this.#changes, key, () => []).push({ record, at, action })
    }
  }

  #addInUse(inUse: InUse & { readonly body: Buffer }): void {
    this.#latest.set(`${inUse.kind} ${inUse.host}`, inUse)
    this.#hasNewInUse = true
  }

  addDecision(document: DecisionDocument): void {
    if (this.#hasNewInUse) {
      for (const one of this.#latest.values()) this.inUse.set(one.record, one)
      this.#hasNewInUse = false
    }
    const { accountId, number, projectId = '', campaignId = '', callerId = '', keyId } = document
    const account = this.findAccount(accountId)
    if (number !== '') account.numbers.add(number)
    const shown = /(\d{10})$/.exec(callerId.replace(/\D/g, ''))?.[1]
    if (shown !== undefined) account.callerIds.add(shown)
    account.projects.add(parseProjectCode(accountId, projectId) ?? accountId)
    const campaign = parseCampaignId(campaignId)
    if (campaign !== undefined) account.campaigns.add(campaign)
    if (keyId !== undefined) account.keys.add(keyId)
    if (document.facts?.reassigned) this.hasReassigned = true
    for (const finding of document.findings) this.#addLists(finding, document)
    const at = parseInstant(document.judgedAt)
    if (at === undefined) return
    for (const { region, zone } of listRecordedPlaces(document)) {
      const { day } = toLocalTime(zone, at)
      const version = document.rules
      this.regionDays.set(`${region} ${formatDay(day)} ${version}`, { region, day, version })
    }
  }

  findAccount(accountId: string): AccountBasis {
    return getOrAdd(this.accounts, accountId, () => ({
      numbers: new Set(),
      callerIds: new Set(),
      projects: new Set(),
      campaigns: new Set(),
      keys: new Set(),
    }))
  }

  #addLists(finding: FindingDocument, document: DecisionDocument): void {
    for (const part of finding.parts ?? []) this.#addLists(part, document)
    const { decidedAt } = document
    for (const { name, version, asOf } of finding.lists ?? []) {
      const list = getOrAdd(this.lists, `${name} ${version}`, () => ({
        ...{ name, version, asOf, firstAt: decidedAt, lastAt: decidedAt },
        ...{ changes: [], facts: [] },
      }))
      list.lastAt = decidedAt
    }
  }

  /** Of a number in the records, or the one that was asked for. */
  isSubject(accountId: string, number: string): boolean {
    const { number: asked, accountId: askedAccount } = this.#question
    if (asked === number && (askedAccount ?? accountId) === accountId) return true
    return this.accounts.get(accountId)?.numbers.has(number) === true
  }

  /** About a key, project, pause or own number. */
  findChanges(accountId: string, kind: string, id: string): readonly Change[] {
    return this.#changes.get(toKey(accountId, kind, id)) ?? []
  }

  /** Of consents (`consent`) of several numbers, which have their project as the subject, or of imports (also `opt-out`). */
  findBatches(accountId: string, what: string, at: Instant): readonly Change[] {
    const found = this.#batches.get(toKey(accountId, String(at))) ?? []
    return found.filter(({ action }) => action.startsWith(what))
  }

  #mayShow({ accountId }: AuditRecord): boolean {
    return this.#question.without !== 'others' || accountId === this.#question.accountId
  }

  /** Must be called once, after all records. Imports name what they made in a list of summaries. */
  linkLists(): readonly NamedList[] {
    const named = [...this.lists.values()]
    for (const { record, entry } of this.#listEntries) {
      const { action, at, subject, after } = entry
      if (!this.#mayShow(entry)) continue
      const made = Array.isArray(after) ? after : [after]
      for (const one of made.map(Object)) {
        const list = [one.name, subject.id]
          .map((name) => this.lists.get(`${name} ${one.version}`))
          .find((found) => found !== undefined)
        if (list === undefined) continue
        list.changes.push({ record, at, action })
        list.facts.push(one)
      }
    }
    return named
  }
}

const toKey = (...parts: readonly string[]): string => parts.join('\n')

function readVersion({ after }: AuditRecord): string {
  const { version } = Object(after)
  return typeof version === 'string' ? version : ''
}
