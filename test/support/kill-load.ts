/**
 * Calls, opt-outs, lifts, consents, permits and outcomes for a server that is killed again and again, and a judge that compares
 * what was acknowledged with the rows of the database and the records of the journal, not with what the server says of them.
 */

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { JournalReader } from '../../src/gate/journal/journal-reader.js'
import type { JournalRecord } from '../../src/gate/journal/segment-format.js'
import { readRecord } from '../../src/gate/record/read-record.js'
import type { Serving } from './program.js'

export interface Killed {
  readonly dataDir: string
  query(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>
}

type Answer = Readonly<Record<string, unknown>>

/** What one client at a time turns on and off; `undefined` after a request that got no answer. */
interface Switch {
  readonly number: string
  readonly isConsent: boolean
  isOn: boolean | undefined
}

const areaCodes = '212 718 646 917 914 201 973 908 609 215 610 412 302 410 301 202'.split(' ')
/** Of states that let wireless numbers be called with a consent. */
const consentCodes = ['212', '404', '313', '503', '615', '317']
const clientsOfSwitches = 4
const callerId = '2125550199'
const attemptsOfKey = 40

export const killSettings = {
  CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
  // What is killed is the writing; how long a slow machine takes to decide is tested elsewhere.
  CALLGATE_GATE_DEADLINE_MS: '10000',
  CALLGATE_LIMITS_PDNC_PER_MINUTE: '0',
  CALLGATE_LIMITS_EBR_PER_MINUTE: '0',
  CALLGATE_PERMITS_ISSUER: 'https://gate.example',
  CALLGATE_PERMITS_EDGES: '{ edge-a: { asks: true, accounts: [sandbox] } }',
}

/** A server that is killed does not answer what is on its way. */
class Gone extends Error {}

export class KillLoad {
  readonly #killed: Killed
  readonly #random: () => number
  #serving: Serving | undefined
  #key = ''
  readonly #switches: readonly Switch[] = [
    ...areaCodes.map((code) => ({ number: `${code}5550100`, isConsent: false, isOn: undefined })),
    ...consentCodes.map((code) => ({ number: `${code}5550101`, isConsent: true, isOn: undefined })),
  ]
  readonly #optedOutOnce = new Set<string>()
  #nextOptOut = 7_185_550_200
  /** Since the last judgment, as all below. */
  #allowed: string[] = []
  #outcomes: string[] = []
  /** State of each; `undefined` if a use was not confirmed. */
  #permits = new Map<string, 'issued' | 'used' | undefined>()
  /** A permit that was not used, and one that was, before the kill. */
  #leftPermits: { readonly value: string; readonly isUsed: boolean }[] = []
  /** A key that may have few calls, until it has had them. */
  #limited: { key: string; id: string; allowed: Set<string> } | undefined
  #newestSeq = 0
  #nextRecord = 1
  /** Number of the latest record of each decision. */
  readonly recorded = new Map<string, number>()
  readonly faults: string[] = []
  readonly acknowledged = {
    allows: 0,
    optOuts: 0,
    lifts: 0,
    consents: 0,
    endedConsents: 0,
    permits: 0,
    uses: 0,
    outcomes: 0,
    refusedByLimit: 0,
    checks: 0,
  }

  constructor(killed: Killed, random: () => number) {
    this.#killed = killed
    this.#random = random
  }

  get total(): number {
    return Object.values(this.acknowledged).reduce((sum, count) => sum + count)
  }

