/**
 * What this callgate knows itself narrows what a provider permits, and never widens it: the law's
 * own hours, the opt-outs recorded here, an imported litigator list. What a call becomes of it is
 * left to the checks.
 */
import {
  type Asked,
  type Compliance,
  type Eventually,
  type InternalDncStatus,
  isOfTheQuestion,
  type LegalTime,
  type LegalTimeQuestion,
  type LitigatorStatus,
  type Question,
  type ScrubVerdict,
  when,
} from '../domain/compliance.js'
import { isFictional, type PhoneNumber } from '../domain/phone-number.js'
import { eachMustPermit, isSaid } from './each-must-permit.js'

export class OwnRules implements Compliance {
  readonly #provider: Compliance
  readonly #own: Compliance

  /** `own` answers from what is stored and imported here, without asking anybody else. */
  constructor(provider: Compliance, own: Compliance) {
    this.#provider = provider
    this.#own = own
  }

  /** The provider's alone: its lists, its consent records and its letters are one judgement. */
  scrub(question: Question): Eventually<Asked<ScrubVerdict>> {
    return this.#provider.scrub(question)
  }

  /**
   * The provider's and our own list each must be clear of the number. A project that is unknown
   * here is one of the provider's; our own list is then that of the account.
   */
  internalDnc(question: Question): Eventually<Asked<InternalDncStatus>> {
    return this.#narrowed(
      this.#ownInternalDnc(question),
      () => this.#provider.internalDnc(question),
      // Nothing lifts our own entry; the provider's may be lifted, so ours has to be seen first.
      { own: ({ onList }) => onList, provider: () => false },
    )
  }

  /** Our own list counts where one is imported: a list that is not here says nothing. */
  litigator(question: Question): Eventually<Asked<LitigatorStatus>> {
    return this.#narrowed(
      when(this.#own.litigator(question), (asked) =>
        !asked.answered && asked.why === 'list-missing' ? undefined : asked,
      ),
      () => this.#provider.litigator(question),
      ofEither(({ isLitigator }) => isLitigator),
    )
  }

  /**
   * The provider's hours and the law's own, by our numbering plan and for the kind of voice: the
   * provider's API cannot be asked for the latter. Asked without project and campaign, which are
   * the provider's. With no prefixes imported the plan knows places by area code, or none at all
   * where settings say `strict`; a number it knows no place of is not permitted, whatever the
   * provider says. Except 555-0100 to 555-0199, which ring nowhere and stand in no plan: there the
   * provider's word is enough, so that a provider's test numbers can be tried.
   */
  legalTime(question: LegalTimeQuestion): Eventually<Asked<LegalTime>> {
    return this.#narrowed(
      when(this.#own.legalTime(asOfLaw(question)), (asked) =>
        isPlacelessFiction(question.number, asked) ? undefined : asked,
      ),
      () => this.#provider.legalTime(question),
      ofEither(({ permitted }) => !permitted),
    )
  }

  #ownInternalDnc(question: Question): Eventually<Asked<InternalDncStatus>> {
    const namesNone = question.projectId === undefined && question.campaignId === undefined
    return when(this.#own.internalDnc(question), (asked) =>
      asked.answered || asked.why !== 'bad-question' || namesNone
        ? asked
        : this.#own.internalDnc(ofAccount(question)),
    )
  }

  /**
   * The provider is not asked when we forbid the call at once, or cannot judge it as it is asked:
   * nothing the provider says would permit it.
   */
  #narrowed<T>(
    own: Eventually<Asked<T> | undefined>,
    askProvider: () => Eventually<Asked<T>>,
    isFinal: FinalNo<T>,
  ): Eventually<Asked<T>> {
    if (own !== undefined && !(own instanceof Promise)) {
      const isNo = own.answered ? isSaid(own, isFinal.own) : isOfTheQuestion(own.why)
      if (isNo) return own
    }
    return eachMustPermit(askProvider(), own, {
      isFinal: (value, of) => (of === 'first' ? isFinal.provider(value) : isFinal.own(value)),
    })
  }
}

/** A no that nothing lifts. */
interface FinalNo<T> {
  readonly own: (value: T) => boolean
  readonly provider: (value: T) => boolean
}

function ofEither<T>(isNo: (value: T) => boolean): FinalNo<T> {
  return { own: isNo, provider: isNo }
}

/** The same about the account as a whole: without the provider's projects. */
function ofAccount(question: Question): Question {
  return { ...question, projectId: undefined, campaignId: undefined }
}

/** With named fields and no spread, which would be slow: this is asked of every call. */
function asOfLaw(question: LegalTimeQuestion): LegalTimeQuestion {
  const { accountId, number, postalCode, at, inBackground, callKind } = question
  const { recordedVoice, strictestPlace } = question
  return {
    accountId,
    number,
    postalCode,
    at,
    inBackground,
    callKind,
    recordedVoice,
    strictestPlace,
    lawToo: true,
  }
}

function isPlacelessFiction(number: PhoneNumber, asked: Asked<LegalTime>): boolean {
  return asked.answered && asked.value.status === 'UNKNOWN_NXX' && isFictional(number)
}
