/** What the rules make of the answers of a provider, with nothing of our own. */
import type { AnswerFailure, AnswerSuccess } from '../../src/domain/compliance.js'
import type { CallKind, CheckName, Finding } from '../../src/domain/decision.js'
import { lookUp } from '../../src/gate/look-up.js'
import { findOpenQuestions } from '../../src/judge/judge-number.js'
import { systemTimers } from '../../src/runtime/runtime.js'
import {
  answered,
  type FakeAnswers,
  fakeCompliance,
  unanswered,
} from '../support/fake-compliance.js'
import { aJudged, judgeNumberRules } from '../support/own-facts.js'
import { aCall, nothingOwn } from '../support/test-gate.js'

export async function judgeAnswers(
  check: CheckName,
  answers: Partial<FakeAnswers>,
  callKind: CallKind = 'manual',
): Promise<Finding> {
  const call = aCall({ callKind })
  const about = aJudged({ call, own: nothingOwn })
  const { sources } = await lookUp(
    { own: { find: () => ({ facts: nothingOwn }) }, provider: fakeCompliance(answers) },
    {
      question: { accountId: call.accountId, number: about.number, callKind },
      deadlineMs: 100,
      timers: systemTimers,
      listOpen: (own) => findOpenQuestions({ ...about, sources: { own } }),
    },
  )
  const findings = judgeNumberRules(aJudged({ call, ...sources }))
  const finding = findings.find((one) => one.check === check)
  if (!finding) throw new Error('the check gave no finding')
  return finding
}

export const from = <T>(source: string, value: T, more: Partial<AnswerSuccess<T>> = {}) =>
  answered(value, { source, ...more })

export const silent = (
  source: string,
  why: AnswerFailure['reason'] = 'circuit-open',
): AnswerFailure => ({ ...unanswered(why), source })
