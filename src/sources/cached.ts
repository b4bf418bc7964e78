/**
 * Keeps answers for a while: one shelf per question, keyed by everything an answer depends on.
 * What-ifs go straight through, and a change to a number drops its answers at once. How long an
 * answer is given, and what stands in for a silent source, is the shelf's (`answer-shelf.ts`).
 */
import type { ChangeListener } from '../domain/changes.js'
import type {
  Asked,
  Compliance,
  Eventually,
  InternalDncStatus,
  LegalTime,
  LegalTimeQuestion,
  LitigatorStatus,
  Question,
  ScrubVerdict,
} from '../domain/compliance.js'
import type { CallKind } from '../domain/decision.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import { AnswerShelf, type ShelfOptions, shelfKey, type Warmed } from './answer-shelf.js'
import type { About } from './known-noes.js'

export type { CacheWatch, Warmed } from './answer-shelf.js'
export type { CacheSettings } from './kept-answer.js'

export interface CachedOptions extends ShelfOptions {
  /**
   * Whether answers about legal time depend on `recordedVoice`, `lawToo`, `strictestPlace` and the
   * postal code; not over a source that cannot be told them.
   */
  readonly standardsMatter: boolean
}

export class CachedCompliance implements Compliance, ChangeListener {
  readonly #standardsMatter: boolean
  readonly #scrub: AnswerShelf<ScrubVerdict, Question>
  readonly #internalDnc: AnswerShelf<InternalDncStatus, Question>
  readonly #litigator: AnswerShelf<LitigatorStatus, Question>
  readonly #legalTime: AnswerShelf<LegalTime, LegalTimeQuestion>

  constructor(source: Compliance, options: CachedOptions) {
    this.#standardsMatter = options.standardsMatter
    this.#scrub = new AnswerShelf(
      { name: 'scrub', ask: (question) => source.scrub(question), permits: rowPermits },
      options,
    )
    this.#internalDnc = new AnswerShelf(
      {
        name: 'internal-dnc',
        ask: (question) => source.internalDnc(question),
        permits: ({ onList }) => !onList,
      },
      options,
    )
    this.#litigator = new AnswerShelf(
      {
        name: 'litigator',
        ask: (question) => source.litigator(question),
        permits: ({ isLitigator }) => !isLitigator,
      },
      options,
    )
    this.#legalTime = new AnswerShelf(
      {
        name: 'legal-time',
        ask: (question) => source.legalTime(question),
        permits: ({ permitted }) => permitted,
      },
      options,
    )
  }

  scrub(question: Question): Eventually<Asked<ScrubVerdict>> {
    return this.#scrub.answer(question, aboutPlace(question))
  }

  internalDnc(question: Question): Eventually<Asked<InternalDncStatus>> {
    return this.#internalDnc.answer(question, aboutScope(question))
  }

  litigator(question: Question): Eventually<Asked<LitigatorStatus>> {
    return this.#litigator.answer(question, aboutScope(question))
  }

  legalTime(question: LegalTimeQuestion): Eventually<Asked<LegalTime>> {
    return this.#legalTime.answer(question, this.#aboutTime(question))
  }

  /**
   * Asks all four questions in the background, but those whose answer stays fresh for so long (or
   * for as long as answers are kept). `fresh` when nothing was to be asked, `unanswered` when an
   * answer is still missing. Never rejects.
   */
  async warm(question: LegalTimeQuestion, freshForMs: number): Promise<Warmed> {
    const scope = aboutScope(question)
    const warmed = await Promise.all([
      this.#scrub.warm(question, aboutPlace(question), freshForMs),
      this.#internalDnc.warm(question, scope, freshForMs),
      this.#litigator.warm(question, scope, freshForMs),
      this.#legalTime.warm(question, this.#aboutTime(question), freshForMs),
    ])
    if (warmed.includes('unanswered')) return 'unanswered'
    return warmed.includes('answered') ? 'answered' : 'fresh'
  }

  numbersChanged(accountId: string, numbers: readonly PhoneNumber[]): void {
    for (const number of numbers) this.#forget(shelfKey(accountId, number))
  }

  everythingChanged(): void {
    this.#forget()
  }

  /** A no of the hour is one of a place, so nothing of it is shared. */
  #aboutTime(question: LegalTimeQuestion): About {
    if (!this.#standardsMatter) return aboutScope(question)
    const { recordedVoice, lawToo, strictestPlace } = question
    const standards = `${Number(recordedVoice)}${Number(lawToo)}${Number(strictestPlace)}`
    const variant = standards + variantOf(question)
    return { variant, scope: variant }
  }

  #forget(key?: string): void {
    for (const shelf of [this.#scrub, this.#internalDnc, this.#litigator, this.#legalTime]) {
      shelf.forget(key)
    }
  }
}

function variantOf({ projectId, campaignId, postalCode }: Question): string {
  if (projectId === undefined && campaignId === undefined && postalCode === undefined) return ''
  return JSON.stringify([projectId, campaignId, postalCode])
}

function aboutPlace(question: Question): About {
  return { variant: variantOf(question), scope: scopeOf(question) }
}

function aboutScope(question: Question): About {
  const scope = scopeOf(question)
  return { variant: scope, scope }
}

/** Where a postal code makes no difference, as on lists, a known no counts for every one. */
function scopeOf({ projectId, campaignId }: Question): string {
  if (projectId === undefined && campaignId === undefined) return ''
  return JSON.stringify([projectId, campaignId])
}

/** The row's flags and its day; the letter and the check may forbid more, never less. */
function rowPermits(row: ScrubVerdict, kind: CallKind | undefined): boolean {
  const { allowed, doNotCallToday } = row
  if (doNotCallToday) return false
  if (kind !== undefined) return allowed[kind]
  return allowed.manual || allowed.autodialed || allowed.ai
}
