/** What is stored here about the number of a call, and gates and rules that ask no provider. */
import type { MaybePromise, Question } from '../../src/domain/compliance.js'
import { type Finding, telemarketing } from '../../src/domain/decision.js'
import { type ListFinding, noListEvidence } from '../../src/domain/number-set.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import type { NumberFacts } from '../../src/domain/place.js'
import { type Clock, fixedClock } from '../../src/domain/time/clock.js'
import type { ProjectHours } from '../../src/domain/time/week-windows.js'
import { DerivedFacts } from '../../src/judge/derive.js'
import type { ListFindings, OwnFacts, PermissionFacts, Sources } from '../../src/judge/facts.js'
import type { CallWithFacts, Judged, JudgeSettings } from '../../src/judge/judged.js'
import { guard } from '../../src/judge/make-finding.js'
import type { RowRules } from '../../src/judge/row.js'
import { callingHoursRule } from '../../src/judge/rules/calling-hours.js'
import { internalListRule } from '../../src/judge/rules/internal-list.js'
import { litigatorRule } from '../../src/judge/rules/litigator.js'
import { permissionRule } from '../../src/judge/rules/permission.js'
import type { EbrRecord } from '../../src/law/records/ebr-record.js'
import type { InternalDncEntry } from '../../src/law/records/opt-out.js'
import type { OwnFactsReader } from '../../src/sources/own/read-own-facts.js'
import { fakeCompliance, noon } from './fake-compliance.js'
import { strictPolicy } from './strict-policy.js'
import {
  aCall,
  gateSettings,
  type TestGate,
  type TestGateOptions,
  testGate,
  withoutReassigned,
  withoutRules,
} from './test-gate.js'

type InService = Extract<NumberFacts, { readonly status: 'ok' }>

const landlineInNewYork: InService = {
  status: 'ok',
  place: {
    country: 'US',
    candidates: [{ region: 'NY', zone: 'America/New_York' }],
    source: 'prefix',
  },
  locality: '',
  carrier: undefined,
  lineClass: 'wireline',
  originalClass: 'wireline',
}

/** Only the number says where the person is. */
export const landlineNowhere: InService = {
  ...landlineInNewYork,
  place: { ...landlineInNewYork.place, candidates: [] },
}

const clear: ListFinding = { status: 'clear', ...noListEvidence }

export interface KnownFacts
  extends Partial<Pick<OwnFacts, 'asOf' | 'number' | 'postalCode' | 'postal'>> {
  readonly lists?: Partial<ListFindings>
  readonly entry?: InternalDncEntry | undefined
  readonly record?: EbrRecord | undefined
  readonly hours?: readonly ProjectHours[]
  readonly terms?: Partial<PermissionFacts>
}

/** All of it is known; on no list and nothing on file unless told otherwise. */
export function knownFacts({
  lists: some,
  entry,
  record,
  hours = [],
  terms,
  ...more
}: KnownFacts = {}): OwnFacts {
  const lists = { national: clear, state: clear, litigator: clear, ...some }
  const scope = { industryExemption: false, voipRestricted: false, hours }
  return {
    asOf: noon,
    number: landlineInNewYork,
    ported: noListEvidence,
    litigator: { value: lists.litigator },
    entry: { value: entry },
    hours: { value: hours },
    permission: { value: { ...scope, lists, entry, record, ...terms } },
    ...more,
  }
}

/** Calls are always open. */
export const alwaysOpen: RowRules['windows'] = {
  evaluate: (_, at) => ({
    permitted: true,
    secondsLeft: 3_600,
    opensAt: at,
    says: [{ code: 'hours-open', params: { from: '08:00', to: '21:00' } }],
    restrictedDay: undefined,
    isDayClosed: false,
    holdsUntil: Number.POSITIVE_INFINITY,
  }),
  findNextOpening: (_, from) => from,
}

type JudgedParts = Partial<Omit<CallWithFacts, 'sources' | 'settings' | 'times'>> & Partial<Sources>

/** What a rule judges, at noon, over no law. `now` is by both clocks. */
export function aJudged({
  own = knownFacts(),
  provider,
  now = noon,
  settings,
  ...more
}: JudgedParts & {
  readonly now?: number
  readonly settings?: Partial<JudgeSettings>
} = {}): Judged {
  const { call = aCall() } = more
  const about: CallWithFacts = {
    law: withoutRules,
    windows: alwaysOpen,
    settings: { ...gateSettings, policy: strictPolicy, ...settings },
    policy: strictPolicy,
    call,
    number: toPhoneNumber(call.dialed),
    stated: undefined,
    purpose: telemarketing,
    times: { now, accountNow: now },
    at: noon,
    sources: { own, provider },
    stored: {},
    reassigned: undefined,
    ledger: undefined,
    ...more,
  }
  return { ...about, derived: new DerivedFacts(about) }
}

/** By the rules about the number. */
export const judgeNumberRules = (about: Judged): readonly Finding[] =>
  [litigatorRule, internalListRule, callingHoursRule, permissionRule].map((rule) =>
    guard(rule.check, about, () => rule.judge(about)),
  )

/** The options of a gate that asks no provider. */
export function withoutProvider(
  find: (question: Question) => OwnFacts = () => knownFacts(),
  clock: Clock = fixedClock(noon),
) {
  const own = { find: (question: Question) => ({ facts: find(question) }) }
  const account = { clock, sources: { own }, reassigned: withoutReassigned }
  return { accounts: { real: account, sandbox: account }, windows: alwaysOpen }
}

/** As {@link testGate}, without a provider. */
export function ownGate(
  find: (question: Question) => OwnFacts,
  { accountClock, ...more }: Omit<TestGateOptions, 'own' | 'reassigned'> = {},
): TestGate {
  return testGate(fakeCompliance(), { ...withoutProvider(find, accountClock), ...more })
}

/** All of it, at once if nothing has to be waited for. */
export function readAll(
  reader: Pick<OwnFactsReader, 'read'>,
  question: Question,
): MaybePromise<OwnFacts> {
  const { facts, later } = reader.read(question)
  return later?.then((read) => read.facts) ?? facts
}
