/** Reads what is stored and imported here about the number of a call. */
import type { AnswerFailure, MaybePromise, Question } from '../../domain/compliance.js'
import { mapMaybePromise } from '../../domain/compliance.js'
import { noListEvidence } from '../../domain/number-set.js'
import type { NumberFacts, NumberOfPlan, PostalCodes } from '../../domain/place.js'
import type { Instant } from '../../domain/time/clock.js'
import type { ProjectHours } from '../../domain/time/week-windows.js'
import { AppError, getErrorMessage, invalidRequest } from '../../errors.js'
import { type Fact, type OwnFacts, ownSource, type PermissionFacts } from '../../judge/facts.js'
import { listPlaces } from '../../judge/places.js'
import type { EbrRecord } from '../../law/records/ebr-record.js'
import type { InternalDncEntry } from '../../law/records/opt-out.js'
import type { AccountView } from '../../service/account-view.js'
import type { EbrRecordSource } from '../../service/consent/ebr-record.js'
import type { InternalDncEntrySource } from '../../service/internal-dnc/internal-dnc-entry.js'
import { noListOwners } from '../../service/lists/list-rights.js'
import {
  type ProjectScope,
  projectNotFound,
  type ScopeResolver,
} from '../../service/projects/project-scope.js'
import { checkLists, locateNumber } from '../../service/scrub/number-facts.js'

type OwnView = Pick<AccountView, 'clock' | 'lists' | 'numberingPlan' | 'fixedFacts'>

export interface ReaderDeps {
  readonly internalDnc: Pick<InternalDncEntrySource, 'findEntry'>
  readonly ebrRecords: Pick<EbrRecordSource, 'findRecord'>
  readonly projects: ScopeResolver
  readonly postalCodes: PostalCodes
  /** Those of all accounts; read for each question, since a reload replaces them. */
  readonly views: Readonly<Record<'real' | 'sandbox', OwnView>>
  /** Whose questions are answered. */
  readonly kind: 'real' | 'sandbox'
  /** A provider answers for lists, consent and projects, and our own facts can only forbid. */
  readonly besideProvider: boolean
  /** Called for each failure that is a bug or a storage error, and not caused by the question. */
  readonly onError: (cause: unknown) => void
}

/** What is stored; the same for every postal code. */
interface StoredFacts {
  /** The scope of the account, if it has one. */
  readonly account: Fact<ProjectScope | undefined>
  /** That of the project and campaign. */
  readonly call: Fact<ProjectScope>
  readonly entry: Fact<InternalDncEntry | undefined>
  readonly record: Fact<EbrRecord | undefined>
}

export interface ReadFacts {
  readonly facts: OwnFacts
  readonly stored: StoredFacts
}

/** What is known at once; what has to be waited for is unknown in it. */
export interface Reading extends ReadFacts {
  /** All of it, if something has to be waited for. Never rejects. */
  readonly later?: Promise<ReadFacts> | undefined
}

const unread: AnswerFailure = {
  ok: false,
  reason: 'deadline',
  says: [{ code: 'deadline' }],
  source: 'gate',
}

const pending = { why: unread }

const statutory = { value: [] }

/** The same facts, where those that were waited for did not come in time. */
export function withoutLate(facts: OwnFacts, ms: number): OwnFacts {
  const says = [{ code: 'not-answered-within', params: { ms: Math.round(ms) } }] as const
  const late = { why: { ...unread, says } }
  const mark = <Value>(fact: Fact<Value> | 'not-asked') =>
    fact !== 'not-asked' && fact.why === unread ? late : fact
  return {
    ...facts,
    litigator: mark(facts.litigator),
    entry: mark(facts.entry),
    hours: facts.hours === statutory ? late : mark(facts.hours),
    permission: mark(facts.permission),
  }
}

export class OwnFactsReader {
  readonly #deps: ReaderDeps

  constructor(deps: ReaderDeps) {
    this.#deps = deps
  }

  get view(): OwnView {
    return this.#deps.views[this.#deps.kind]
  }

