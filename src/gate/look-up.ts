/** Finds the facts of a call within a deadline. What is missing then, or fails, is unknown, never a permission. */
import {
  type Answer,
  type AnswerFailure,
  type Compliance,
  type MaybePromise,
  mapMaybePromise,
  type Question,
} from '../domain/compliance.js'
import type { Timers } from '../domain/time/clock.js'
import type { OwnFacts, ProviderAnswers, Sources } from '../judge/facts.js'
import type { NumberMemo } from '../judge/judge-number.js'
import { withTimeout } from '../runtime/runtime.js'

interface FoundFacts {
  /** What is known at once; what has to be waited for is unknown in it. */
  readonly facts: OwnFacts
  /** What was judged of them. */
  readonly memo?: NumberMemo | undefined
  /** All of it, if something has to be waited for: by the deadline, and without a rejection. */
  readonly later?: Promise<FoundFacts> | undefined
}

export interface FoundSources {
  readonly sources: Sources
  readonly memo?: NumberMemo | undefined
}

export interface FactSources {
  /** What is stored and imported here. Never throws. */
  readonly own: { find(question: Question, deadlineMs: number): FoundFacts }
  /** Whoever answers for lists and consent in place of our own; one provider, or several as one. */
  readonly provider?: Compliance | undefined
}

/** The questions to a provider, as {@link Compliance} names them; fast answers first, since each is asked before the next one. */
const questions = ['litigator', 'internalDnc', 'legalTime', 'scrub'] as const
type QuestionOfCall = (typeof questions)[number]

export interface LookUp {
  readonly question: Question
  readonly deadlineMs: number
  readonly timers: Timers
  /** Those that our own facts leave open; a provider is not asked the others. */
  readonly listOpen: (own: OwnFacts) => ReadonlySet<QuestionOfCall>
}

/** At once if all facts are known at once. */
export function lookUp({ own, provider }: FactSources, call: LookUp): MaybePromise<FoundSources> {
  const found = own.find(call.question, call.deadlineMs)
  const all = found.later ?? found
  if (provider === undefined) {
    return mapMaybePromise(all, ({ facts, memo }) => ({ sources: { own: facts }, memo }))
  }
  // Asked beside the rest: one after the other, a database that does not answer would be waited for twice.
  const answers = askProvider(provider, call, call.listOpen(found.facts))
  return all instanceof Promise || answers instanceof Promise
    ? Promise.all([all, answers]).then(([{ facts }, answered]) => ({
        sources: { own: facts, provider: answered },
      }))
    : { sources: { own: all.facts, provider: answers } }
}

function askProvider(
  provider: Compliance,
  { question, deadlineMs, timers }: LookUp,
  open: ReadonlySet<QuestionOfCall>,
): MaybePromise<ProviderAnswers> {
  const answers: { [Name in QuestionOfCall]?: Answer<unknown> } = {}
  const waiting: Promise<void>[] = []
  for (const name of questions) {
    if (!open.has(name)) continue
    try {
      const answer: MaybePromise<Answer<unknown>> = provider[name](question)
      if (answer instanceof Promise)
        waiting.push(awaitAnswer(answer, (found) => (answers[name] = found)))
      else answers[name] = answer
    } catch (cause) {
      answers[name] = createFailure(cause)
    }
  }
  // Each name holds the answer to its own question.
  if (waiting.length === 0) return answers as ProviderAnswers
  const answered = withTimeout(Promise.all(waiting), deadlineMs, () => undefined, { timers })
  return answered.then(() => {
    const says = [{ code: 'not-answered-within', params: { ms: Math.round(deadlineMs) } }] as const
    for (const name of questions) {
      if (!open.has(name)) continue
      answers[name] ??= { ok: false, reason: 'deadline', says, source: 'gate' }
    }
    // A copy: what comes later is not judged.
    return { ...answers } as ProviderAnswers
  })
}

async function awaitAnswer(
  answering: Promise<Answer<unknown>>,
  keep: (answer: Answer<unknown>) => void,
): Promise<void> {
  keep(await answering.catch(createFailure))
}

/** Providers never throw; if one does all the same, nothing was answered. */
function createFailure(cause: unknown): AnswerFailure {
  const says = [{ code: 'source-failed', quote: String(cause) }] as const
  return { ok: false, reason: 'source-failed', says, source: 'gate' }
}
