/**
 * The sandbox account: fixed facts about the fictional lines 555-01XX of every area code in service,
 * so that a newcomer gets every kind of answer without loading anything. What the account itself
 * writes is kept by the subjects; stored rows win over the facts here.
 */
import { areaCodePlace, inServiceAreaCodes } from '../../data/numbering/area-codes.js'
import { type Clock, fixedClock, type Instant } from '../../domain/clock.js'
import {
  areaCodeOf,
  isFictional,
  type PhoneNumber,
  phoneNumber,
} from '../../domain/phone-number.js'
import type { NumberFacts, NumberingPlan } from '../../domain/place.js'
import type { EbrRecord } from '../consent/consent.js'
import type { FactsOverlay } from '../facts-overlay.js'
import type { SandboxFile, SandboxLine } from './sandbox-file.js'

/** The account's id; the first start makes it. */
export const sandboxAccountId = 'sandbox'

const dayMs = 86_400_000

/** Fixed facts were there before anything was stored. */
const beforeAllWrites = 0

export interface SandboxParts {
  readonly file: SandboxFile
  readonly clock: Clock
  /** `CALLGATE_SANDBOX_AT`: the account, and only it, answers as at that moment. */
  readonly at?: Instant | undefined
}

/** A fixed relationship record; it is in force for every project of the account. */
export interface FixedEbrRecord extends EbrRecord {
  /**
   * Its age is counted back from now, so it is as old at any other instant that is judged; and it
   * holds in every region alike, so that each line has one letter.
   */
  readonly isFixed: true
}

export function isFixedFact(record: EbrRecord | undefined): boolean {
  return record !== undefined && 'isFixed' in record
}

export class Sandbox implements FactsOverlay {
  readonly #file: SandboxFile
  readonly #clock: Clock
  readonly #sandboxClock: Clock
  #internalDncNumbers: readonly PhoneNumber[] | undefined

  constructor({ file, clock, at }: SandboxParts) {
    this.#file = file
    this.#clock = clock
    this.#sandboxClock = at === undefined ? clock : fixedClock(at)
  }

  isSandbox(accountId: string): boolean {
    return accountId === sandboxAccountId
  }

  /** What "now" is for an account: the machine's time, or the instant set for the sandbox. */
  clockOf(accountId: string): Clock {
    return this.isSandbox(accountId) ? this.#sandboxClock : this.#clock
  }

  /** As-of instant of the sandbox's own national lists. */
  get listsAsOf(): Instant {
    return this.#file.listsAsOf
  }

  /**
   * Fixed facts of a line; `undefined` for other accounts, for lines without facts and, unless the
   * file says otherwise, for real numbers.
   */
  line(accountId: string, number: PhoneNumber): SandboxLine | undefined {
    if (!this.isSandbox(accountId)) return undefined
    const line = this.#lineNameOf(number)
    if (line === undefined || !areaCodePlace(areaCodeOf(number))) return undefined
    return this.#file.lines.get(line)
  }

  /**
   * Place and line class of a fictional number, whatever is imported; a fictional line without
   * facts is not in service. `undefined` when the numbering plan decides: other accounts, real
   * numbers, and area codes that are not in service.
   */
  numberFacts(accountId: string, number: PhoneNumber): NumberFacts | undefined {
    if (!this.isSandbox(accountId)) return undefined
    const name = this.#lineNameOf(number)
    const place = name === undefined ? undefined : areaCodePlace(areaCodeOf(number))
    if (name === undefined || !place) return undefined
    const line = this.#file.lines.get(name)
    if (!line) {
      const detail = `the sandbox keeps no facts of line ${name}`
      return { status: 'unknown-prefix', detail, areaCodeInUse: true }
    }
    const { lineClass } = line
    const originalClass = lineClass
    return { status: 'ok', place, locality: '', carrier: undefined, lineClass, originalClass }
  }

  /** When the fixed facts put a number on the internal list; `undefined` when they do not. */
  internalDncEntry(
    accountId: string,
    number: PhoneNumber,
  ): { readonly addedAt: Instant } | undefined {
    const entry = this.line(accountId, number)?.internalList
    return entry && { addedAt: this.#ago(entry.daysAgo) }
  }

  /** Every number the fixed facts put on the internal list; empty for other accounts. */
  internalDncNumbers(accountId: string): readonly PhoneNumber[] {
    if (!this.isSandbox(accountId)) return []
    this.#internalDncNumbers ??= this.#everyInternalDncNumber()
    return this.#internalDncNumbers
  }

  ebrRecord(accountId: string, number: PhoneNumber): FixedEbrRecord | undefined {
    const relationship = this.line(accountId, number)?.relationship
    if (!relationship) return undefined
    const contactAt = this.#ago(relationship.daysAgo)
    return {
      type: relationship.type,
      contactOn: Math.floor(contactAt / dayMs),
      contactAt,
      obligationEndsOn: undefined,
      storedSeq: beforeAllWrites,
      liftsOptOut: true,
      isFixed: true,
    }
  }

  /** The numbering plan as the account sees it: its fixed numbers are in service. */
  planOf(accountId: string, plan: NumberingPlan): NumberingPlan {
    if (!this.isSandbox(accountId)) return plan
    return {
      lookup: (number) => this.numberFacts(accountId, number) ?? plan.lookup(number),
      coverage: () => plan.coverage(),
    }
  }

  /** The line whose facts a number has; a number that is not fictional has some only by the file. */
  #lineNameOf(number: PhoneNumber): string | undefined {
    return isFictional(number) ? number.slice(6) : this.#file.otherNumbers
  }

  #ago(days: number): Instant {
    return this.#sandboxClock.now() - days * dayMs
  }

  #everyInternalDncNumber(): readonly PhoneNumber[] {
    const listed = [...this.#file.lines].filter(([, { internalList }]) => internalList)
    return inServiceAreaCodes().flatMap((areaCode) =>
      listed.map(([line]) => phoneNumber(`${areaCode}555${line}`)),
    )
  }
}
