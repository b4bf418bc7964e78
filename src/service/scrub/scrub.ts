/**
 * The scrub (spec, "Scrub"): one row per number asked, in request order. Reads what the account has
 * on file for the whole batch in a few queries; each number is then judged in memory.
 */
import type { ScopeChoice } from '../../domain/caller.js'
import type { Clock, Instant } from '../../domain/clock.js'
import type { Eventually } from '../../domain/compliance.js'
import { asPhoneNumber, type PhoneNumber } from '../../domain/phone-number.js'
import type { ScrubItem, ScrubVersion } from '../../domain/scrub-row.js'
import { forEachInSlices, mapInSlices } from '../../domain/slices.js'
import type { CallingHours } from '../calling-hours/calling-hours.js'
import type { EbrRecord } from '../consent/consent.js'
import type { InternalDncEntry } from '../internal-dnc/internal-dnc.js'
import type { ProjectScope } from '../projects/project-scope.js'
import type { ScopeResolver } from '../projects/projects.js'
import { requireScope } from '../projects/require-scope.js'
import { isFixedFact } from '../sandbox/sandbox.js'
import type { ScrubJudge, ScrubJudgement } from './scrub-judge.js'
import { type JudgedRow, scrubRow } from './scrub-row.js'

type ByNumber<Fact> = Eventually<ReadonlyMap<string, Fact>>

/** The internal lists as the scrub reads them; removed entries are told too. */
export interface InternalDncEntries {
  entries(
    accountId: string,
    list: string,
    numbers: readonly PhoneNumber[],
  ): ByNumber<InternalDncEntry>
}

/** The relationship records as the scrub reads them, whether or not they still hold. */
export interface RecordsInForce {
  inForce(
    accountId: string,
    ebrProject: string,
    numbers: readonly PhoneNumber[],
  ): ByNumber<EbrRecord>
}

export interface ScrubParts {
  readonly projects: ScopeResolver
  readonly internalDnc: InternalDncEntries
  readonly consent: RecordsInForce
  readonly judge: ScrubJudge
  readonly callingHours: Pick<CallingHours, 'callingWindowText'>
  /** The sandbox may stand at an instant of its own. */
  readonly clockOf: (accountId: string) => Clock
}

export interface ScrubRequest extends ScopeChoice {
  readonly items: readonly ScrubItem[]
  readonly version: ScrubVersion
  /** The instant to judge; absent means now. */
  readonly at?: Instant | undefined
  /** The AI flag keeps the windows of recorded voices too. */
  readonly aiKeepsVoiceWindows?: boolean | undefined
}

/** What the account has on file for the numbers of a request. */
interface OnFile {
  readonly entries: ReadonlyMap<string, InternalDncEntry>
  readonly records: ReadonlyMap<string, EbrRecord>
}

interface JudgedFor extends Pick<ScrubRequest, 'aiKeepsVoiceWindows'> {
  readonly scope: ProjectScope
  readonly onFile: OnFile
  readonly moment: Moment
}

interface Moment {
  readonly now: Instant
  /** The instant to judge. */
  readonly at: Instant
}

/** About 80 KB of CSV. */
const batchNumbers = 512

export class Scrub {
  readonly #parts: ScrubParts

  constructor(parts: ScrubParts) {
    this.#parts = parts
  }

  /**
   * One row per item, in order, duplicates kept; a bad number is a row with its letter and never
   * fails the batch. Refuses an unknown project or campaign.
   */
  async rows(accountId: string, request: ScrubRequest): Promise<readonly JudgedRow[]> {
    const { version } = request
    const { callingHours } = this.#parts
    return await this.#forEach(accountId, request, (item, judgement) =>
      scrubRow(judgement, { item, version, callingHours }),
    )
  }

  /** The same rows in batches, so that of a long list never all are held. They are judged for one instant. */
  async *batches(accountId: string, request: ScrubRequest): AsyncGenerator<readonly JudgedRow[]> {
    const { items, at = this.#parts.clockOf(accountId).now() } = request
    for (let from = 0; from < items.length; from += batchNumbers) {
      const batch = items.slice(from, from + batchNumbers)
      yield await this.rows(accountId, { ...request, at, items: batch })
    }
  }

  /** The verdicts behind the rows, for askers that need no row. */
  async judge(
    accountId: string,
    request: Omit<ScrubRequest, 'version'>,
  ): Promise<readonly ScrubJudgement[]> {
    return await this.#forEach(accountId, request, (_, judgement) => judgement)
  }

  async #forEach<Made>(
    accountId: string,
    request: Omit<ScrubRequest, 'version'>,
    make: (item: ScrubItem, judgement: ScrubJudgement) => Made,
  ): Promise<readonly Made[]> {
    const { items } = request
    const now = this.#parts.clockOf(accountId).now()
    const moment = { now, at: request.at ?? now }
    const { aiKeepsVoiceWindows } = request
    const scope = await requireScope(this.#parts.projects, accountId, request)
    const onFile = await this.#onFile(scope, await distinctNumbers(items))
    return await mapInSlices(items, (item) =>
      make(item, this.#judgeItem(item, { scope, onFile, moment, aiKeepsVoiceWindows })),
    )
  }

  #judgeItem({ phone, postalCode }: ScrubItem, about: JudgedFor): ScrubJudgement {
    const { scope, onFile, moment, aiKeepsVoiceWindows } = about
    const { at } = moment
    const entry = onFile.entries.get(phone)
    const record = onFile.records.get(phone)
    const isFixed = isFixedFact(record)
    const records = { entry, record, isFixed, at: isFixed ? moment.now : at }
    return this.#parts.judge.judge({ scope, phone, postalCode, at, records, aiKeepsVoiceWindows })
  }

  async #onFile(scope: ProjectScope, numbers: readonly PhoneNumber[]): Promise<OnFile> {
    if (numbers.length === 0) return { entries: new Map(), records: new Map() }
    const { internalDnc, consent } = this.#parts
    const { accountId, internalDncList, ebrProject } = scope
    const [entries, records] = await Promise.all([
      internalDnc.entries(accountId, internalDncList, numbers),
      consent.inForce(accountId, ebrProject, numbers),
    ])
    return { entries, records }
  }
}

async function distinctNumbers(items: readonly ScrubItem[]): Promise<readonly PhoneNumber[]> {
  const distinct = new Set<PhoneNumber>()
  await forEachInSlices(items, ({ phone }) => {
    const number = asPhoneNumber(phone)
    if (number) distinct.add(number)
  })
  return [...distinct]
}
