/**
 * The questions that wait to be sent, and which of them go together: of the group whose question
 * waits longest, those that somebody waits for first, the others where there is room.
 */
import type { Question } from '../../domain/compliance.js'
import type { SharedQuestion } from './shared-question.js'

interface Group<Shared> {
  urgent: Set<Shared>
  background: Set<Shared>
}

export class QuestionQueue<Asks extends Question, Value> {
  readonly #mostTogether: number
  readonly #groups = new Map<string, Group<SharedQuestion<Asks, Value>>>()
  #urgent = 0
  #background = 0
  #order = 0

  constructor(mostTogether: number) {
    this.#mostTogether = mostTogether
  }

  get isEmpty(): boolean {
    return this.#groups.size === 0
  }

  /** Whether there is any that somebody waits for. */
  get isUrgent(): boolean {
    return this.#urgent > 0
  }

  get inBackground(): number {
    return this.#background
  }

  /** Whether it completes a whole request of its group. */
  add(question: SharedQuestion<Asks, Value>): boolean {
    this.#order += 1
    question.order = this.#order
    question.place = 'queued'
    const group = this.#groupOf(question.group)
    lineOf(group, question).add(question)
    this.#count(question, 1)
    return (group.urgent.size + group.background.size) % this.#mostTogether === 0
  }

  /** Before all others of their groups: they have waited already. */
  putBack(questions: readonly SharedQuestion<Asks, Value>[]): void {
    for (const question of questions) {
      question.place = 'queued'
      this.#count(question, 1)
    }
    for (const name of new Set(questions.map(({ group }) => group))) {
      const group = this.#groupOf(name)
      const back = questions.filter((question) => question.group === name)
      group.urgent = new Set([...back.filter(({ isUrgent }) => isUrgent), ...group.urgent])
      group.background = new Set([...back.filter(({ isUrgent }) => !isUrgent), ...group.background])
    }
  }

  remove(question: SharedQuestion<Asks, Value>): void {
    const group = this.#groups.get(question.group)
    if (!group || !lineOf(group, question).delete(question)) return
    this.#count(question, -1)
    if (group.urgent.size + group.background.size === 0) this.#groups.delete(question.group)
  }

  /** Somebody waits now for what was asked with nobody waiting. */
  hurry(question: SharedQuestion<Asks, Value>): void {
    this.remove(question)
    question.isUrgent = true
    this.add(question)
  }

  /** Takes out the questions of the next request; a number is in it once. Only when not empty. */
  take(): readonly SharedQuestion<Asks, Value>[] {
    const group = this.#nextGroup()
    const taken: SharedQuestion<Asks, Value>[] = []
    if (!group) return taken
    const numbers = new Set<string>()
    for (const line of [group.urgent, group.background]) {
      for (const question of line) {
        if (taken.length === this.#mostTogether) break
        if (numbers.has(question.asks.number)) continue
        numbers.add(question.asks.number)
        taken.push(question)
      }
    }
    for (const question of taken) this.remove(question)
    return taken
  }

  /** Takes out all. */
  clear(): readonly SharedQuestion<Asks, Value>[] {
    const groups = [...this.#groups.values()]
    this.#groups.clear()
    this.#urgent = 0
    this.#background = 0
    return groups.flatMap(({ urgent, background }) => [...urgent, ...background])
  }

  #nextGroup(): Group<SharedQuestion<Asks, Value>> | undefined {
    let next: Group<SharedQuestion<Asks, Value>> | undefined
    let lowest = Number.POSITIVE_INFINITY
    for (const group of this.#groups.values()) {
      const [first] = this.isUrgent ? group.urgent : group.background
      if (!first || first.order >= lowest) continue
      next = group
      lowest = first.order
    }
    return next
  }

  #groupOf(name: string): Group<SharedQuestion<Asks, Value>> {
    const known = this.#groups.get(name)
    if (known) return known
    const made = {
      urgent: new Set<SharedQuestion<Asks, Value>>(),
      background: new Set<SharedQuestion<Asks, Value>>(),
    }
    this.#groups.set(name, made)
    return made
  }

  #count({ isUrgent }: SharedQuestion<Asks, Value>, by: 1 | -1): void {
    if (isUrgent) this.#urgent += by
    else this.#background += by
  }
}

function lineOf<Shared extends { readonly isUrgent: boolean }>(
  group: Group<Shared>,
  question: Shared,
): Set<Shared> {
  return question.isUrgent ? group.urgent : group.background
}
