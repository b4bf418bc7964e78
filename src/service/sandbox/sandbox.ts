/**
 * The sandbox account: fixed facts about the fictional lines 555-01XX of every area code in service,
 * so that a new user sees every kind of answer without importing anything. The account's own writes are
 * stored like those of any account, and stored rows override the facts here.
 */

import { sandboxAccountId } from '../../domain/caller.js'
import {
  areaCodeOf,
  isFictional,
  type PhoneNumber,
  toPhoneNumber,
} from '../../domain/phone-number.js'
import type { NumberFacts, NumberingPlan } from '../../domain/place.js'
import { type Clock, fixedClock, type Instant } from '../../domain/time/clock.js'
import { msPerDay, toUtcDay } from '../../domain/time/dates.js'
import { findAreaCodePlace, listAreaCodes } from '../../law/area-codes.js'
import type { EbrRecord } from '../../law/records/ebr-record.js'
import type { FixedFacts } from '../account-view.js'
import type { SandboxFile, SandboxLine } from './sandbox-file.js'

/** Change sequence number of fixed facts, which precede every stored change. */
const beforeFirstWrite = 0

export interface SandboxOptions {
  readonly file: SandboxFile
  readonly clock: Clock
  /** `CALLGATE_SANDBOX_AT`: a fixed current time for the sandbox account only. */
  readonly at?: Instant | undefined
}

/** Returns a function that selects `sandbox` for the sandbox account and `real` for all others. */
export function chooseByAccount<Real, OfSandbox = Real>(of: {
  readonly real: Real
  readonly sandbox: OfSandbox
}): (accountId: string) => Real | OfSandbox {
  return (accountId) => (accountId === sandboxAccountId ? of.sandbox : of.real)
}

export class Sandbox implements FixedFacts {
  readonly file: SandboxFile
  /** The sandbox account's clock. */
  readonly clock: Clock
  #internalDncNumbers: readonly PhoneNumber[] | undefined

  constructor({ file, clock, at }: SandboxOptions) {
    this.file = file
    this.clock = at === undefined ? clock : fixedClock(at)
  }

  /** As-of instant of the sandbox's own national lists. */
  get listsAsOf(): Instant {
    return this.file.listsAsOf
  }

  /**
   * Fixed facts of a line; `undefined` for lines without facts and, unless the file says otherwise,
   * for real numbers.
   */
  line(number: PhoneNumber): SandboxLine | undefined {
    const line = this.#lineNameOf(number)
    if (line === undefined || !findAreaCodePlace(areaCodeOf(number))) return undefined
    return this.file.lines.get(line)
  }

  /**
   * Place and line class of a fictional number, regardless of imports; a fictional line without facts
   * is not in service. `undefined` if the numbering plan decides: for real numbers and for area codes
   * that are not in service.
   */
  numberFacts(number: PhoneNumber): NumberFacts | undefined {
    const name = this.#lineNameOf(number)
    const place = name === undefined ? undefined : findAreaCodePlace(areaCodeOf(number))
    if (name === undefined || !place) return undefined
    const line = this.file.lines.get(name)
    if (!line) {
      const says = [{ code: 'no-sandbox-line', params: { line: name } }] as const
      return { status: 'unknown-prefix', says, areaCodeInUse: true }
    }
    const { lineClass } = line
    const originalClass = lineClass
    return { status: 'ok', place, locality: '', carrier: undefined, lineClass, originalClass }
  }

  /** The number's internal list entry among the fixed facts, if any. */
  internalDncEntry(number: PhoneNumber): { readonly addedAt: Instant } | undefined {
    const entry = this.line(number)?.internalList
    return entry && { addedAt: this.#ago(entry.daysAgo) }
  }

  /** All numbers that the fixed facts put on the internal list. */
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
      ...(relationship.type === 'P' && { consent: { evidence: 'written' as const } }),
      isFixed: true,
    }
  }

  /** Wraps a numbering plan so that the sandbox's fixed facts take precedence. */
  planOver(plan: NumberingPlan): NumberingPlan {
    return {
      lookup: (number) => this.numberFacts(number) ?? plan.lookup(number),
      coverage: () => plan.coverage(),
    }
  }

  /** The line whose facts apply to a number. Real numbers have one only if the file names `otherNumbers`. */
  #lineNameOf(number: PhoneNumber): string | undefined {
    return isFictional(number) ? number.slice(6) : this.file.otherNumbers
  }

  #ago(days: number): Instant {
    return this.clock.now() - days * msPerDay
  }

  #everyInternalDncNumber(): readonly PhoneNumber[] {
    const listed = [...this.file.lines].filter(([, { internalList }]) => internalList)
    return listAreaCodes().flatMap((areaCode) =>
      listed.map(([line]) => toPhoneNumber(`${areaCode}555${line}`)),
    )
  }
}