  /** Never throws: what cannot be read is unknown, by why it cannot. */
  read(question: Question): Reading {
    const { accountId, number, projectId, campaignId } = question
    const { projects } = this.#deps
    const asOf = this.view.clock.now()
    const account = this.#settle(() => projects.resolve(accountId))
    const isOfAccount = projectId === undefined && campaignId === undefined
    const found = isOfAccount ? account : this.#settle(() => projects.resolve(accountId, question))
    const call = mapMaybePromise(found, (scope) => this.#requireScope(scope, question))
    const scope = mapMaybePromise(call, (ofCall) => this.#chooseScope(ofCall, account))
    const read = <Value>(find: (scope: ProjectScope) => MaybePromise<Value>) =>
      mapMaybePromise(scope, ({ value, why }) =>
        why === undefined ? this.#settle(() => find(value)) : { why },
      )
    const { internalDnc, ebrRecords, besideProvider } = this.#deps
    const { fixedFacts } = this.view
    const entry = read(({ internalDncList }) =>
      internalDnc.findEntry(accountId, internalDncList, number, fixedFacts),
    )
    const record = besideProvider
      ? pending
      : read(({ ebrProject }) => ebrRecords.findRecord(accountId, ebrProject, number, fixedFacts))
    const now = {
      account: atOnce(account),
      call: atOnce(call),
      entry: atOnce(entry),
      record: atOnce(record),
    }
    const known = this.#join(question, now, asOf)
    if (![account, call, entry, record].some((fact) => fact instanceof Promise)) return known
    const later = Promise.all([account, call, entry, record]).then(
      ([ofAccount, ofCall, ofEntry, ofRecord]) => {
        const all = { account: ofAccount, call: ofCall, entry: ofEntry, record: ofRecord }
        return this.#join(question, all, asOf)
      },
    )
    return { ...known, later }
  }

  /** A project that is unknown here belongs to the provider, if there is one. */
  #chooseScope(
    call: Fact<ProjectScope>,
    account: MaybePromise<Fact<ProjectScope | undefined>>,
  ): MaybePromise<Fact<ProjectScope>> {
    const isForeign = this.#deps.besideProvider && call.why?.reason === 'bad-question'
    if (!isForeign) return call
    return mapMaybePromise(account, ({ value }) => (value === undefined ? call : { value }))
  }

  /** The facts of a question that differs in its postal code from the one whose stored facts these are. */
  assemble(question: Question, stored: StoredFacts, asOf: Instant): OwnFacts {
    return this.#assemble(question, this.#locate(question, asOf), stored)
  }

  #join(question: Question, stored: StoredFacts, asOf: Instant): ReadFacts {
    return { facts: this.assemble(question, stored, asOf), stored }
  }

  #requireScope(scope: Fact<ProjectScope | undefined>, question: Question): Fact<ProjectScope> {
    if (scope.why !== undefined) return { why: scope.why }
    if (scope.value !== undefined) return { value: scope.value }
    return { why: this.#toFailure(createScopeError(question)) }
  }