  /** Asks until the server is gone. */
  async run(serving: Serving): Promise<void> {
    this.#serving = serving
    this.#key ||= serving.keys.sandbox
    const clients = [
      ...Array.from({ length: 3 }, () => () => this.#call()),
      ...Array.from({ length: clientsOfSwitches }, (_, client) => () => this.#turn(client)),
      () => this.#optOut(),
      () => this.#permit(),
      () => this.#callLimited(),
    ]
    const endless = async (ask: () => Promise<void>) => {
      try {
        for (;;) await ask()
      } catch (cause) {
        if (!(cause instanceof Gone)) this.faults.push(String(cause))
      }
    }
    await Promise.all(clients.map(endless))
  }

  async #post(path: string, body: object, key = this.#key): Promise<{ ok: boolean; json: Answer }> {
    try {
      const response = await fetch(`${this.#serving?.url}${path}`, {
        method: 'POST',
        headers: { loginId: key, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return { ok: response.ok, json: (await response.json()) as Answer }
    } catch {
      throw new Gone()
    }
  }

  /** Whether it is allowed. */
  async #decide(number: string, callKind: string, key?: string): Promise<Answer> {
    const { json } = await this.#post('/v1/decisions', { number, callKind }, key)
    if (json.decision === 'allow') {
      this.acknowledged.allows += 1
      this.#allowed.push(String(json.id))
    }
    return json
  }

  async #call(): Promise<void> {
    const { id, decision } = await this.#decide('2125550100', 'autodialed')
    if (decision !== 'allow' || this.#random() > 0.2) return
    const at = new Date().toISOString()
    const report = { state: 'answered', at, answeredBy: 'person', connectedAt: at }
    // An index that is behind answers 503.
    if (!(await this.#post(`/v1/decisions/${String(id)}/outcome`, report)).ok) return
    this.acknowledged.outcomes += 1
    this.#outcomes.push(String(id))
  }

  async #turn(client: number): Promise<void> {
    const own = this.#switches.filter((_, index) => index % clientsOfSwitches === client)
    const one = own[Math.floor(this.#random() * own.length)] as Switch
    const before = one.isOn
    if (before !== undefined && this.#random() < 0.6) {
      const { decision } = await this.#decide(one.number, one.isConsent ? 'ai' : 'manual')
      this.acknowledged.checks += 1
      if (decision === 'allow' && before !== one.isConsent) {
        this.faults.push(
          `${one.number} was allowed, ${one.isConsent ? 'consent' : 'opt-out'}: ${before}`,
        )
      }
      return
    }
    const isOn = before === undefined ? this.#random() < 0.5 : !before
    one.isOn = undefined
    const [path, body] = requestOf(one, isOn)
    if (!(await this.#post(`/app/main/rpc/${path}`, body)).ok) return
    one.isOn = isOn
    if (one.isConsent) this.acknowledged[isOn ? 'consents' : 'endedConsents'] += 1
    else this.acknowledged[isOn ? 'optOuts' : 'lifts'] += 1
  }

  /** Never lifted: what is lost is not hidden by a later opt-out. */
  async #optOut(): Promise<void> {
    const number = String(this.#nextOptOut++)
    const body = { phoneList: number, actionType: 'add' }
    if (!(await this.#post('/app/main/rpc/pdnc', body)).ok) return
    this.#optedOutOnce.add(number)
    this.acknowledged.optOuts += 1
    await pause(5)
  }

  async #permit(): Promise<void> {
    for (const { value, isUsed } of this.#leftPermits.splice(0)) {
      if ((await this.#use(value)) && isUsed) this.faults.push('a permit was used twice')
    }
    const { json } = await this.#post('/v1/permits', {
      number: '2125550100',
      callKind: 'manual',
      callerId,
    })
    const { id, value } = (json.permit ?? {}) as Record<string, string>
    if (id === undefined || value === undefined) return
    this.acknowledged.permits += 1
    this.#permits.set(id, 'issued')
    const isForLater = this.#random() < 0.3
    if (!isForLater) {
      this.#permits.set(id, undefined)
      if (!(await this.#use(value))) return
      this.#permits.set(id, 'used')
      this.acknowledged.uses += 1
      if (this.#random() < 0.2 && (await this.#use(value))) {
        this.faults.push('a permit was used twice')
      }
    }
    this.#permitsBeforeKill = [
      ...this.#permitsBeforeKill.filter(({ isUsed }) => isUsed === isForLater),
      { value, isUsed: !isForLater },
    ]
  }
  #permitsBeforeKill: { readonly value: string; readonly isUsed: boolean }[] = []

  async #use(value: string): Promise<boolean> {
    return (await this.#post('/v1/permits/use', { value, number: '2125550100', callerId })).ok
  }

  async #callLimited(): Promise<void> {
    if (!this.#limited) {
      const body = {
        label: `limited ${randomUUID()}`,
        attemptsPerDay: attemptsOfKey,
        role: 'Agent',
      }
      const { ok, json } = await this.#post('/v1/keys', body)
      if (!ok) throw new Error(`no key: ${JSON.stringify(json)}`)
      this.#limited = { key: String(json.key), id: String(json.id), allowed: new Set() }
    }
    const { key, allowed } = this.#limited
    const { id, decision, reason } = await this.#decide('2125550102', 'manual', key)
    if (decision === 'allow') allowed.add(String(id))
    if (reason !== 'key-attempts') return
    this.acknowledged.refusedByLimit += 1
    if (this.acknowledged.refusedByLimit % 3 === 0) {
      await this.#judgeLimited()
      this.#limited = undefined
    }
  }

  /** With the server started again, before anything is asked of it. */
  async judge(): Promise<void> {
    this.#judgeJournal()
    await this.#judgeSwitches()
    await this.#judgePermits()
    await this.#judgeLimited()
    await this.#judgeOutcomes()
    const [head] = await this.#killed.query('select seq from change_head')
    const seq = Number(head?.seq)
    if (seq < this.#newestSeq) this.faults.push(`change ${this.#newestSeq} is gone`)
    this.#newestSeq = seq
  }

  #judgeJournal(): void {
    const allows = new Map<string, boolean>()
    for (const { kind, seq, body } of this.readRecords(this.#nextRecord)) {
      if (seq !== this.#nextRecord)
        this.faults.push(`record ${seq} follows ${this.#nextRecord - 1}`)
      this.#nextRecord = seq + 1
      if (kind !== 'decision' && kind !== 'amendment') continue
      const { id, decision } = readRecord(kind, { seq, body })
      if (kind === 'decision' && this.recorded.has(id)) {
        this.faults.push(`decision ${id} is there twice`)
      }
      this.recorded.set(id, seq)
      allows.set(id, decision === 'allow')
    }
    for (const id of this.#allowed.splice(0)) {
      if (!allows.get(id)) this.faults.push(`allow ${id} is not on record`)
    }
  }

  *readRecords(from: number): Generator<JournalRecord> {
    const reader = new JournalReader(join(this.#killed.dataDir, 'journal'), from)
    try {
      for (let next = reader.read(); next.length > 0; next = reader.read()) yield* next
    } finally {
      reader.close()
    }
  }

  async #judgeSwitches(): Promise<void> {
    const numbersOf = async (sql: string) =>
      new Set((await this.#killed.query(sql)).map(({ number }) => String(number)))
    const listed = await numbersOf(
      "select number from internal_dnc where account_id = 'sandbox' and removed_at is null",
    )
    const consented = await numbersOf(
      "select number from ebr_records where account_id = 'sandbox' and type = 'P' and superseded_at is null",
    )
    for (const number of this.#optedOutOnce) {
      if (!listed.has(number)) this.faults.push(`the opt-out of ${number} is gone`)
    }
    for (const one of this.#switches) {
      const isOn = (one.isConsent ? consented : listed).has(one.number)
      if (one.isOn !== undefined && one.isOn !== isOn) {
        this.faults.push(
          `${one.number}, ${one.isConsent ? 'consent' : 'opt-out'}: ${one.isOn}, stored: ${isOn}`,
        )
      }
      one.isOn = isOn
    }
  }

  async #judgePermits(): Promise<void> {
    const rows = await this.#killed.query('select id, state from permits')
    const states = new Map(rows.map(({ id, state }) => [String(id), state]))
    for (const [id, state] of this.#permits) {
      const stored = states.get(id)
      if (stored === undefined || (state && stored !== state))
        this.faults.push(`permit ${id} is ${stored}, was ${state}`)
    }
    this.#permits = new Map()
    this.#leftPermits = this.#permitsBeforeKill
    this.#permitsBeforeKill = []
  }

  async #judgeLimited(): Promise<void> {
    if (!this.#limited) return
    const { id: keyId, allowed } = this.#limited
    const rows = await this.#killed.query(
      `select decision_id from attempts where key_id = '${keyId}'`,
    )
    const counted = new Set(rows.map(({ decision_id }) => String(decision_id)))
    const uncounted = [...allowed].filter((id) => !counted.has(id))
    if (uncounted.length > 0) this.faults.push(`allowed and not counted: ${uncounted}`)
    if (Math.max(counted.size, allowed.size) > attemptsOfKey) {
      this.faults.push(
        `a key of ${attemptsOfKey} calls had ${allowed.size}, counted ${counted.size}`,
      )
    }
  }

  /** The journal has them only a moment after their answer. */
  async #judgeOutcomes(): Promise<void> {
    const stored = await this.#killed.query('select decision_id from answered_calls')
    const ids = new Set(stored.map(({ decision_id }) => String(decision_id)))
    for (const id of this.#outcomes.splice(0)) {
      if (!ids.has(id)) this.faults.push(`the outcome of ${id} is not stored`)
    }
    const [counts] = await this.#killed.query(
      "select sum(answered) as answered from abandonment_counts where rule = 'us-ftc'",
    )
    if (Number(counts?.answered ?? 0) !== ids.size) {
      this.faults.push(`${ids.size} calls were answered, counted ${counts?.answered}`)
    }
  }
}

function requestOf({ number, isConsent }: Switch, isOn: boolean): readonly [string, object] {
  if (!isConsent) return ['pdnc', { phoneList: number, actionType: isOn ? 'add' : 'remove' }]
  if (!isOn) return ['ebr/remove', { phoneList: number }]
  const record = { phoneNumber: number, type: 'P', dateOfLastContact: '11/23/2026' }
  return ['ebr', { ebrList: [record] }]
}
