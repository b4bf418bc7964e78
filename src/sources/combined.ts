/**
 * Two providers as one: the second steps in when the first does not answer, or both are asked and
 * each must permit. Which calls are permitted is left to the checks, keeping answers to the cache.
 */
import type { Timers } from '../domain/clock.js'
import type {
  Answered,
  Asked,
  Compliance,
  Eventually,
  InsteadOf,
  InternalDncStatus,
  LegalTimeQuestion,
  Question,
  ScrubVerdict,
  Unanswered,
} from '../domain/compliance.js'
import { eachMustPermit, neither } from './each-must-permit.js'

export interface CombinedOptions {
  /**
   * - `fallback`: the second is asked when the first does not answer, or not soon;
   * - `any-no-blocks`: both are always asked at once, and each must permit.
   */
  readonly mode: 'fallback' | 'any-no-blocks'
  /** How long the first is waited for before the second is asked as well. */
  readonly fallbackAfterMs: number
  /** With `any-no-blocks`: how long after the question a no that may be lifted waits for the other. */
  readonly patienceMs: number
  readonly timers: Timers
}

/**
 * - `fallback`: the first answer that is had, of whichever of the two, the second's marked
 *   `insteadOf`; unanswered only when both are. A question in the background waits for the first
 *   however long it takes.
 * - `any-no-blocks`: the first's answer with the second's as `also`; where one is silent, the
 *   other's with that silence as `also`. A no that nothing lifts does not wait for the other; one
 *   that something may lift waits for it no longer than `patienceMs`.
 */
export function combined(
  first: Compliance,
  second: Compliance,
  options: CombinedOptions,
): Compliance {
  return options.mode === 'fallback'
    ? new Fallback(first, second, options)
    : new AnyNoBlocks(first, second, options)
}

type Ask<T> = (source: Compliance) => Eventually<Asked<T>>

class AnyNoBlocks implements Compliance {
  readonly #first: Compliance
  readonly #second: Compliance
  readonly #options: CombinedOptions

  constructor(first: Compliance, second: Compliance, options: CombinedOptions) {
    this.#first = first
    this.#second = second
    this.#options = options
  }

  scrub(question: Question) {
    const { callKind } = question
    const isNo = callKind && ((row: ScrubVerdict) => row.doNotCallToday || !row.allowed[callKind])
    return this.#both(question, (source) => source.scrub(question), {
      isFinal: permitsNoKind,
      isNo,
    })
  }

  /** An entry may be lifted by a permission record, but not before the other list has been seen. */
  internalDnc(question: Question) {
    const isNo = ({ onList }: InternalDncStatus) => onList
    return this.#both(question, (source) => source.internalDnc(question), { isFinal: never, isNo })
  }

  litigator(question: Question) {
    return this.#both(question, (source) => source.litigator(question), {
      isFinal: ({ isLitigator }) => isLitigator,
    })
  }

  legalTime(question: LegalTimeQuestion) {
    return this.#both(question, (source) => source.legalTime(question), {
      isFinal: ({ permitted }) => !permitted,
    })
  }

  /** In the background nobody is kept waiting, and whole answers are wanted. */
  #both<T>(
    { inBackground }: Question,
    ask: Ask<T>,
    { isFinal, isNo }: Noes<T>,
  ): Eventually<Asked<T>> {
    const { patienceMs, timers } = this.#options
    const isPatient = isNo !== undefined && inBackground !== true
    const patience = isPatient && { isNo, untilMs: timers.monotonicMs() + patienceMs, timers }
    return eachMustPermit(ask(this.#first), ask(this.#second), {
      isFinal,
      ...(patience && { patience }),
    })
  }
}

/** Which values are a no that nothing lifts, and which one that something may lift. */
interface Noes<T> {
  readonly isFinal: (value: T) => boolean
  readonly isNo?: ((value: T) => boolean) | undefined
}

const never = () => false

/** A row that permits some kind of call is no plain no: the cache keeps it for all kinds. */
function permitsNoKind({ allowed, doNotCallToday }: ScrubVerdict): boolean {
  if (doNotCallToday) return true
  return !allowed.manual && !allowed.autodialed && !allowed.ai
}

class Fallback implements Compliance {
  readonly #first: Compliance
  readonly #second: Compliance
  readonly #options: CombinedOptions

  constructor(first: Compliance, second: Compliance, options: CombinedOptions) {
    this.#first = first
    this.#second = second
    this.#options = options
  }

  scrub(question: Question) {
    return this.#either(question, (source) => source.scrub(question))
  }

  internalDnc(question: Question) {
    return this.#either(question, (source) => source.internalDnc(question))
  }

  litigator(question: Question) {
    return this.#either(question, (source) => source.litigator(question))
  }

  legalTime(question: LegalTimeQuestion) {
    return this.#either(question, (source) => source.legalTime(question))
  }

  #either<T>({ inBackground }: Question, ask: Ask<T>): Eventually<Asked<T>> {
    const first = ask(this.#first)
    const askSecond = () => ask(this.#second)
    if (!(first instanceof Promise)) return first.answered ? first : inPlaceOf(first, askSecond())
    if (!inBackground) return this.#soon(first, askSecond)
    return first.then((asked) => (asked.answered ? asked : inPlaceOf(asked, askSecond())))
  }

  /** A second that does not answer changes nothing: the first is still waited for. */
  #soon<T>(first: Promise<Asked<T>>, askSecond: () => Eventually<Asked<T>>): Promise<Asked<T>> {
    const { timers, fallbackAfterMs } = this.#options
    const because = `not answered within ${fallbackAfterMs} ms`
    return new Promise((resolve, reject) => {
      let second: Promise<Asked<T>> | undefined
      const askOnce = () => {
        second ??= new Promise((give) => give(askSecond()))
        return second
      }
      const callOff = timers.after(fallbackAfterMs, () => {
        const answered = (asked: Asked<T>) =>
          asked.answered && resolve(standIn(asked, { because, late: first }))
        askOnce().then(answered, () => undefined)
      })
      first.then(
        (asked) => {
          callOff()
          resolve(asked.answered ? asked : inPlaceOf(asked, askOnce()))
        },
        (cause: unknown) => {
          callOff()
          reject(cause)
        },
      )
    })
  }
}

/** The second's answer instead of the first's silence. */
function inPlaceOf<T>(first: Unanswered, second: Eventually<Asked<T>>): Eventually<Asked<T>> {
  if (second instanceof Promise) return second.then((asked) => inPlaceOf(first, asked))
  return second.answered ? standIn(second, { because: first.detail }) : neither(first, second)
}

function standIn<T>(answer: Answered<T>, insteadOf: InsteadOf<T>): Answered<T> {
  return { ...answer, insteadOf }
}
