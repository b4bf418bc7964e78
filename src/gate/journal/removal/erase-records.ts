/** Erases the number and the part about the person from a record, without changing its length. */
import { splitBody } from '../../../transparency/log-entry.js'
import { readRecord } from '../../record/read-record.js'
import type { JournalRecord } from '../segment-format.js'

export interface NumberErasure {
  /** Ten digits. */
  readonly number: string
  /** `undefined` for all accounts. */
  readonly accountId: string | undefined
  /** Also in decisions that allowed a call. */
  readonly includesAllowed: boolean
}

/** Erases one number from the bodies of records. */
export class NumberEraser {
  readonly #erasure: NumberErasure
  readonly #pattern: RegExp
  readonly #erased = new Set<string>()
  readonly #kept = new Set<string>()

  constructor(erasure: NumberErasure) {
    this.#erasure = erasure
    this.#pattern = numberPattern(erasure.number)
  }

  get number(): string {
    return this.#erasure.number
  }

  /** Decisions that had the number so far; those already without it are not counted. */
  get counts(): { readonly erased: number; readonly kept: number } {
    return { erased: this.#erased.size, kept: this.#kept.size }
  }

  mayHaveNumber(bytes: Buffer): boolean {
    return this.#pattern.test(bytes.toString('latin1'))
  }

  /** The same bytes, with an `x` for each digit of the number, also where they are no record. */
  eraseText(bytes: Buffer): Buffer {
    const text = bytes.toString('latin1')
    return Buffer.from(
      text.replace(new RegExp(this.#pattern, 'g'), (found) => found.replace(/\d/g, 'x')),
      'latin1',
    )
  }

  /** The body without the number, in as many bytes; `undefined` if it stays as it is. */
  eraseDecision(body: Buffer): Buffer | undefined {
    if (!this.mayHaveNumber(body)) return undefined
    const { number, accountId, includesAllowed } = this.#erasure
    const document = readRecord('decision', { body })
    if (accountId !== undefined && document.accountId !== accountId) return undefined
    // A what-if is no call.
    if (document.decision === 'allow' && !document.whatIf && !includesAllowed) {
      this.#kept.add(document.id)
      return undefined
    }
    this.#erased.add(document.id)
    const isDialed = document.number === number || this.mayHaveNumber(Buffer.from(document.dialed))
    return this.eraseText(isDialed ? withoutPerson(body) : body)
  }

  /** As {@link NumberEraser.eraseDecision}, for a record of any kind. */
  eraseRecord({ kind, body }: JournalRecord): Buffer | undefined {
    if (kind === 'decision' || kind === 'amendment') return this.eraseDecision(body)
    const isOfAccount = kind === 'audit' || kind === 'receipt'
    if (!isOfAccount && kind !== 'outcome') return undefined
    if (!this.mayHaveNumber(body)) return undefined
    const { accountId } = this.#erasure
    const isOfOther =
      isOfAccount && accountId !== undefined && readRecord(kind, { body }).accountId !== accountId
    if (isOfOther) return undefined
    return this.eraseText(body)
  }
}

/** Keeps the length: trailing white space is not part of the JSON. */
function withoutPerson(body: Buffer): Buffer {
  const left = Buffer.alloc(body.length, ' ')
  const { kept } = splitBody(body)
  kept.copy(left)
  left.write('\t#', kept.length)
  return left
}

/** As it is dialed or written, in UTF-8 read as Latin-1; not within a longer number or an id. */
function numberPattern(number: string): RegExp {
  const separators = '[\\s().+/\\xc2-]{0,4}'
  const digits = [...number].join(separators)
  return new RegExp(`(?<![0-9A-Za-z])(?:1${separators})?${digits}(?![0-9A-Za-z])`)
}
