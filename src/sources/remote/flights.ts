/** The requests of one question that are under way. What follows from their ends is left to others. */
import type { Question, QuestionName } from '../../domain/compliance.js'
import type { BatchQuestion, OutgoingRequest } from './batch-question.js'
import type { KeyHeaders } from './credentials.js'
import { type ExchangeEnd, exchange } from './exchange.js'
import type { ProviderOptions } from './provider-options.js'
import type { SharedQuestion } from './shared-question.js'
import type { Transport } from './transport.js'

export interface Flight<Asks extends Question, Value> {
  readonly questions: readonly SharedQuestion<Asks, Value>[]
  readonly outgoing: OutgoingRequest
  readonly keyHeaders: KeyHeaders
  readonly isProbe: boolean
}

export interface FlightsParts<Asks extends Question, Value, Name extends string = QuestionName> {
  readonly question: BatchQuestion<Asks, Value, Name>
  readonly options: ProviderOptions<Name>
  readonly transport: Transport
  /** Told of each, but not after `close`. */
  readonly landed: (flight: Flight<Asks, Value>, end: ExchangeEnd<Value>) => void
}

export class Flights<Asks extends Question, Value, Name extends string = QuestionName> {
  readonly #parts: FlightsParts<Asks, Value, Name>
  readonly #underWay = new Map<AbortController, Promise<void>>()
  #questions = 0
  #isClosed = false

  constructor(parts: FlightsParts<Asks, Value, Name>) {
    this.#parts = parts
  }

  /** Requests under way. */
  get size(): number {
    return this.#underWay.size
  }

  /** Questions in them. */
  get questions(): number {
    return this.#questions
  }

  /** Sends at once. */
  start(flight: Flight<Asks, Value>): void {
    for (const one of flight.questions) one.place = 'sent'
    this.#questions += flight.questions.length
    const controller = new AbortController()
    this.#underWay.set(controller, this.#fly(flight, controller))
  }

  /** Ends them all. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const controller of this.#underWay.keys()) controller.abort()
    await Promise.all(this.#underWay.values())
  }

  async #fly(flight: Flight<Asks, Value>, controller: AbortController): Promise<void> {
    const { question, transport, options, landed } = this.#parts
    const { addresses, clock, timers, watch } = options
    const { questions, outgoing, keyHeaders } = flight
    const { deadlineMs: limitMs } = options.questions[question.name]
    const sentAtMs = timers.monotonicMs()
    const end = await exchange({
      ...{ question, outgoing, keyHeaders, transport, addresses, clock, timers, limitMs },
      ...{ controller, questions: questions.map(({ asks }) => asks) },
    })
    this.#underWay.delete(controller)
    this.#questions -= questions.length
    if (this.#isClosed) return
    const seconds = (timers.monotonicMs() - sentAtMs) / 1000
    watch.requested(question.name, end.answered ? 'answered' : end.why, seconds)
    landed(flight, end)
  }
}
