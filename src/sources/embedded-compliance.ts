/**
 * Answers the compliance port from our own service in the same process. Never throws: an error of the
 * service is an {@link AnswerFailure}.
 */

import type {
  Answer,
  AnswerFailure,
  AnswerFailureReason,
  AnswerSuccess,
  Compliance,
  InternalDncStatus,
  LegalTime,
  LegalTimeQuestion,
  LitigatorStatus,
  MaybePromise,
  Question,
  ScrubVerdict,
} from '../domain/compliance.js'
import type { Instant } from '../domain/time/clock.js'
import type { Said } from '../domain/words/words.js'
import { AppError, getErrorMessage, invalidRequest } from '../errors.js'
import type { InternalDncEntry } from '../law/records/opt-out.js'
import type { CallingHours } from '../service/calling-hours/calling-hours.js'
import type { InternalDncEntrySource } from '../service/internal-dnc/internal-dnc-entry.js'
import { noListOwners } from '../service/lists/list-rights.js'
import type { ProjectScope } from '../service/projects/project-scope.js'
import { projectNotFound, type ScopeResolver } from '../service/projects/project-scope.js'
import type { RecordedEntry } from '../service/recorded-facts.js'
import type { EvaluatedAccount, ScrubEvaluator } from '../service/scrub/scrub-evaluator.js'

/** The `source` field of the answers. */
export const embeddedSourceName = 'embedded'

interface EmbeddedView extends EvaluatedAccount {
  readonly hours: EvaluatedAccount['hours'] & Pick<CallingHours, 'checkTimeLegal'>
}

export interface EmbeddedDeps {
  readonly evaluator: Pick<ScrubEvaluator, 'evaluate'>
  readonly internalDnc: Pick<InternalDncEntrySource, 'findEntry'>
  /** Those of all accounts; read for each question, since a reload replaces them. */
  readonly views: Readonly<Record<'real' | 'sandbox', EmbeddedView>>
  /** Whose questions are answered. */
  readonly kind: 'real' | 'sandbox'
  readonly projects: ScopeResolver
  /** Called for each failure that is a bug or a storage error, and not caused by the question. */
  readonly onError: (question: keyof Compliance, cause: unknown) => void
}

const noExpiry = Number.POSITIVE_INFINITY

export class EmbeddedCompliance implements Compliance {
  readonly #deps: EmbeddedDeps

  constructor(deps: EmbeddedDeps) {
    this.#deps = deps
  }

