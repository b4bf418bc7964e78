/**
 * Permits of single calls. Each is a row of the database before it leaves, and the database decides in one statement
 * which use of it is the first, also where several servers are asked at the same time.
 */
import type { DecisionRequest, PermitChoice, PermitFormat } from '../api/gate/decisions.js'
import {
  type PendingPermit,
  type PermitDocument,
  type PermitUse,
  permitHeader,
} from '../api/gate/permits.js'
import { requireScopeAllowed } from '../api/route.js'
import type { Caller } from '../domain/caller.js'
import type { MaybePromise } from '../domain/compliance.js'
import {
  type CallRequest,
  type Decision,
  type DecisionFinalizer,
  type ReasonCode,
  undecidedReasons,
} from '../domain/decision.js'
import { type AttemptCounter, type CallKind, callKinds } from '../domain/mandate.js'
import {
  maskNumber,
  type PhoneNumber,
  parseDialString,
  parsePhoneNumber,
} from '../domain/phone-number.js'
import type { Clock, Instant } from '../domain/time/clock.js'
import { formatInstant } from '../domain/time/dates.js'
import { AppError, invalidRequest } from '../errors.js'
import type { Logger } from '../observability/log.js'
import type { PermitEvent } from '../observability/service-metrics.js'
import { createTimedUuid } from '../runtime/uuid.js'
import type { OpenDatabase } from '../storage/open-database.js'
import type { PermitRow } from '../storage/tables.js'
import { formatPermit, isSignedBy, type PermitSigner, parsePermit } from './permit-format.js'
import type { PermitKeys } from './permit-keys.js'
import { claimPermit, insertPermit, movePermit, readPermit } from './permit-rows.js'

interface PermitSettings {
  /** Base URL of this callgate; absent without edges. */
  readonly issuer?: string | undefined
  /** By name; the freshness is in seconds. An edge that asks uses each permit here, and takes no released one. */
  readonly edges: Readonly<Record<string, PermitEdge>>
}

interface PermitEdge {
  readonly freshness: number
  readonly asks: boolean
  /** Ids of the accounts whose calls it carries. */
  readonly accounts: readonly string[]
}

export interface PermitsDeps {
  readonly settings: PermitSettings
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'retryWhileLocked'>
  readonly keys: PermitKeys
  readonly clock: Clock
  /** For what expires; see `ChangeHead.createExpiryClock`. */
  readonly expiryClock: Clock
  /** Judges as the gate does, by what is known now, and records nothing. */
  readonly recheck: (request: CallRequest) => MaybePromise<DecisionFinalizer>
  /** What a key may do now, if asked for these kinds of call alone; `undefined` unless it is in force. */
  readonly findKey: (id: string, kinds?: readonly CallKind[]) => Promise<Caller | undefined>
  readonly attempts: Pick<AttemptCounter, 'release'>
  readonly randomBytes: (size: number) => Buffer
  readonly countEvent: (event: PermitEvent) => void
  readonly log: Logger
}

/** A leg of a call that says it dials by a used permit. */
interface PermitClaim {
  readonly id: string
  readonly number: string
  readonly server: string
  readonly channelId: string
  readonly usedAfter: Instant
}

const minPermitMs = 5_000

interface PermitTarget {
  readonly edge: string
  readonly freshnessSeconds: number
  readonly callerId: PhoneNumber
  readonly format: PermitFormat
  readonly signer: PermitSigner
}

export class Permits {
  readonly #deps: PermitsDeps

  constructor(deps: PermitsDeps) {
    this.#deps = deps
  }

