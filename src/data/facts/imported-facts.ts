/**
 * Answers lookups from imported files. Facts that are in no file are unknown. A question fails if its
 * file turns out to be damaged; for reassigned numbers, which have two files, the readable one is still
 * used.
 */
import type {
  LineIdentity,
  LineStatusAnswer,
  LookupSource,
  ReassignedAnswer,
  ReassignedReport,
  ReassignedReporter,
  ResOrBusiness,
} from '../../domain/lookups.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type {
  Complaint,
  ComplaintSource,
  LabelIssuer,
  LabelSource,
  NumberLabels,
} from '../../domain/spam-labels.js'
import type { Clock, LocalDay } from '../../domain/time/clock.js'
import { msPerDay, toUtcDay } from '../../domain/time/dates.js'
import { DataFileError } from '../../errors.js'
import { mapInSlices } from '../../runtime/yield-to-event-loop.js'
import type { ComplaintFact } from '../feeds/facts/ftc-complaints.js'
import type { FactFeedName, FactRowOf } from './fact-feeds.js'
import type { FactStore } from './fact-store.js'
import { evaluateReassignment, type ReassignedVerdict } from './reassigned-rule.js'

type ReassignedFeed = 'reassigned' | 'carrier-reassigned'

const reportFeeds: ReadonlySet<FactFeedName> = new Set<FactFeedName>([
  'reassigned',
  'carrier-reassigned',
  'line-status',
])

interface ConsentQuestion {
  readonly number: PhoneNumber
  readonly consentOn: LocalDay
}

