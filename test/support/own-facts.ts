/** What is stored here about the number of a call, and gates and rules that ask no provider. */
import type { MaybePromise, Question } from '../../src/domain/compliance.js'
import { telemarketing } from '../../src/domain/decision.js'
import { type ListFinding, noListEvidence } from '../../src/domain/number-set.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import type { NumberFacts } from '../../src/domain/place.js'
import { type Clock, fixedClock } from '../../src/domain/time/clock.js'
import type { ProjectHours } from '../../src/domain/time/week-windows.js'
import type { ListFindings, OwnFacts, PermissionFacts } from '../../src/judge/facts.js'
import type { NumberCall } from '../../src/judge/number-call.js'
import type { RowRules } from '../../src/judge/row.js'
import type { EbrRecord } from '../../src/law/records/ebr-record.js'
import type { InternalDncEntry } from '../../src/law/records/opt-out.js'
import type { OwnFactsReader } from '../../src/sources/own/read-own-facts.js'
import { fakeCompliance, noon } from './fake-compliance.js'
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

/** The call of a rule, at noon, over no law. */
export function aNumberCall({
  own = knownFacts(),
  provider,
  ...more
}: Partial<Omit<NumberCall, 'sources'>> & Partial<NumberCall['sources']> = {}): NumberCall {
  const { call = aCall(), at = noon } = more
  return {
    law: withoutRules,
    windows: alwaysOpen,
    settings: gateSettings,
    call,
    number: toPhoneNumber(call.dialed),
    stated: undefined,
    purpose: telemarketing,
    at,
    now: noon,
    sources: { own, provider },
    ...more,
  }
}

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
