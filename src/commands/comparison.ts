/** Puts every question to both sides and adds what differs to the report and the file. */
import type { QuestionName } from '../domain/compliance.js'
import type { ProviderRows, RowQuestion } from '../sources/remote/provider-rows.js'
import type { Terminal } from './command.js'
import type { DifferenceFile } from './compare-file.js'
import type { AskedNumber } from './compare-numbers.js'
import type { OwnRows, RowAnswer } from './compare-own.js'
import { type ComparisonReport, counted, type Difference, differencesOf } from './compare-report.js'
import { showProgress } from './progress.js'

export interface ComparisonParts {
  readonly provider: ProviderRows
  readonly own: OwnRows
  readonly report: ComparisonReport
  readonly out: DifferenceFile | undefined
  readonly names: readonly QuestionName[]
  readonly accountId: string
  /** The instant both are asked about calling hours, so that no clock tells them apart. */
  readonly at: number
  /** Numbers asked about together; the provider can answer them within its limits. */
  readonly numbersAtOnce: number
}

export class Comparison {
  readonly #parts: ComparisonParts

  constructor(parts: ComparisonParts) {
    this.#parts = parts
  }

  async run(numbers: readonly AskedNumber[], terminal: Terminal): Promise<void> {
    const { numbersAtOnce } = this.#parts
    const progress = showProgress('numbers', terminal)
    try {
      for (let from = 0; from < numbers.length; from += numbersAtOnce) {
        const some = numbers.slice(from, from + numbersAtOnce)
        const answers = await Promise.all(some.map((number) => this.#answersOf(number)))
        for (const [index, number] of some.entries()) await this.#add(number, answers[index] ?? [])
        const done = from + some.length
        progress.update(done, numbers.length, done)
        if (isSilent(answers) && done < numbers.length) {
          const left = counted(numbers.length - done, 'more number')
          terminal.note(`the provider answers nothing; not asked about: ${left}\n`)
          return
        }
      }
    } finally {
      progress.stop()
    }
  }

  #answersOf(asked: AskedNumber): Promise<readonly Answers[]> {
    const { names, provider, own } = this.#parts
    return Promise.all(
      names.map(async (name) => {
        const question = this.#questionOf(name, asked)
        const theirs = await provider.ask(name, question)
        // Afterwards, so that both are answers of the same moment.
        const ours = await own.ask(name, question)
        const there = theirs.answered ? { row: theirs.value } : { missing: theirs.detail }
        return { name, question, theirs: there, ours }
      }),
    )
  }

  #questionOf(name: QuestionName, asked: AskedNumber): RowQuestion {
    const { accountId, at } = this.#parts
    const plain = { recordedVoice: false, lawToo: false, strictestPlace: false }
    return { ...asked, accountId, ...plain, ...(name === 'legal-time' && { at }) }
  }

  async #add(asked: AskedNumber, answers: readonly Answers[]): Promise<void> {
    const { report, out, own } = this.#parts
    const all: Difference[] = []
    for (const { name, question, theirs, ours } of answers) {
      if ('missing' in theirs || 'missing' in ours) {
        this.#addMissing(asked, name, { theirs, ours })
        continue
      }
      const differences = differencesOf(name, theirs.row, ours.row)
      const facts = onceOnly(() => own.facts(name, question))
      const example = async () => ({ number: asked.number, facts: await facts() })
      await report.addRow(name, differences, example)
      for (const difference of out ? differences : []) {
        out?.add({ ...asked, name, ...difference, facts: await facts() })
      }
      all.push(...differences)
    }
    report.addNumber(all)
  }

  #addMissing(
    asked: AskedNumber,
    name: QuestionName,
    { theirs, ours }: Pick<Answers, 'theirs' | 'ours'>,
  ): void {
    const { report, out } = this.#parts
    for (const [who, answer] of [
      ['the provider', theirs],
      ['here', ours],
    ] as const) {
      if (!('missing' in answer)) continue
      report.addMissing(name, who, answer.missing)
      const field = `no answer of ${who}`
      out?.add({ ...asked, name, field, theirs: undefined, ours: undefined, facts: answer.missing })
    }
  }
}

interface Answers {
  readonly name: QuestionName
  readonly question: RowQuestion
  readonly theirs: RowAnswer
  readonly ours: RowAnswer
}

/** With a wrong key every further request would be one more that is refused. */
function isSilent(answers: readonly (readonly Answers[])[]): boolean {
  return answers.every((ofNumber) => ofNumber.every(({ theirs }) => 'missing' in theirs))
}

function onceOnly<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined
  return () => {
    made ??= make()
    return made
  }
}
