/** Failed questions that wait for their next attempt. */

interface Rest<Shared> {
  readonly untilMs: number
  readonly questions: readonly Shared[]
}

export class Resting<Shared extends { place: string }> {
  #rests: readonly Rest<Shared>[] = []

  add(questions: readonly Shared[], untilMs: number): void {
    for (const one of questions) one.place = 'resting'
    this.#rests = [...this.#rests, { untilMs, questions }]
  }

  /** Takes out those whose rest has ended. */
  take(nowMs: number): readonly Shared[] {
    const rested = this.#rests.filter(({ untilMs }) => untilMs <= nowMs)
    if (rested.length > 0) this.#rests = this.#rests.filter(({ untilMs }) => untilMs > nowMs)
    return rested.flatMap(wantedOf)
  }

  /** Takes out all. */
  clear(): readonly Shared[] {
    return this.take(Number.POSITIVE_INFINITY)
  }

  /** When the first rest ends; infinity when nobody rests. */
  nextMs(): number {
    this.#rests = this.#rests.filter(({ questions }) =>
      questions.some(({ place }) => place === 'resting'),
    )
    return this.#rests.reduce((least, { untilMs }) => Math.min(least, untilMs), Infinity)
  }
}

/** Some have been given up meanwhile. */
function wantedOf<Shared extends { place: string }>({ questions }: Rest<Shared>): Shared[] {
  return questions.filter(({ place }) => place === 'resting')
}
