/** A port filled from plain values: what each question answers, or that it hangs, throws or fails. */
import type {
  Answer,
  AnswerFailure,
  AnswerSuccess,
  CallRow,
  Compliance,
  InternalDncStatus,
  LegalTime,
  LitigatorStatus,
  MaybePromise,
} from '../../src/domain/compliance.js'

export const noon = Date.UTC(2026, 10, 23, 17)

export const cleanRow: CallRow = {
  letter: 'C',
  reason: ';;;',
  ebrType: '',
  doNotCallToday: false,
  allowed: { manual: true, autodialed: true, ai: false },
  says: [],
}

export const openHours: LegalTime = {
  status: 'OK',
  permitted: true,
  secondsLeft: 3600,
  opensAt: noon,
  says: [{ code: 'hours-open', params: { from: '08:00', to: '21:00' } }],
  restrictedDay: undefined,
  placeSource: 'prefix',
  message: null,
}

export function answered<T>(value: T, more: Partial<AnswerSuccess<T>> = {}): AnswerSuccess<T> {
  return {
    ok: true,
    value,
    source: 'fake',
    asOf: noon,
    ...more,
  }
}

export function unanswered(reason: AnswerFailure['reason'] = 'source-failed'): AnswerFailure {
  return { ok: false, reason, says: [{ code: reason, quote: `fake ${reason}` }], source: 'fake' }
}

type Behaviour<T> = () => MaybePromise<Answer<T>>

export interface FakeAnswers {
  readonly scrub: Behaviour<CallRow>
  readonly internalDnc: Behaviour<InternalDncStatus>
  readonly litigator: Behaviour<LitigatorStatus>
  readonly legalTime: Behaviour<LegalTime>
}

/** Everything permits unless told otherwise. */
export function fakeCompliance(
  answers: Partial<FakeAnswers> = {},
): Compliance & { asked: string[] } {
  const all: FakeAnswers = {
    scrub: () => answered(cleanRow),
    internalDnc: () => answered({ onList: false, addedAt: undefined }),
    litigator: () => answered({ isLitigator: false }),
    legalTime: () => answered(openHours),
    ...answers,
  }
  const asked: string[] = []
  const noting =
    <T>(name: string, behave: Behaviour<T>) =>
    () => {
      asked.push(name)
      return behave()
    }
  return {
    asked,
    scrub: noting('scrub', all.scrub),
    internalDnc: noting('internalDnc', all.internalDnc),
    litigator: noting('litigator', all.litigator),
    legalTime: noting('legalTime', all.legalTime),
  }
}