  /** Evaluated at the question's instant, or now. */
  scrub(question: Question): MaybePromise<Answer<ScrubVerdict>> {
    try {
      const { evaluator, views, kind } = this.#deps
      const found = evaluator.evaluate(views[kind], question.accountId, question)
      if (!(found instanceof Promise))
        return this.#succeed(found.verdict, found.holdsUntil, found.evaluatedAt)
      return found
        .then(({ verdict, holdsUntil, evaluatedAt }) =>
          this.#succeed(verdict, holdsUntil, evaluatedAt),
        )
        .catch((cause: unknown) => this.#fail('scrub', cause))
    } catch (cause) {
      return this.#fail('scrub', cause)
    }
  }

  /** Uses the current list, even for a question about another instant. */
  internalDnc(question: Question): MaybePromise<Answer<InternalDncStatus>> {
    try {
      const scope = this.#deps.projects.resolve(question.accountId, question)
      const entry =
        scope instanceof Promise
          ? scope.then((found) => this.#findEntry(found, question))
          : this.#findEntry(scope, question)
      if (!(entry instanceof Promise)) return this.#toStatus(entry)
      return entry
        .then((found) => this.#toStatus(found))
        .catch((cause: unknown) => this.#fail('internalDnc', cause))
    } catch (cause) {
      return this.#fail('internalDnc', cause)
    }
  }

  #findEntry(
    scope: ProjectScope | undefined,
    question: Question,
  ): MaybePromise<InternalDncEntry | undefined> {
    if (!scope) throw createScopeError(question)
    const { internalDnc, views, kind } = this.#deps
    const { accountId, number } = question
    return internalDnc.findEntry(accountId, scope.internalDncList, number, views[kind].fixedFacts)
  }

  #toStatus(entry: InternalDncEntry | undefined): AnswerSuccess<InternalDncStatus> {
    if (entry?.removedAt !== null) {
      return this.#succeed({ onList: false, addedAt: undefined }, noExpiry)
    }
    const { addedAt } = entry
    const facts = JSON.stringify({ addedAt } satisfies RecordedEntry)
    return this.#succeed({ onList: true, addedAt, facts }, noExpiry)
  }

  /** The answer is that of the account, whether or not its project exists. */
  litigator(question: Question): MaybePromise<Answer<LitigatorStatus>> {
    try {
      const scope = this.#deps.projects.resolve(question.accountId)
      if (!(scope instanceof Promise)) return this.#checkLitigator(scope, question)
      return scope
        .then((found) => this.#checkLitigator(found, question))
        .catch((cause: unknown) => this.#fail('litigator', cause))
    } catch (cause) {
      return this.#fail('litigator', cause)
    }
  }

  #checkLitigator(
    scope: ProjectScope | undefined,
    { accountId, number }: Question,
  ): Answer<LitigatorStatus> {
    const { views, kind } = this.#deps
    const user = scope ?? { accountId, listOwners: noListOwners }
    const found = views[kind].lists.checkLitigator(number, user)
    if (found.status === 'not-covered') {
      const unusable = found.isUnusable ? 'list-unusable' : 'list-missing'
      return createFailure(found.isStale ? 'list-stale' : unusable, found.says)
    }
    const { status, lists, holdsUntil } = found
    return this.#succeed({ isLitigator: status === 'listed', list: lists[0] }, holdsUntil)
  }

  /** An unknown project or campaign gives the status `INVALID_PROJECT`. */
  legalTime(question: LegalTimeQuestion): MaybePromise<Answer<LegalTime>> {
    try {
      const scope = this.#deps.projects.resolve(question.accountId, question)
      if (!(scope instanceof Promise)) return this.#judgeLegalTime(scope, question)
      return scope
        .then((found) => this.#judgeLegalTime(found, question))
        .catch((cause: unknown) => this.#fail('legalTime', cause))
    } catch (cause) {
      return this.#fail('legalTime', cause)
    }
  }

  #judgeLegalTime(scope: ProjectScope | undefined, question: LegalTimeQuestion): Answer<LegalTime> {
    const { views, kind } = this.#deps
    const { clock, hours } = views[kind]
    const now = clock.now()
    const { number, at, postalCode } = question
    const { recordedVoice, requireStatutoryWindow, strictestPlace: requireBothPlaces } = question
    const { purpose, exceptions } = question
    const { holdsUntil, ...value } = hours.checkTimeLegal({
      phoneNumber: number,
      at,
      now,
      postalCode,
      projectFault: scope ? undefined : createScopeError(question).message,
      overrides: scope?.hours,
      recordedVoice,
      requireStatutoryWindow,
      requireBothPlaces,
      purpose,
      exceptions,
    })
    return this.#succeed(value, holdsUntil, now)
  }

  /** `asOf` is the instant for which it was judged, if the answer depends on one. */
  #succeed<Value>(
    value: Value,
    holdsUntil: Instant,
    asOf = this.#deps.views[this.#deps.kind].clock.now(),
  ): AnswerSuccess<Value> {
    // An object that has `judged` from the start takes less memory than one that gets it later.
    return { ok: true, value, source: embeddedSourceName, asOf, holdsUntil, judged: undefined }
  }

  #fail(question: keyof Compliance, cause: unknown): AnswerFailure {
    if (!(cause instanceof AppError)) this.#deps.onError(question, cause)
    const isRefused = cause instanceof AppError && cause.kind === 'invalid-request'
    const code = isRefused ? 'bad-question' : 'source-failed'
    return createFailure(code, [{ code, quote: getErrorMessage(cause) }])
  }
}

function createFailure(reason: AnswerFailureReason, says: readonly Said[]): AnswerFailure {
  return { ok: false, reason, says, source: embeddedSourceName }
}

/** Names the campaign if there is one, otherwise the project. */
function createScopeError({ projectId, campaignId }: Question): AppError {
  if (campaignId === undefined) return projectNotFound('projectId', projectId ?? '')
  const rule = 'is not an active campaign of this account and project'
  return invalidRequest([{ field: 'campaignId', value: campaignId, rule }])
}
