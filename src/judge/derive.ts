/** Values that several rules need, computed from the facts. */
import { reasons } from '../domain/checks.js'
import type { Finding } from '../domain/decision.js'
import type { AppliedException } from '../domain/mandate.js'
import type { CandidatePlace } from '../domain/place.js'
import { prepareExceptions } from './exceptions.js'
import type { PermissionFacts } from './facts.js'
import type { CallWithFacts, Derived, OwnRow } from './judged.js'
import { guard, isBesideProvider } from './make-finding.js'
import { findPlaces } from './places.js'
import { evaluateRow, findRowOpening } from './row.js'
import { judgeHours } from './rules/calling-hours.js'
import { judgeAtAnyTime, judgePermission } from './rules/permission.js'

/** Computes each value on first use. */
export class DerivedFacts implements Derived {
  readonly #about: CallWithFacts
  #row: { readonly is: OwnRow | undefined } | undefined
  #hours: Finding | undefined
  #places: readonly CandidatePlace[] | undefined
  #permissionNow: Finding | undefined
  #permission: Finding | undefined
  #lifting: readonly AppliedException[] | undefined

  constructor(about: CallWithFacts) {
    this.#about = about
  }

  get row(): OwnRow | undefined {
    const { permission } = this.#about.sources.own
    this.#row ??=
      permission === 'not-asked' || permission.why !== undefined
        ? { is: undefined }
        : { is: this.deriveRow(permission.value) }
    return this.#row.is
  }

  deriveRow(facts: PermissionFacts): OwnRow {
    const { law, windows, at, times, sources } = this.#about
    const { number, postal, postalCode, ported, asOf } = sources.own
    const query = { number, facts, ported, postalCode, postal, now: times.accountNow, at }
    const rules = { law, windows }
    const { row, holdsUntil, located } = evaluateRow(query, rules)
    const opensLater = located !== undefined && !located.isTimely
    return {
      row: opensLater ? { ...row, opensAt: findRowOpening(query, located, rules) } : row,
      asOf,
      holdsUntil,
    }
  }

  get hours(): Finding {
    this.#hours ??= guard('calling-hours', this.#about, () => judgeHours(this.#about))
    return this.#hours
  }

  get places(): readonly CandidatePlace[] {
    this.#places ??= findPlaces([this.hours])
    return this.#places
  }

  get permission(): Finding {
    this.#permission ??=
      this.lifting.length > 0 && isOfTime(this.#ofNow)
        ? guard('permission', this.#about, () => judgeAtAnyTime(this.#about, this))
        : this.#ofNow
    return this.#permission
  }

  get #ofNow(): Finding {
    this.#permissionNow ??= guard('permission', this.#about, () =>
      judgePermission(this.#about, this),
    )
    return this.#permissionNow
  }

  /** Empty beside a provider: only our own facts name the relationship. */
  get lifting(): readonly AppliedException[] {
    this.#lifting ??= this.#findLifting()
    return this.#lifting
  }

  #findLifting(): readonly AppliedException[] {
    const { law, settings, call, purpose, at, sources } = this.#about
    if (isBesideProvider(sources) || purpose.purpose !== 'telemarketing') return []
    const { relationship } = this.#ofNow
    if (relationship === undefined || !isOfTime(this.hours)) return []
    return prepareExceptions(call, { settings, law }, at)?.('hours', relationship) ?? []
  }
}

function isOfTime({ verdict, reason }: Finding): boolean {
  return verdict === 'deny' && reasons[reason].kind === 'time'
}
