/**
 * Look-ups and labels of another server of this API. Requests are paced, limited in time and
 * repeated a few times only, and a server that fails is left alone for a while. Facts are kept for
 * as long as the settings say, what is no fact briefly.
 */
import type { LabelBook, LabelSource, NumberLabels } from '../../domain/labels.js'
import type {
  LineIdentity,
  LineStatus,
  LineStatusAnswer,
  LookupBook,
  ReassignedAnswer,
  ResOrBusiness,
} from '../../domain/lookups.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { Asker } from './asker.js'
import { type Credentials, openCredentials } from './credentials.js'
import { HttpTransport } from './http-transport.js'
import { ConsentLookup } from './lookup-consents.js'
import { labelQuestion } from './lookup-labels.js'
import { MonitorLookup } from './lookup-monitor.js'
import {
  connections,
  type LookupName,
  type LookupProviderOptions,
  providerOptions,
} from './lookup-options.js'
import { identityQuestion, lineStatusQuestion, resOrBusinessQuestion } from './lookup-questions.js'
import { reassignedQuestion } from './lookup-reassigned.js'
import { LookupShelf } from './lookup-shelf.js'
import { SingleLookup } from './lookup-single.js'
import type { Transport } from './transport.js'

/** Whether a kind of look-up is left alone for a while, and for which failure. */
export interface LookupCircuit {
  readonly question: LookupName
  readonly open: boolean
  readonly detail: string
}

/** Of each kind; some tens of megabytes when all are full. */
const mostKept = 100_000

/** A line may be free again, or a provider have found out. */
const passingStatuses: ReadonlySet<LineStatus> = new Set([
  ...(['pending', 'serverunavailable', 'ERROR', 'busy', 'unreachable'] as const),
])

export class LookupProvider implements LookupBook, LabelBook {
  readonly #identity: SingleLookup<LineIdentity>
  readonly #lineStatus: SingleLookup<LineStatusAnswer>
  readonly #resOrBusiness: SingleLookup<ResOrBusiness>
  readonly #consents: ConsentLookup
  readonly #monitor: MonitorLookup
  readonly #credentials: Credentials
  readonly #transport: Transport

  constructor(given: LookupProviderOptions) {
    const options = providerOptions(given)
    this.#transport = options.transport ?? new HttpTransport({ connections })
    this.#credentials = openCredentials(options, this.#transport)
    const shared = { options, transport: this.#transport, credentials: this.#credentials }
    const { timers, keepMs } = given
    const shelf = <Value>() => new LookupShelf<Value>({ timers, keepMs, mostEntries: mostKept })
    this.#identity = new SingleLookup<LineIdentity>({
      asker: new Asker({ ...shared, question: identityQuestion() }),
      shelf: shelf(),
    })
    this.#lineStatus = new SingleLookup<LineStatusAnswer>({
      asker: new Asker({ ...shared, question: lineStatusQuestion() }),
      shelf: shelf(),
      passes: ({ status }) => passingStatuses.has(status),
    })
    this.#resOrBusiness = new SingleLookup<ResOrBusiness>({
      asker: new Asker({ ...shared, question: resOrBusinessQuestion() }),
      shelf: shelf(),
    })
    this.#consents = new ConsentLookup({
      asker: new Asker({ ...shared, question: reassignedQuestion(), halvesRefused: true }),
      shelf: shelf(),
      clock: given.clock,
      testData: () =>
        given.log.error('a provider answers with test data: its key is one of a sandbox', {
          provider: given.name,
        }),
    })
    this.#monitor = new MonitorLookup(
      new Asker({ ...shared, question: labelQuestion(), halvesRefused: true }),
    )
  }

  identity(number: PhoneNumber): Promise<LineIdentity | undefined> {
    return this.#identity.of(number)
  }

  lineStatus(number: PhoneNumber): Promise<LineStatusAnswer | undefined> {
    return this.#lineStatus.of(number)
  }

  resOrBusiness(number: PhoneNumber): Promise<ResOrBusiness | undefined> {
    return this.#resOrBusiness.of(number)
  }

  reassigned(
    asked: Parameters<LookupBook['reassigned']>[0],
  ): Promise<readonly (ReassignedAnswer | undefined)[]> {
    return this.#consents.of(asked)
  }

  labels(
    numbers: readonly PhoneNumber[],
    wanted: readonly LabelSource[],
  ): Promise<ReadonlyMap<PhoneNumber, NumberLabels>> {
    return this.#monitor.labels(numbers, wanted)
  }

  /** For readiness; without a key every kind is as good as left alone. */
  circuits(): readonly LookupCircuit[] {
    const noKey = this.#credentials.problem()
    return this.#askers().map(([question, asker]) => {
      const { open, detail } = asker.circuit()
      if (open || !noKey) return { question, open, detail }
      return { question, open: true, detail: noKey.detail }
    })
  }

  /** Whoever waits is told; leaves no timer and no socket. */
  async close(): Promise<void> {
    await Promise.all(this.#askers().map(([, asker]) => asker.close()))
    await this.#credentials.close()
    await this.#transport.close()
  }

  #askers() {
    return [
      ['identity', this.#identity.asker],
      ['line-status', this.#lineStatus.asker],
      ['res-or-business', this.#resOrBusiness.asker],
      ['reassigned', this.#consents.asker],
      ['labels', this.#monitor.asker],
    ] as const
  }
}

/** A provider's client; {@link LookupProvider.close} ends it. */
export function openLookupProvider(options: LookupProviderOptions): LookupProvider {
  return new LookupProvider(options)
}
