/** An asker over a provider in the test's hand. */
import type { Answer, Question } from '../../src/domain/compliance.js'
import type { BatchQuestion } from '../../src/sources/remote/batch-question.js'
import { BatchClient } from '../../src/sources/remote/batching/batch-client.js'
import { openCredentials } from '../../src/sources/remote/client/credentials.js'
import {
  fakeProvider,
  type ProviderSetup,
  type SentRequest,
  textQuestion,
} from './fake-provider.js'

export interface AskerSetup extends ProviderSetup {
  readonly batch?: Partial<BatchQuestion<Question, string>>
  readonly splitsRefusedBatches?: boolean
}

/** `value`, or why there is none. */
export function textOf(asked: Answer<string>): string {
  return asked.ok ? asked.value : asked.reason
}

export function openAsker(setup: AskerSetup = {}) {
  const provider = fakeProvider(setup)
  const { options, transport, time } = provider
  const credentials = openCredentials(options, transport)
  const question = { ...textQuestion(), ...setup.batch }
  const { splitsRefusedBatches = false } = setup
  const asker = new BatchClient<Question, string>({
    ...{ question, options, credentials, transport, splitsRefusedBatches },
  })
  const told: string[] = []
  /** Notes when it is told what: `<name> <text> at <ms>`. */
  const note = (name: string, asks: Question) => {
    void Promise.resolve(asker.ask(asks)).then((asked) => {
      told.push(`${name} ${textOf(asked)} at ${time.monotonicMs()}`)
    })
  }
  /** Asks, and lets the window pass; gives what will come. */
  const gathered = async (...all: Question[]) => {
    const answers = Promise.all(all.map((asks) => asker.ask(asks)))
    await time.advance(5)
    return { answers }
  }
  const sent = (at: number): SentRequest => {
    const found = transport.sent.at(at)
    if (!found) throw new Error(`only ${transport.sent.length} requests were sent`)
    return found
  }
  const close = async () => {
    await asker.close()
    await credentials.close()
  }
  /** Nothing is under way and nothing will wake up. */
  const left = () => ({
    questions: asker.countPending(),
    requests: transport.underWay(),
    timers: time.waiting(),
  })
  return { ...provider, asker, told, note, gathered, sent, close, left }
}

export const nothingLeft = { questions: 0, requests: 0, timers: 0 }
