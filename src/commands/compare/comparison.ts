/** Asks both sides every question and adds the differences to the report and the file. */
import type { Question, QuestionName } from '../../domain/compliance.js'
import { describeSaid } from '../../domain/words/words.js'
import type { RawRowClient } from '../../sources/remote/raw-row-client.js'
import type { Terminal } from '../command.js'
import { formatCount } from '../format.js'
import { startProgress } from '../progress.js'
import type { ComparedNumber } from './compared-numbers.js'
import { type ComparisonReport, type Difference, findDifferences } from './comparison-report.js'
import type { DifferenceFile } from './difference-file.js'
import type { OwnRows, RowResult } from './own-rows.js'

export interface ComparisonDeps {
  readonly provider: RawRowClient
  readonly own: OwnRows
  readonly report: ComparisonReport
  readonly out: DifferenceFile | undefined
  readonly names: readonly QuestionName[]
  readonly accountId: string
  /** The same instant for both sides' calling hours, so that clock skew causes no differences. */
  readonly at: number
  /** Numbers per batch; few enough for the limits of the provider. */
  readonly batchSize: number
}

/** Stops early, with a note, if the provider answers no question of a batch. */
export async function compareNumbers(
  deps: ComparisonDeps,
  numbers: readonly ComparedNumber[],
  terminal: Terminal,
): Promise<void> {
  const { batchSize } = deps
  const progress = startProgress('numbers', terminal)
  try {
    for (let from = 0; from < numbers.length; from += batchSize) {
      const batch = numbers.slice(from, from + batchSize)
      const answers = await Promise.all(batch.map((number) => askBoth(number, deps)))
      for (const [index, number] of batch.entries()) await add(number, answers[index] ?? [], deps)
      const done = from + batch.length
      progress.update(done, numbers.length, done)
      if (hasNoAnswers(answers) && done < numbers.length) {
        const remaining = formatCount(numbers.length - done, 'more number')
        terminal.note(`the provider does not answer; not compared: ${remaining}\n`)
        return
      }
    }
  } finally {
    progress.stop()
  }
}

function askBoth(
  compared: ComparedNumber,
  { names, provider, own, accountId, at }: ComparisonDeps,
): Promise<readonly AnswerPair[]> {
  return Promise.all(
    names.map(async (name) => {
      const question = { ...compared, accountId, ...(name === 'legal-time' && { at }) }
      const theirs = await provider.ask(name, question)
      // Asked right after the provider, so that both answers are from nearly the same time.
      const ours = await own.ask(name, question)
      const there = theirs.ok ? { row: theirs.value } : { missing: describeSaid(theirs.says) }
      return { name, question, theirs: there, ours }
    }),
  )
}

async function add(
  compared: ComparedNumber,
  answers: readonly AnswerPair[],
  deps: ComparisonDeps,
): Promise<void> {
  const { report, out, own } = deps
  const all: Difference[] = []
  for (const pair of answers) {
    const { name, question, theirs, ours } = pair
    if ('missing' in theirs || 'missing' in ours) {
      addMissing(compared, pair, deps)
      continue
    }
    const differences = findDifferences(name, theirs.row, ours.row)
    const facts = memoize(() => own.describeFacts(name, question))
    const example = async () => ({ number: compared.number, facts: await facts() })
    await report.addRow(name, differences, example)
    for (const difference of out ? differences : []) {
      out?.add({ ...compared, name, ...difference, facts: await facts() })
    }
    all.push(...differences)
  }
  report.addNumber(all)
}

function addMissing(
  compared: ComparedNumber,
  { name, theirs, ours }: AnswerPair,
  { report, out }: ComparisonDeps,
): void {
  for (const [side, answer] of Object.entries({ 'the provider': theirs, here: ours })) {
    if (!('missing' in answer)) continue
    const { missing: facts } = answer
    report.addMissing(name, side, facts)
    const field = `no answer of ${side}`
    out?.add({ ...compared, name, field, theirs: undefined, ours: undefined, facts })
  }
}

interface AnswerPair {
  readonly name: QuestionName
  readonly question: Question
  readonly theirs: RowResult
  readonly ours: RowResult
}

/** Whether the provider answered nothing, as with a wrong key, so that further requests would fail too. */
function hasNoAnswers(answers: readonly (readonly AnswerPair[])[]): boolean {
  return answers.every((ofNumber) => ofNumber.every(({ theirs }) => 'missing' in theirs))
}

function memoize<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let cached: Promise<Value> | undefined
  return () => {
    cached ??= make()
    return cached
  }
}
