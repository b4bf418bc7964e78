/** Answers the questions of a recorded decision from the facts in its record, by the code that answers calls. */
import type { Settings } from '../../config/settings.js'
import type {
  Answer,
  AnswerFailure,
  AnswerSuccess,
  Compliance,
  MaybePromise,
} from '../../domain/compliance.js'
import type { CheckName } from '../../domain/decision.js'
import type { ListVersion } from '../../domain/number-set.js'
import type { NumberFacts } from '../../domain/place.js'
import type { Instant } from '../../domain/time/clock.js'
import { parseInstant } from '../../domain/time/dates.js'
import type { ProjectHours } from '../../domain/time/week-windows.js'
import type {
  DecisionDocument,
  FindingDocument,
  ListDocument,
} from '../../gate/record/decision-document.js'
import type { CallingRules } from '../../law/calling-rules.js'
import { CallingHours } from '../../service/calling-hours/calling-hours.js'
import { type ListFinding, noListEvidence, noStateFinding } from '../../service/lists/list-facts.js'
import { noListOwners } from '../../service/lists/list-rights.js'
import type { ProjectScope } from '../../service/projects/project-scope.js'
import {
  fromRecordedEntry,
  fromRecordedListing,
  fromRecordedNumber,
  fromRecordedPlace,
  type RecordedEntry,
  type RecordedFacts,
} from '../../service/recorded-facts.js'
import { ScrubEvaluator } from '../../service/scrub/scrub-evaluator.js'
import { EmbeddedCompliance } from '../../sources/embedded-compliance.js'

/** What the questions of one decision are answered from. */
interface RecordedAnswer {
  readonly facts: RecordedFacts
  readonly finding: FindingDocument
  /** When it was answered, by the account's clock. */
  readonly asOf: Instant
}

/** The findings that our own rules are applied to again. */
export interface OwnFindings {
  readonly 'internal-dnc'?: FindingDocument | undefined
  readonly 'calling-hours'?: FindingDocument | undefined
  readonly permission?: FindingDocument | undefined
}

export class RecordedCompliance {
  readonly #settings: Pick<Settings, 'callingHours'>
  readonly #embedded: EmbeddedCompliance
  /** One array for the same hours, since windows are cached by array. */
  readonly #hours = new Map<string, readonly ProjectHours[]>()
  /** One object for the same number facts, since their text is kept by object. */
  readonly #numbers = new Map<string, NumberFacts>()
  /** Of the question that is being answered. */
  #recorded: RecordedAnswer | undefined

  /** Throws a `RangeError` for an invalid proclaimed day or emergency. */
  constructor(rules: CallingRules, settings: Pick<Settings, 'callingHours'>) {
    this.#settings = settings
    this.#embedded = this.#createSource(rules)
  }

  /** Answers from the facts of a record. A question without facts is not judged. */
  answerFor(own: OwnFindings, accountTime: Instant): Compliance {
    const answer = <T>(
      finding: FindingDocument | undefined,
      facts: object | undefined,
      ask: () => MaybePromise<Answer<T>>,
    ): Answer<T> => {
      if (finding === undefined || facts === undefined) return notRecorded
      const asOf = accountTime - finding.ageMs
      this.#recorded = { facts: facts as RecordedFacts, finding, asOf }
      const answer = ask()
      if (answer instanceof Promise) throw new TypeError('recorded facts are known at once')
      if (!answer.ok) return answer
      return { ...answer, asOf, notRenewed: finding.notRenewed as AnswerSuccess<T>['notRenewed'] }
    }
    const { permission, 'calling-hours': hours, 'internal-dnc': entry } = own
    const embedded = this.#embedded
    return {
      litigator: () => notRecorded,
      internalDnc: (question) =>
        answer(entry, entry?.facts && toEntryFacts(entry.facts), () =>
          embedded.internalDnc(question),
        ),
      legalTime: (question) => answer(hours, hours?.facts, () => embedded.legalTime(question)),
      scrub: (question) => answer(permission, permission?.facts, () => embedded.scrub(question)),
    }
  }