  /** Names of the SIP edges. */
  get edges(): readonly string[] {
    return Object.keys(this.#deps.settings.edges)
  }

  get keys(): PermitKeys {
    return this.#deps.keys
  }

  /** Throws `not-found` without edges for the account, and `invalid-request` for one that is not its. */
  async prepare(
    caller: Caller,
    call: DecisionRequest,
    choice: PermitChoice,
  ): Promise<PendingPermit> {
    const { settings, keys } = this.#deps
    const { edge, freshness } = this.#findEdge(caller, choice.edge)
    const { kid, privateKey } = await keys.getSigning(edge)
    const { issuer = '' } = settings
    const { callerId, format } = choice
    const signer = { issuer, kid, privateKey }
    const target = { edge, freshnessSeconds: freshness, callerId, format, signer }
    return this.#createPending(caller, call, target)
  }

  #findEdge(
    { accountId }: Caller,
    name?: string,
  ): { readonly edge: string; readonly freshness: number } {
    const { edges } = this.#deps.settings
    const names = this.edges.filter((edge) => edges[edge]?.accounts.includes(accountId))
    if (names.length === 0) {
      const rule = `permits.edges has no edge with account ${accountId} in its accounts`
      throw new AppError('not-found', `This callgate gives the account no permits: ${rule}`)
    }
    const edge = name ?? (names.length === 1 ? names[0] : undefined)
    const found = edge !== undefined && names.includes(edge) ? edges[edge] : undefined
    if (edge !== undefined && found !== undefined) return { edge, ...found }
    const rule = `must be one of ${names.join(', ')}`
    throw invalidRequest([{ field: 'edge', ...(name && { value: name }), rule }])
  }

