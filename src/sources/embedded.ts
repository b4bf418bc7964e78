/**
 * Fills the compliance port from our own service in the same process. What the service refuses or
 * fails at is told as unanswered; nothing is ever thrown at the asker.
 */
import type { Clock, Instant } from '../domain/clock.js'
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
  Unanswered,
  UnansweredReason,
} from '../domain/compliance.js'
import { AppError, invalidRequest } from '../errors.js'
import type { CallingHours } from '../service/calling-hours/calling-hours.js'
import type { ListFacts, ListFinding } from '../service/list-facts.js'
import type { ProjectScope } from '../service/projects/project-scope.js'
import { type ScopeResolver, unknownProject } from '../service/projects/projects.js'
import type { InternalDncEntries, Scrub } from '../service/scrub/scrub.js'

/** The name this source gives itself in answers. */
const embeddedSource = 'embedded'

export interface EmbeddedParts {
  readonly scrub: Pick<Scrub, 'judge'>
  readonly internalDnc: InternalDncEntries
  readonly lists: Pick<ListFacts, 'litigator'>
  readonly projects: ScopeResolver
  /** Calling hours over the numbering plan as the account sees it. */
  readonly hoursOf: (accountId: string) => Pick<CallingHours, 'timeLegal'>
  /** Now as the account sees it, also for `asOf`; the sandbox may stand at an instant of its own. */
  readonly clockOf: (accountId: string) => Clock
  /** Told of each failure that is a fault of ours or of the storage, not of the question. */
  readonly onError: (question: keyof Compliance, cause: unknown) => void
}

type Lack = Extract<ListFinding, { readonly status: 'not-covered' }>

interface Found<Value> {
  readonly value: Value
  readonly holdsUntil: Instant
}

const untilChanged = Number.POSITIVE_INFINITY

export class Embedded implements Compliance {
  readonly #parts: EmbeddedParts

  constructor(parts: EmbeddedParts) {
    this.#parts = parts
  }

  /** Judged at the question's instant, or now. */
  scrub(question: Question): Eventually<Asked<ScrubVerdict>> {
    return this.#answer('scrub', question, async () => {
      const { accountId, number, postalCode, projectId, campaignId, at } = question
      const items = [{ phone: number, postalCode }]
      const request = { items, projectId, campaignId, at }
      const [judgement] = await this.#parts.scrub.judge(accountId, request)
      if (!judgement) throw new Error('the scrub gave no row')
      return { value: judgement.verdict, holdsUntil: judgement.holdsUntil }
    })
  }

  /** As the list stands now; the question's instant does not turn it back. */
  internalDnc(question: Question): Eventually<Asked<InternalDncStatus>> {
    return this.#answer('internalDnc', question, async () => {
      const { accountId, number } = question
      const scope = await this.#scopeOf(question)
      if (!scope) throw scopeFault(question)
      const entries = await this.#parts.internalDnc.entries(accountId, scope.internalDncList, [
        number,
      ])
      const entry = entries.get(number)
      const onList = entry?.removedAt === null
      const addedAt = onList ? entry?.addedAt : undefined
      return { value: { onList, addedAt }, holdsUntil: untilChanged }
    })
  }

  litigator(question: Question): Eventually<Asked<LitigatorStatus>> {
    return this.#answer('litigator', question, () => {
      const { accountId, number } = question
      const found = this.#parts.lists.litigator(accountId, number)
      if (found.status === 'not-covered') return unanswered(lackOf(found), found.detail)
      const { status, lists, holdsUntil } = found
      return { value: { isLitigator: status === 'listed', list: lists[0] }, holdsUntil }
    })
  }

  /** An unknown project or campaign is the status `INVALID_PROJECT`. */
  legalTime(question: LegalTimeQuestion): Eventually<Asked<LegalTime>> {
    return this.#answer('legalTime', question, () => {
      const scope = this.#scopeOf(question)
      return scope instanceof Promise
        ? scope.then((found) => this.#legalTimeIn(found, question))
        : this.#legalTimeIn(scope, question)
    })
  }

  #legalTimeIn(scope: ProjectScope | undefined, question: LegalTimeQuestion): Found<LegalTime> {
    const { accountId, number, at, postalCode } = question
    const { recordedVoice, lawToo, strictestPlace } = question
    const fault = scope ? undefined : scopeFault(question).message
    const { holdsUntil, ...value } = this.#parts.hoursOf(accountId).timeLegal({
      phoneNumber: number,
      at,
      now: this.#parts.clockOf(accountId).now(),
      postalCode,
      projectFault: fault,
      overrides: scope?.hours,
      recordedVoice,
      lawToo,
      strictestPlace,
    })
    return { value, holdsUntil }
  }

  #scopeOf({ accountId, projectId, campaignId }: Question): Eventually<ProjectScope | undefined> {
    return this.#parts.projects.resolve(accountId, { projectId, campaignId })
  }

  #answer<Value>(
    name: keyof Compliance,
    { accountId }: Question,
    find: () => Eventually<Found<Value> | Unanswered>,
  ): Eventually<Asked<Value>> {
    const asked = (found: Found<Value> | Unanswered) => this.#asked(accountId, found)
    const failed = (cause: unknown) => this.#failed(name, cause)
    try {
      const found = find()
      return found instanceof Promise ? found.then(asked).catch(failed) : asked(found)
    } catch (cause) {
      return failed(cause)
    }
  }

  #asked<Value>(accountId: string, found: Found<Value> | Unanswered): Asked<Value> {
    if ('answered' in found) return found
    const { value, holdsUntil } = found
    const asOf = this.#parts.clockOf(accountId).now()
    return { answered: true, value, source: embeddedSource, asOf, holdsUntil }
  }

  #failed(name: keyof Compliance, cause: unknown): Unanswered {
    if (!(cause instanceof AppError)) this.#parts.onError(name, cause)
    const refused = cause instanceof AppError && cause.kind === 'invalid-request'
    const detail = cause instanceof Error ? cause.message : String(cause)
    return unanswered(refused ? 'bad-question' : 'source-failed', detail)
  }
}

function unanswered(why: UnansweredReason, detail: string): Unanswered {
  return { answered: false, why, detail, source: embeddedSource }
}

/** A list that is too old, one whose file cannot be used, or none that speaks for the number. */
function lackOf({ isStale, isUnusable }: Lack): UnansweredReason {
  if (isStale) return 'list-stale'
  return isUnusable ? 'list-unusable' : 'list-missing'
}

/** Names what the question names of project and campaign, as the account knows neither or not both. */
function scopeFault({ projectId, campaignId }: Question): AppError {
  if (campaignId === undefined) return unknownProject('projectId', projectId ?? '')
  const rule = 'is not an active campaign of this account and project'
  return invalidRequest([{ field: 'campaignId', value: campaignId, rule }])
}