  /** The service in this process, over the facts of the question that is being answered. */
  #createSource(rules: CallingRules): EmbeddedCompliance {
    const recorded = (): RecordedAnswer => {
      if (this.#recorded === undefined) throw new TypeError('no question is being answered')
      return this.#recorded
    }
    const { proclaimedDays, emergencies } = this.#settings.callingHours
    const numberingPlan = {
      lookup: () => this.#shareNumber(recorded().facts),
      coverage: () => {
        throw new TypeError('records do not have the coverage of the numbering plan')
      },
    }
    const postalCodes = {
      locate: () => {
        const { postal } = recorded().facts
        return postal && fromRecordedPlace(postal, 'postal-code')
      },
    }
    const projects = {
      resolve: (accountId: string): ProjectScope => ({
        ...unnamedScope,
        accountId,
        industryExemption: recorded().facts.industryExemption === true,
        voipRestricted: recorded().facts.voipRestricted === true,
        hours: this.#shareHours(recorded().facts.hours),
      }),
    }
    const internalDnc = { findEntry: () => recorded().facts.entry }
    const ebrRecords = { findRecord: () => recorded().facts.record }
    const view = {
      clock: { now: () => recorded().facts.now ?? recorded().asOf },
      numberingPlan,
      hours: new CallingHours({ rules, numberingPlan, postalCodes, proclaimedDays, emergencies }),
      law: rules,
      lists: {
        checkNational: () => toListFinding(recorded()),
        checkState: () => {
          const { state } = recorded().facts
          return state ? fromRecordedListing(state) : noStateFinding
        },
        checkLitigator: (): ListFinding =>
          recorded().facts.isLitigator
            ? { status: 'listed', asOf: 0, ...noListEvidence }
            : noStateFinding,
        findPortedEvidence: () => noListEvidence,
      },
      fixedFacts: undefined,
    }
    return new EmbeddedCompliance({
      evaluator: new ScrubEvaluator({ projects, internalDnc, ebrRecords, postalCodes }),
      internalDnc,
      views: { real: view, sandbox: view },
      kind: 'real',
      projects,
      onError: (_, cause) => {
        throw cause
      },
    })
  }

  #shareNumber(facts: RecordedFacts): NumberFacts {
    const { places, country, by, line, assigned } = facts
    const key = JSON.stringify([places, country, by, line, assigned])
    const shared = this.#numbers.get(key) ?? fromRecordedNumber(facts)
    this.#numbers.set(key, shared)
    return shared
  }

  #shareHours(hours: readonly ProjectHours[] = noHours): readonly ProjectHours[] {
    if (hours.length === 0) return noHours
    const text = JSON.stringify(hours)
    const shared = this.#hours.get(text) ?? hours
    this.#hours.set(text, shared)
    return shared
  }
}

const noHours: readonly ProjectHours[] = []

const notRecorded: AnswerFailure = {
  ok: false,
  reason: 'not-askable',
  says: [{ code: 'not-askable' }],
  source: 'record',
}

const unnamedScope = {
  projectCode: '',
  campaignId: 0,
  internalDncList: '',
  ebrProject: '',
  listOwners: noListOwners,
}

/** Also of several sources, since our own is one of them at most. */
export function selectOwnFindings({ findings }: DecisionDocument): OwnFindings {
  const withFacts = (check: CheckName) =>
    findings
      .filter((finding) => finding.check === check)
      .flatMap((finding) => finding.parts ?? [finding])
      .find(({ facts }) => facts !== undefined)
  const own = (['internal-dnc', 'calling-hours', 'permission'] as const).flatMap((check) => {
    const found = withFacts(check)
    return found ? [[check, found] as const] : []
  })
  return Object.fromEntries(own)
}

function toEntryFacts(facts: object): RecordedFacts {
  return { places: [], entry: fromRecordedEntry(facts as RecordedEntry) }
}

/** The lists of all parts of a scrub are those that the record names. */
function toListFinding({ facts, finding }: RecordedAnswer): ListFinding {
  const lists = finding.lists?.map(toListVersion) ?? []
  const evidence = { lists, holdsUntil: facts.listsHoldUntil ?? Number.POSITIVE_INFINITY }
  return facts.national
    ? fromRecordedListing(facts.national, evidence)
    : { status: 'clear', ...evidence }
}

export function toListVersion({ name, version, asOf }: ListDocument): ListVersion {
  return { name, version, asOf: instantOf(asOf) }
}

/** Throws a `TypeError` for what is not an instant, which no record has. */
export function instantOf(text: string): Instant {
  // A what-if may be for a year of five digits.
  const at = parseInstant(text) ?? Date.parse(text)
  if (Number.isNaN(at)) throw new TypeError(`'${text}' in a record is not an instant`)
  return at
}