export class ImportedFacts
  implements LookupSource, LabelSource, ComplaintSource, ReassignedReporter
{
  readonly #store: FactStore
  readonly #clock: Clock

  constructor(store: FactStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  async identity(number: PhoneNumber): Promise<LineIdentity | undefined> {
    const [row] = this.#store.get('current-carrier')?.findRows(number) ?? []
    if (!row) return undefined
    const { phoneType, ocn, telcoName, lookedUpOn } = row
    return { phoneType, ocn, telcoName, on: lookedUpOn ?? undefined }
  }

  async lineStatus(number: PhoneNumber): Promise<LineStatusAnswer | undefined> {
    const [row] = this.#store.get('line-status')?.findRows(number) ?? []
    return row && { status: row.status, errorText: row.errorText }
  }

  async resOrBusiness(number: PhoneNumber): Promise<ResOrBusiness | undefined> {
    return this.#store.get('res-or-business')?.findRows(number)[0]?.kind
  }

  /**
   * Applies {@link evaluateReassignment}. A safe harbor requires a `no` from the national database, and
   * is withheld while the operator's own data, which may say otherwise, cannot be read.
   */
  reassigned(
    asked: readonly ConsentQuestion[],
  ): Promise<readonly (ReassignedAnswer | undefined)[]> {
    return mapInSlices(asked, (consent) => this.#answer(consent)?.answer)
  }

  /** Whether there is a file, even if it cannot be read. */
  hasFile(feed: FactFeedName): boolean {
    return this.#store.get(feed) !== undefined || this.#isUnreadable(feed)
  }

  /** Read at once. Throws if a file cannot be read, unless the others have what forbids the call. */
  report(number: PhoneNumber, since: LocalDay): ReassignedReport | undefined {
    const [line] = this.#readRows('line-status', number)
    const isDisconnected =
      line?.status === 'disconnected' && (line.checkedOn === null || line.checkedOn >= since)
    const found = this.#answer({ number, consentOn: since })
    const isReassigned = found?.answer.national === true || found?.answer.own === true
    const damaged = this.#store.problems().find(({ feed }) => reportFeeds.has(feed))
    if (damaged && !isDisconnected && !isReassigned) throw new Error(damaged.detail)
    if (found) return { ...found.answer, isDisconnected, since, askedAt: found.asOn * msPerDay }
    if (!isDisconnected) return undefined
    const askedAt = (line?.checkedOn ?? since) * msPerDay
    return { national: null, own: null, hasSafeHarbor: false, isDisconnected, since, askedAt }
  }

  #answer(
    consent: ConsentQuestion,
  ): { readonly answer: ReassignedAnswer; readonly asOn: LocalDay } | undefined {
    const national = this.#reassigned('reassigned', consent)
    const own = this.#reassigned('carrier-reassigned', consent)
    const decisive = own.reassigned === true || national.reassigned === null ? own : national
    if (decisive.asOn === undefined) return undefined
    const contested = own.reassigned === true || this.#isUnreadable('carrier-reassigned')
    const hasSafeHarbor = national.denied && !contested
    const answer = { national: national.reassigned, hasSafeHarbor, own: own.reassigned }
    return { answer, asOn: decisive.asOn }
  }

  async labels(
    numbers: readonly PhoneNumber[],
    wanted: readonly LabelIssuer[],
  ): Promise<ReadonlyMap<PhoneNumber, NumberLabels>> {
    const found = new Map<PhoneNumber, NumberLabels>()
    await mapInSlices(numbers, (number) => {
      const labels = this.#readLabels(number, wanted)
      if (Object.keys(labels).length > 0) found.set(number, labels)
    })
    return found
  }

  /** Returns at most the newest thousand complaints of each number. */
  async complaints(
    numbers: readonly PhoneNumber[],
  ): Promise<ReadonlyMap<PhoneNumber, readonly Complaint[]>> {
    const found = new Map<PhoneNumber, readonly Complaint[]>()
    await mapInSlices(numbers, (number) => {
      const rows = this.#store.get('ftc-complaints')?.findRows(number) ?? []
      if (rows.length > 0) found.set(number, rows.map(toComplaint(number)))
    })
    return found
  }

  #reassigned(feed: ReassignedFeed, { number, consentOn }: ConsentQuestion): ReassignedVerdict {
    const today = toUtcDay(this.#clock.now())
    return evaluateReassignment({ facts: this.#readRows(feed, number), consentOn, today })
  }

  /** None of an unreadable file; {@link FactStore.problems} reports it. */
  #readRows<Name extends FactFeedName>(
    feed: Name,
    number: PhoneNumber,
  ): readonly FactRowOf<Name>[] {
    try {
      return this.#store.get(feed)?.findRows(number) ?? []
    } catch (cause) {
      if (cause instanceof DataFileError) return []
      throw cause
    }
  }

  #isUnreadable(feed: FactFeedName): boolean {
    return this.#store.problems().some((problem) => problem.feed === feed)
  }

  /** For a source whose file is complete, numbers that are not in it are clean. */
  #readLabels(number: PhoneNumber, wanted: readonly LabelIssuer[]): NumberLabels {
    const file = this.#store.get('spam-labels')
    if (!file) return {}
    const said = new Map(
      file.findRows(number).map(({ source, flagged }) => [source, flagged === 1]),
    )
    const labels: Partial<Record<LabelIssuer, boolean>> = {}
    for (const source of wanted) {
      const label = said.get(source) ?? (file.info.complete.includes(source) ? false : undefined)
      if (label !== undefined) labels[source] = label
    }
    return labels
  }
}

function toComplaint(phone: PhoneNumber): (fact: ComplaintFact) => Complaint {
  return ({ id, createdAt, violatedAt, city, state, areaCode, subject, robocall }) => ({
    id,
    phone,
    city,
    state,
    areaCode,
    subject,
    createdDate: formatFiledTime(createdAt),
    violationDate: formatFiledTime(violatedAt),
    recordedMessageOrRobocall: robocall,
  })
}

/** `YYYY-MM-DD HH:MM:SS` to `MM/DD/YYYY HH:MM:SS`; blank stays blank. */
function formatFiledTime(time: string): string {
  return time.replace(/^(\d{4})-(\d\d)-(\d\d)/, '$2/$3/$1')
}
