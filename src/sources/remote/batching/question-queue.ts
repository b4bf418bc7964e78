/**
 * The questions that wait to be sent. A request takes questions of the group whose first question has
 * waited longest: urgent ones first, then background ones if there is room.
 */
import type { Question } from '../../../domain/compliance.js'
import type { CoalescedQuestion } from './coalesced-question.js'

interface Group<Shared> {
  urgent: Set<Shared>
  background: Set<Shared>
}

export class QuestionQueue<Asks extends Question, Value> {
  readonly #maxBatchSize: number
  readonly #groups = new Map<string, Group<CoalescedQuestion<Asks, Value>>>()
  #urgent = 0
  #background = 0
  #order = 0

  constructor(maxBatchSize: number) {
    this.#maxBatchSize = maxBatchSize
  }

  get isEmpty(): boolean {
    return this.#groups.size === 0
  }

  /** Whether an urgent question is queued. */
  get hasUrgent(): boolean {
    return this.#urgent > 0
  }

  get backgroundCount(): number {
    return this.#background
  }

  /** Returns whether the question completes a full request of its group. */
  add(question: CoalescedQuestion<Asks, Value>): boolean {
    this.#order += 1
    question.order = this.#order
    question.state = 'queued'
    const group = this.#getGroup(question.group)
    selectSet(group, question).add(question)
    this.#adjustCount(question, 1)
    return (group.urgent.size + group.background.size) % this.#maxBatchSize === 0
  }

  /** Adds questions before all others of their groups, since they have waited already. */
  requeue(questions: readonly CoalescedQuestion<Asks, Value>[]): void {
    for (const question of questions) {
      question.state = 'queued'
      this.#adjustCount(question, 1)
    }
    for (const name of new Set(questions.map(({ group }) => group))) {
      const group = this.#getGroup(name)
      const back = questions.filter((question) => question.group === name)
      group.urgent = new Set([...back.filter(({ isUrgent }) => isUrgent), ...group.urgent])
      group.background = new Set([...back.filter(({ isUrgent }) => !isUrgent), ...group.background])
    }
  }

  remove(question: CoalescedQuestion<Asks, Value>): void {
    const group = this.#groups.get(question.group)
    if (!group || !selectSet(group, question).delete(question)) return
    this.#adjustCount(question, -1)
    if (group.urgent.size + group.background.size === 0) this.#groups.delete(question.group)
  }

  /** Makes a background question urgent. */
  promote(question: CoalescedQuestion<Asks, Value>): void {
    this.remove(question)
    question.isUrgent = true
    this.add(question)
  }

  /** Removes and returns the questions of the next request, each number once. */
  take(): readonly CoalescedQuestion<Asks, Value>[] {
    const group = this.#findNextGroup()
    const taken: CoalescedQuestion<Asks, Value>[] = []
    if (!group) return taken
    const numbers = new Set<string>()
    for (const questions of [group.urgent, group.background]) {
      for (const question of questions) {
        if (taken.length === this.#maxBatchSize) break
        if (numbers.has(question.question.number)) continue
        numbers.add(question.question.number)
        taken.push(question)
      }
    }
    for (const question of taken) this.remove(question)
    return taken
  }

  /** Removes and returns all questions. */
  clear(): readonly CoalescedQuestion<Asks, Value>[] {
    const groups = [...this.#groups.values()]
    this.#groups.clear()
    this.#urgent = 0
    this.#background = 0
    return groups.flatMap(({ urgent, background }) => [...urgent, ...background])
  }

  #findNextGroup(): Group<CoalescedQuestion<Asks, Value>> | undefined {
    let next: Group<CoalescedQuestion<Asks, Value>> | undefined
    let lowest = Number.POSITIVE_INFINITY
    for (const group of this.#groups.values()) {
      const [first] = this.hasUrgent ? group.urgent : group.background
      if (!first || first.order >= lowest) continue
      next = group
      lowest = first.order
    }
    return next
  }

  #getGroup(name: string): Group<CoalescedQuestion<Asks, Value>> {
    const known = this.#groups.get(name)
    if (known) return known
    const made = {
      urgent: new Set<CoalescedQuestion<Asks, Value>>(),
      background: new Set<CoalescedQuestion<Asks, Value>>(),
    }
    this.#groups.set(name, made)
    return made
  }

  #adjustCount({ isUrgent }: CoalescedQuestion<Asks, Value>, by: 1 | -1): void {
    if (isUrgent) this.#urgent += by
    else this.#background += by
  }
}

function selectSet<Shared extends { readonly isUrgent: boolean }>(
  group: Group<Shared>,
  question: Shared,
): Set<Shared> {
  return question.isUrgent ? group.urgent : group.background
}