  #locate({ number, postalCode }: Question, asOf: Instant): Located {
    const { view } = this
    const { postalCodes } = this.#deps
    // Of spaces alone, it is none.
    const given = postalCode?.trim() ? postalCode : undefined
    try {
      const located = locateNumber(number, postalCode, { ...view, postalCodes })
      return { asOf, postalCode: given, ...located, number: withoutCarrier(located.number) }
    } catch (cause) {
      const failure = this.#toFailure(cause)
      return { asOf, postalCode: given, number: unknownNumber, ported: noListEvidence, failure }
    }
  }

  #assemble(question: Question, { failure, ...located }: Located, stored: StoredFacts): OwnFacts {
    const { besideProvider } = this.#deps
    const { lists } = this.view
    const { accountId, number } = question
    const { account, call, entry } = stored
    const litigator = this.#derive(account, (scope) =>
      lists.checkLitigator(number, scope ?? { accountId, listOwners: noListOwners }),
    )
    if (besideProvider) {
      const hours = failure ? { why: failure } : this.#findOwnHours(account, located)
      return { ...located, litigator, entry, hours, permission: 'not-asked' }
    }
    const known = failure ? { why: failure } : call
    return {
      ...located,
      litigator,
      entry,
      hours: this.#derive(known, ({ hours }) => selectHours(hours, located)),
      permission: this.#derive(known, (scope) =>
        this.#toPermission(scope, question, located, stored),
      ),
    }
  }

  /** Those of the account, which are narrower than the statutory ones that hold in any case, also before they are read. */
  #findOwnHours(
    account: StoredFacts['account'],
    located: Pick<Located, 'number' | 'postal'>,
  ): OwnFacts['hours'] {
    if (account.why === unread) return statutory
    return this.#derive(account, (scope) => selectHours(scope?.hours ?? [], located))
  }

  #toPermission(
    scope: ProjectScope,
    { number }: Question,
    located: Pick<Located, 'number' | 'postal'>,
    { entry, record }: StoredFacts,
  ): PermissionFacts | AnswerFailure {
    if (entry.why !== undefined) return entry.why
    if (record.why !== undefined) return record.why
    const { industryExemption, voipRestricted } = scope
    const { lists } = this.view
    return {
      industryExemption,
      voipRestricted,
      hours: selectHours(scope.hours, located),
      lists: checkLists(number, located, { scope, lists }),
      entry: entry.value,
      record: record.value,
    }
  }

  /** What follows from a fact; unknown if that is, or if it fails. */
  #derive<Value, Result extends object>(
    fact: Fact<Value>,
    derive: (value: Value) => Result | AnswerFailure,
  ): Fact<Result> {
    if (fact.why !== undefined) return { why: fact.why }
    try {
      const found = derive(fact.value)
      return 'ok' in found ? { why: found } : { value: found }
    } catch (cause) {
      return { why: this.#toFailure(cause) }
    }
  }

  /** What fails is unknown, by why it fails. */
  #settle<Value>(ask: () => MaybePromise<Value>): MaybePromise<Fact<Value>> {
    try {
      const found = ask()
      if (!(found instanceof Promise)) return { value: found }
      return found.then(
        (value) => ({ value }),
        (cause: unknown) => ({ why: this.#toFailure(cause) }),
      )
    } catch (cause) {
      return { why: this.#toFailure(cause) }
    }
  }

  #toFailure(cause: unknown): AnswerFailure {
    if (!(cause instanceof AppError)) this.#deps.onError(cause)
    const isRefused = cause instanceof AppError && cause.kind === 'invalid-request'
    const reason = isRefused ? 'bad-question' : 'source-failed'
    const says = [{ code: reason, quote: getErrorMessage(cause) }] as const
    return { ok: false, reason, says, source: ownSource }
  }
}

/** With why the number could not be located, if it could not. */
interface Located extends Pick<OwnFacts, 'asOf' | 'postalCode' | 'number' | 'postal' | 'ported'> {
  readonly failure?: AnswerFailure | undefined
}

/** The project's hours for the places of the number; a project can have hours for all regions. */
function selectHours(
  hours: readonly ProjectHours[],
  { number, postal }: Pick<Located, 'number' | 'postal'>,
): readonly ProjectHours[] {
  if (hours.length === 0) return hours
  const places = number.status === 'ok' ? listPlaces(number.place, postal) : []
  return hours.filter((one) => places.some(({ region }) => region === one.region))
}

/** No rule uses the carrier, and every record stores the facts. */
function withoutCarrier(facts: NumberFacts): NumberOfPlan {
  if (facts.status !== 'ok') return facts
  const { status, place, lineClass, originalClass } = facts
  return { status, place, lineClass, originalClass }
}

const unknownNumber: NumberOfPlan = { status: 'unknown-prefix', says: [], areaCodeInUse: false }

function atOnce<Value>(fact: MaybePromise<Fact<Value>>): Fact<Value> {
  return fact instanceof Promise ? pending : fact
}

/** Names the campaign if there is one, otherwise the project. */
function createScopeError({
  projectId,
  campaignId,
}: Pick<Question, 'projectId' | 'campaignId'>): AppError {
  if (campaignId === undefined) return projectNotFound('projectId', projectId ?? '')
  const rule = 'is not an active campaign of this account and project'
  return invalidRequest([{ field: 'campaignId', value: campaignId, rule }])
}
