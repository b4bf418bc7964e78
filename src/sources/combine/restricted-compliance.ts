/**
 * Restricts what a provider permits by local knowledge: statutory hours, opt-outs recorded here, and an
 * imported litigator list. It never permits more than the provider.
 */
import {
  type Answer,
  type Compliance,
  hasAnswerWhere,
  type InternalDncStatus,
  isRequestError,
  type LegalTime,
  type LegalTimeQuestion,
  type LitigatorStatus,
  type MaybePromise,
  mapMaybePromise,
  type Question,
  type ScrubVerdict,
} from '../../domain/compliance.js'
import { isFictional, type PhoneNumber } from '../../domain/phone-number.js'
import { requireAllPermit } from './require-all-permit.js'

export class RestrictedCompliance implements Compliance {
  readonly #provider: Compliance
  readonly #local: Compliance

  /** `local` answers from data stored and imported here, without asking a provider. */
  constructor(provider: Compliance, local: Compliance) {
    this.#provider = provider
    this.#local = local
  }

  /** Uses only the provider, whose letter combines its own lists and consent records. */
  scrub(question: Question): MaybePromise<Answer<ScrubVerdict>> {
    return this.#provider.scrub(question)
  }

  /**
   * The number must be on neither the provider's nor our own list. A project that is unknown here
   * belongs to the provider; our own list is then that of the account.
   */
  internalDnc(question: Question): MaybePromise<Answer<InternalDncStatus>> {
    return this.#restrict(
      this.#askLocalInternalDnc(question),
      () => this.#provider.internalDnc(question),
      // Our own entry is final; the provider's may be overridden, so ours must be known first.
      { local: ({ onList }) => onList, provider: () => false },
    )
  }

  /** Our own list is used only if one is imported. */
  litigator(question: Question): MaybePromise<Answer<LitigatorStatus>> {
    return this.#restrict(
      mapMaybePromise(this.#local.litigator(question), (answer) =>
        !answer.ok && answer.reason === 'list-missing' ? undefined : answer,
      ),
      () => this.#provider.litigator(question),
      createFinalDenial(({ isLitigator }) => isLitigator),
    )
  }

  /**
   * Requires the provider's hours and the statutory hours. The latter are by our numbering plan and for
   * the kind of voice, which the provider's API does not support, and without the project and campaign,
   * which are the provider's. Without imported prefixes the plan has places by area code only, or none
   * with the setting `strict`; a number without a known place is not permitted, whatever the provider
   * answers. For the fictional numbers 555-0100 to 555-0199, which no plan contains, the provider's
   * answer is enough, so that its test numbers can be used.
   */
  legalTime(question: LegalTimeQuestion): MaybePromise<Answer<LegalTime>> {
    return this.#restrict(
      mapMaybePromise(this.#local.legalTime(toStatutoryQuestion(question)), (answer) =>
        isUnplacedFictionalNumber(question.number, answer) ? undefined : answer,
      ),
      () => this.#provider.legalTime(question),
      createFinalDenial(({ permitted }) => !permitted),
    )
  }

  #askLocalInternalDnc(question: Question): MaybePromise<Answer<InternalDncStatus>> {
    const isUnscoped = question.projectId === undefined && question.campaignId === undefined
    return mapMaybePromise(this.#local.internalDnc(question), (answer) =>
      answer.ok || answer.reason !== 'bad-question' || isUnscoped
        ? answer
        : this.#local.internalDnc(toAccountQuestion(question)),
    )
  }

  /**
   * Does not ask the provider if we deny the call immediately or cannot answer the question ourselves,
   * since no answer of the provider could then permit the call.
   */
  #restrict<T>(
    local: MaybePromise<Answer<T> | undefined>,
    askProvider: () => MaybePromise<Answer<T>>,
    isFinal: FinalDenial<T>,
  ): MaybePromise<Answer<T>> {
    if (local !== undefined && !(local instanceof Promise)) {
      const isDenied = local.ok
        ? hasAnswerWhere(local, isFinal.local)
        : isRequestError(local.reason)
      if (isDenied) return local
    }
    return requireAllPermit(askProvider(), local, {
      isFinal: (value, of) => (of === 'first' ? isFinal.provider(value) : isFinal.local(value)),
    })
  }
}

/** Which values are final denials. */
interface FinalDenial<T> {
  readonly local: (value: T) => boolean
  readonly provider: (value: T) => boolean
}

function createFinalDenial<T>(isDenial: (value: T) => boolean): FinalDenial<T> {
  return { local: isDenial, provider: isDenial }
}

/** The same question about the whole account, without the provider's project. */
function toAccountQuestion(question: Question): Question {
  return { ...question, projectId: undefined, campaignId: undefined }
}

/** Named fields, since this runs for every call and a spread is slow. */
function toStatutoryQuestion(question: LegalTimeQuestion): LegalTimeQuestion {
  const { accountId, number, postalCode, at, inBackground, callKind } = question
  const { recordedVoice, strictestPlace, purpose } = question
  return {
    accountId,
    number,
    postalCode,
    at,
    inBackground,
    callKind,
    recordedVoice,
    strictestPlace,
    requireStatutoryWindow: true,
    purpose,
  }
}

function isUnplacedFictionalNumber(number: PhoneNumber, answer: Answer<LegalTime>): boolean {
  return answer.ok && answer.value.status === 'UNKNOWN_NXX' && isFictional(number)
}
