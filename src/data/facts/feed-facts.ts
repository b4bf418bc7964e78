/**
 * Answers look-ups from imported files. What no file tells is no fact: an answer is never made up,
 * and a file that turns out to be damaged makes the question fail, save that of two bodies of data
 * about reassigned numbers the one that can be read goes on answering.
 */
import type { Clock, Instant, LocalDay } from '../../domain/clock.js'
import type {
  Complaint,
  ComplaintBook,
  LabelBook,
  LabelSource,
  NumberLabels,
} from '../../domain/labels.js'
import type {
  LineIdentity,
  LineStatusAnswer,
  LookupBook,
  ReassignedAnswer,
  ResOrBusiness,
} from '../../domain/lookups.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { mapInSlices } from '../../domain/slices.js'
import { DataFileError } from '../../errors.js'
import type { ComplaintFact } from '../feeds/ftc-complaints.js'
import type { FactStore } from './fact-store.js'
import { type ReassignedVerdict, reassignedSince } from './reassigned-rule.js'

const unknown: ReassignedVerdict = { reassigned: null, denied: false }

type ReassignedFeed = 'reassigned' | 'carrier-reassigned'

interface Consent {
  readonly number: PhoneNumber
  readonly consentOn: LocalDay
}

export class FeedFacts implements LookupBook, LabelBook, ComplaintBook {
  readonly #store: FactStore
  readonly #clock: Clock

  constructor(store: FactStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  async identity(number: PhoneNumber): Promise<LineIdentity | undefined> {
    const [row] = this.#store.get('current-carrier')?.rows(number) ?? []
    if (!row) return undefined
    const { phoneType, ocn, telcoName, lookedUpOn } = row
    return { phoneType, ocn, telcoName, on: lookedUpOn ?? undefined }
  }

  async lineStatus(number: PhoneNumber): Promise<LineStatusAnswer | undefined> {
    const [row] = this.#store.get('line-status')?.rows(number) ?? []
    return row && { status: row.status, errorText: row.errorText }
  }

  async resOrBusiness(number: PhoneNumber): Promise<ResOrBusiness | undefined> {
    return this.#store.get('res-or-business')?.rows(number)[0]?.kind
  }

  /**
   * {@link reassignedSince} has the rule. A safe harbour rests on a `no` of the national database,
   * and there is none while data of one's own, which may know better, cannot be read.
   */
  reassigned(asked: readonly Consent[]): Promise<readonly (ReassignedAnswer | undefined)[]> {
    return mapInSlices(asked, (consent) => {
      const national = this.#reassigned('reassigned', consent)
      const own = this.#reassigned('carrier-reassigned', consent)
      if (national.reassigned === null && own.reassigned === null) return undefined
      const contested = own.reassigned === true || this.#fails('carrier-reassigned')
      const hasSafeHarbor = national.denied && !contested
      return { national: national.reassigned, hasSafeHarbor, own: own.reassigned }
    })
  }

  async labels(
    numbers: readonly PhoneNumber[],
    wanted: readonly LabelSource[],
  ): Promise<ReadonlyMap<PhoneNumber, NumberLabels>> {
    const found = new Map<PhoneNumber, NumberLabels>()
    await mapInSlices(numbers, (number) => {
      const labels = this.#labelsOf(number, wanted)
      if (Object.keys(labels).length > 0) found.set(number, labels)
    })
    return found
  }

  /** The newest thousand of a number, which is more than anybody reads. */
  async complaints(
    numbers: readonly PhoneNumber[],
  ): Promise<ReadonlyMap<PhoneNumber, readonly Complaint[]>> {
    const found = new Map<PhoneNumber, readonly Complaint[]>()
    await mapInSlices(numbers, (number) => {
      const rows = this.#store.get('ftc-complaints')?.rows(number) ?? []
      if (rows.length > 0) found.set(number, rows.map(complaintOf(number)))
    })
    return found
  }

  /** The store tells of a file that fails ({@link FactStore.problems}); here it knows nothing. */
  #reassigned(feed: ReassignedFeed, { number, consentOn }: Consent): ReassignedVerdict {
    const file = this.#store.get(feed)
    if (!file) return unknown
    try {
      const today = dayOf(this.#clock.now())
      return reassignedSince({ facts: file.rows(number), consentOn, today })
    } catch (cause) {
      if (cause instanceof DataFileError) return unknown
      throw cause
    }
  }

  #fails(feed: ReassignedFeed): boolean {
    return this.#store.problems().some((problem) => problem.feed === feed)
  }

  /** A source whose file is complete calls every number clean that it does not name. */
  #labelsOf(number: PhoneNumber, wanted: readonly LabelSource[]): NumberLabels {
    const file = this.#store.get('spam-labels')
    if (!file) return {}
    const said = new Map(file.rows(number).map(({ source, flagged }) => [source, flagged === 1]))
    const labels: Partial<Record<LabelSource, boolean>> = {}
    for (const source of wanted) {
      const label = said.get(source) ?? (file.info.complete.includes(source) ? false : undefined)
      if (label !== undefined) labels[source] = label
    }
    return labels
  }
}

function dayOf(at: Instant): LocalDay {
  return Math.floor(at / 86_400_000)
}

function complaintOf(phone: PhoneNumber): (fact: ComplaintFact) => Complaint {
  return ({ id, createdAt, violatedAt, city, state, areaCode, subject, robocall }) => ({
    ...{ id, phone, city, state, areaCode, subject },
    createdDate: asFiled(createdAt),
    violationDate: asFiled(violatedAt),
    recordedMessageOrRobocall: robocall,
  })
}

/** `YYYY-MM-DD HH:MM:SS` to `MM/DD/YYYY HH:MM:SS`; what was blank stays so. */
function asFiled(time: string): string {
  return time.replace(/^(\d{4})-(\d\d)-(\d\d)/, '$2/$3/$1')
}