  #createPending(caller: Caller, call: DecisionRequest, target: PermitTarget): PendingPermit {
    let hasLeft = false
    let issued: { readonly row: PermitRow; readonly json: string } | undefined
    let json = ''
    return {
      record: async (allow) => {
        const made = this.#create(caller, call, { allow, target })
        if (typeof made === 'string') return made
        await this.#store(made.row)
        issued = made
        // The decision is a block then, since its deadline has passed.
        if (hasLeft) this.#withdraw(made.row)
        return undefined
      },
      left: ({ decision }) => {
        hasLeft = true
        if (issued === undefined) return
        if (decision === 'block') return this.#withdraw(issued.row)
        this.#note('issued', issued.row)
        json = issued.json
      },
      get json() {
        return json
      },
    }
  }

  async #store(row: PermitRow): Promise<void> {
    const { storage, log } = this.#deps
    try {
      await storage.retryWhileLocked(() => insertPermit(storage.db, row))
    } catch (err) {
      log.error('a permit could not be stored', { decisionId: row.decision_id, err })
      throw err
    }
  }

  /** For those who read the permit: its value has not left. */
  #withdraw(row: PermitRow): void {
    const { log } = this.#deps
    this.#note('void', row, 'not given out')
    this.#move(row.id, 'void').catch((err: unknown) => {
      log.warn('a permit that was not given out could not be made void', { permitId: row.id, err })
    })
  }

  /** Why there can be no permit, or what is to be stored and sent. */
  #create(
    { accountId, keyId, limits: { callKinds } }: Caller,
    call: DecisionRequest,
    { allow, target }: { readonly allow: Decision; readonly target: PermitTarget },
  ): ReasonCode | { readonly row: PermitRow; readonly json: string } {
    const { edge, freshnessSeconds, callerId, format, signer } = target
    const number = parsePhoneNumber(allow.number)
    if (number === undefined) {
      const { kind } = parseDialString(allow.number)
      return kind === 'extension' ? 'extension' : 'foreign-number'
    }
    const now = this.#deps.clock.now()
    const validUntil = allow.decidedAt + (allow.validUntil - allow.judgedAt)
    // An edge compares whole seconds, so it takes a permit for up to a second longer than its freshness.
    const latest = Math.floor(validUntil / 1_000) - freshnessSeconds - 1
    const issuedAtSeconds = Math.min(Math.floor(now / 1_000), latest)
    const expiresAt = (issuedAtSeconds + freshnessSeconds) * 1_000
    if (expiresAt - now < minPermitMs) return 'permit-too-short'
    const { callKind, projectId, campaignId, postalCode, purpose, subject, personId } = call
    const id = createTimedUuid(now, this.#deps.randomBytes(16))
    const claims = { id, edge, number, callerId, callKind, decisionId: allow.id }
    const value = formatPermit(
      format,
      { ...claims, issuedAtSeconds, expiresAtSeconds: expiresAt / 1_000 },
      signer,
    )
    const header = permitHeader
    const permit = { id, edge, format, header, value, expiresAt: formatInstant(expiresAt) }
    const row: PermitRow = {
      id,
      account_id: accountId,
      decision_id: allow.id,
      key_id: keyId,
      edge,
      number,
      caller_id: callerId,
      call_kind: callKind,
      project_id: projectId ?? null,
      campaign_id: campaignId ?? null,
      postal_code: postalCode ?? null,
      purpose: purpose ?? null,
      subject: subject ?? null,
      person: personId ?? null,
      asked_kinds: callKinds === 'any' ? null : [...callKinds].join(','),
      state: 'issued',
      issued_at: now,
      expires_at: expiresAt,
      ended_at: null,
      channel: null,
    }
    return { row, json: JSON.stringify(permit) }
  }

  /**
   * Uses a permit by its text. Throws `not-found` for one that is not of the account, and as {@link Permits.useById} does;
   * forged ones are not found.
   */
  async use(caller: Caller, { value, ...use }: PermitUse & { readonly value: string }) {
    const parsed = parsePermit(value)
    const row = parsed && (await this.#find(caller, parsed.id))
    const keys = row && (await this.#deps.keys.listPublished(row.edge))
    if (!row || !parsed || !keys?.some(({ publicKey }) => isSignedBy(parsed, publicKey))) {
      throw this.#refuse(row, 'not-found', 'is not a permit of this account')
    }
    return await this.#use(row, use)
  }

  /**
   * Throws `conflict` if it must not be used any more, or for that call; `not-available` if that cannot be found out.
   */
  async useById(caller: Caller, { id, ...use }: PermitUse & { readonly id: string }) {
    return await this.#use(await this.#get(caller, id), use)
  }

  async #use(row: PermitRow, { number, callerId, edge }: PermitUse): Promise<PermitDocument> {
    if (number !== row.number || callerId !== row.caller_id) {
      throw this.#refuse(row, 'conflict', 'was given for another number or caller id')
    }
    if (edge !== undefined && edge !== row.edge) {
      throw this.#refuse(row, 'conflict', `was given for edge '${row.edge}'`)
    }
    const { findKey, recheck, settings } = this.#deps
    if (!settings.edges[row.edge]?.accounts.includes(row.account_id)) {
      throw this.#refuse(
        row,
        'conflict',
        `is of edge '${row.edge}', which is no longer the account's`,
      )
    }
    const asker = await findKey(row.key_id, parseKinds(row))
    if (!asker) throw await this.#refuseUnused(row)
    const finalize = await recheck({
      accountId: row.account_id,
      keyId: row.key_id,
      mandate: asker.limits.mandate,
      dialed: row.number,
      callKind: row.call_kind,
      callerId: row.caller_id,
      projectId: row.project_id ?? undefined,
      campaignId: row.campaign_id ?? undefined,
      postalCode: row.postal_code ?? undefined,
      purpose: row.purpose ?? undefined,
      subject: row.subject ?? undefined,
      personId: row.person ?? undefined,
      via: 'http',
    })
    await this.#requireAllowed(row, finalize())
    const used = await this.#move(row.id, 'used')
    if (!used) throw await this.#refuseUnused(row)
    // What this server knows may have become too old meanwhile; then the permit is lost.
    await this.#requireAllowed(used, finalize())
    this.#note('used', used)
    return this.#toDocument(used)
  }

  /** Makes the permit void if its call would be blocked now. */
  async #requireAllowed(row: PermitRow, { decision, reason }: Decision): Promise<void> {
    if (decision === 'allow') return
    if (undecidedReasons.has(reason))
      throw this.#refuse(row, 'not-available', `cannot be checked: ${reason}`)
    if (row.state === 'issued') await this.#move(row.id, 'void')
    this.#note('void', row, reason)
    throw this.#refuse(row, 'conflict', `is void: the call would be blocked now (${reason})`)
  }

  async #refuseUnused({ account_id, id }: PermitRow): Promise<AppError> {
    const { db } = this.#deps.storage
    const row = await readPermit(db, account_id, id)
    if (!row) return this.#refuse(undefined, 'not-found', 'is not a permit of this account')
    const { state } = this.#toDocument(row)
    if (state !== 'issued') return this.#refuse(row, 'conflict', `is ${state}`)
    await this.#move(id, 'void')
    this.#note('void', row, 'key')
    return this.#refuse(row, 'conflict', `is void: key ${row.key_id} is not in force any more`)
  }

  /**
   * Gives a permit back that was not used, and with it the attempt that was counted, unless its edge may still take it.
   * Releasing it again changes nothing.
   */
  async release(caller: Caller, { id }: { readonly id: string }): Promise<PermitDocument> {
    const row = await this.#get(caller, id)
    const released = await this.#move(id, 'released')
    if (released) this.#note('released', released)
    const now = this.#toDocument(released ?? (await this.#find(caller, id)) ?? row)
    if (now.state !== 'released') throw new AppError('conflict', `Permit '${id}' is ${now.state}`)
    // The second time too, since the first may have ended before this.
    await this.#giveBack(row)
    return now
  }

  /** An edge that checks permits by itself does not know of a release: otherwise one attempt would be any number of calls. */
  async #giveBack(row: PermitRow): Promise<void> {
    const { settings, storage, attempts } = this.#deps
    if (!settings.edges[row.edge]?.asks) return
    const attempt = { decisionId: row.decision_id, accountId: row.account_id }
    await storage.retryWhileLocked(() => attempts.release(attempt))
  }

  /** The decision of a used permit, for the channel of an Asterisk that dials by it; see {@link claimPermit}. */
  async claim(accountId: string, claim: PermitClaim): Promise<string | undefined> {
    const { storage } = this.#deps
    const { server, channelId, ...used } = claim
    const channel = `${server}/${channelId}`
    const row = await storage.retryWhileLocked(() =>
      claimPermit(storage.db, { ...used, accountId, channel }),
    )
    return row?.decision_id
  }

  async read(caller: Caller, { id }: { readonly id: string }): Promise<PermitDocument> {
    return this.#toDocument(await this.#get(caller, id))
  }

  /** Throws `not-found`, or `forbidden` for a key that is limited to other projects. */
  async #get(caller: Caller, id: string): Promise<PermitRow> {
    const row = await this.#find(caller, id)
    if (row) return row
    throw new AppError('not-found', `id '${id}': this account has no such permit`)
  }

  async #find(caller: Caller, id: string): Promise<PermitRow | undefined> {
    const row = await readPermit(this.#deps.storage.db, caller.accountId, id)
    if (row) {
      const projectId = row.project_id ?? undefined
      requireScopeAllowed(caller, { projectId, campaignId: row.campaign_id ?? undefined })
    }
    return row
  }

  #move(id: string, state: 'used' | 'released' | 'void'): Promise<PermitRow | undefined> {
    const { storage, expiryClock } = this.#deps
    const now = expiryClock.now()
    return storage.retryWhileLocked(() => movePermit(storage.db, { id, state, now }))
  }

  #toDocument(row: PermitRow): PermitDocument {
    const isExpired = row.state === 'issued' && this.#deps.expiryClock.now() >= row.expires_at
    return {
      id: row.id,
      state: isExpired ? 'expired' : row.state,
      edge: row.edge,
      number: row.number,
      callerId: row.caller_id,
      callKind: row.call_kind,
      decisionId: row.decision_id,
      keyId: row.key_id,
      projectId: row.project_id ?? undefined,
      campaignId: row.campaign_id ?? undefined,
      issuedAt: formatInstant(row.issued_at),
      expiresAt: formatInstant(row.expires_at),
      endedAt: row.ended_at === null ? undefined : formatInstant(row.ended_at),
    }
  }

  #refuse(row: PermitRow | undefined, kind: AppError['kind'], why: string): AppError {
    this.#note('refused', row, why)
    return new AppError(kind, `The permit ${why}; do not dial`)
  }

  #note(event: PermitEvent, row?: PermitRow, why?: string): void {
    const { countEvent, log } = this.#deps
    countEvent(event)
    log[event === 'refused' ? 'warn' : 'info'](`permit ${event}`, {
      permitId: row?.id,
      decisionId: row?.decision_id,
      account: row?.account_id,
      edge: row?.edge,
      number: row && maskNumber(row.number),
      why,
    })
  }
}

/** Those that the key or token could ask for; `undefined` for all. */
const parseKinds = ({ asked_kinds }: PermitRow) =>
  asked_kinds === null
    ? undefined
    : callKinds.filter((kind) => asked_kinds.split(',').includes(kind))
