/**
 * The sandbox account: fixed facts about the fictional lines 555-01XX of every area code in service,
 * so that a newcomer gets every kind of answer without loading anything. What the account itself
 * writes is kept by the subjects; stored rows win over the facts here.
 */

import { findAreaCodePlace, listAreaCodes } from '../../data/numbering/area-codes.js'
import {
  areaCodeOf,
  isFictional,
  type PhoneNumber,
  toPhoneNumber,
} from '../../domain/phone-number.js'
import type { NumberFacts, NumberingPlan } from '../../domain/place.js'
import { type Clock, fixedClock, type Instant } from '../../domain/time/clock.js'
import { msPerDay, toUtcDay } from '../../domain/time/dates.js'
import type { FixedFacts } from '../account-view.js'
import type { EbrRecord } from '../consent/ebr-record.js'
import type { SandboxFile, SandboxLine } from './sandbox-file.js'

/** The account's id; the first start makes it. */
export const sandboxAccountId = 'sandbox'

/** Fixed facts were there before anything was stored. */
const beforeFirstWrite = 0

export interface SandboxOptions {
  readonly file: SandboxFile
  readonly clock: Clock
  /** `CALLGATE_SANDBOX_AT`: the account, and only it, answers as at that moment. */
  readonly at?: Instant | undefined
}

/** What an account has of two: the sandbox its own, every real account the other. */
export function chooseByAccount<Real, OfSandbox = Real>(of: {
  readonly real: Real
  readonly sandbox: OfSandbox
}): (accountId: string) => Real | OfSandbox {
  return (accountId) => (accountId === sandboxAccountId ? of.sandbox : of.real)
}

export class Sandbox implements FixedFacts {
  readonly #file: SandboxFile
  /** Now as the sandbox account sees it. */
  readonly clock: Clock
  #internalDncNumbers: readonly PhoneNumber[] | undefined

  constructor({ file, clock, at }: SandboxOptions) {
    this.#file = file
    this.clock = at === undefined ? clock : fixedClock(at)
  }

  /** As-of instant of the sandbox's own national lists. */
  get listsAsOf(): Instant {
    return this.#file.listsAsOf
  }

  /**
   * Fixed facts of a line; `undefined` for lines without facts and, unless the file says otherwise,
   * for real numbers.
   */
  line(number: PhoneNumber): SandboxLine | undefined {
    const line = this.#lineNameOf(number)
    if (line === undefined || !findAreaCodePlace(areaCodeOf(number))) return undefined
    return this.#file.lines.get(line)
  }

  /**
   * Place and line class of a fictional number, whatever is imported; a fictional line without
   * facts is not in service. `undefined` when the numbering plan decides: real numbers,
   * and area codes that are not in service.
   */
  numberFacts(number: PhoneNumber): NumberFacts | undefined {
    const name = this.#lineNameOf(number)
    const place = name === undefined ? undefined : findAreaCodePlace(areaCodeOf(number))
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
  internalDncEntry(number: PhoneNumber): { readonly addedAt: Instant } | undefined {
    const entry = this.line(number)?.internalList
    return entry && { addedAt: this.#ago(entry.daysAgo) }
  }

  /** Every number the fixed facts put on the internal list. */
  internalDncNumbers(): readonly PhoneNumber[] {
    this.#internalDncNumbers ??= this.#everyInternalDncNumber()
    return this.#internalDncNumbers
  }

  ebrRecord(number: PhoneNumber): EbrRecord | undefined {
    const relationship = this.line(number)?.relationship
    if (!relationship) return undefined
    const contactAt = this.#ago(relationship.daysAgo)
    return {
      type: relationship.type,
      contactOn: toUtcDay(contactAt),
      contactAt,
      obligationEndsOn: undefined,
      storedSeq: beforeFirstWrite,
      liftsOptOut: true,
      isFixed: true,
    }
  }

  /** The numbering plan as the sandbox sees it: its fixed numbers are in service. */
  planOver(plan: NumberingPlan): NumberingPlan {
    return {
      lookup: (number) => this.numberFacts(number) ?? plan.lookup(number),
      coverage: () => plan.coverage(),
    }
  }

  /** The line whose facts a number has; a number that is not fictional has some only by the file. */
  #lineNameOf(number: PhoneNumber): string | undefined {
    return isFictional(number) ? number.slice(6) : this.#file.otherNumbers
  }

  #ago(days: number): Instant {
    return this.clock.now() - days * msPerDay
  }

  #everyInternalDncNumber(): readonly PhoneNumber[] {
    const listed = [...this.#file.lines].filter(([, { internalList }]) => internalList)
    return listAreaCodes().flatMap((areaCode) =>
      listed.map(([line]) => toPhoneNumber(`${areaCode}555${line}`)),
    )
  }
}
