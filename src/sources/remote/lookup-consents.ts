/** Reassigned-number checks at a provider, and what is kept of them. */
import type { Clock, LocalDay } from '../../domain/clock.js'
import type { Asked } from '../../domain/compliance.js'
import type { LookupBook, ReassignedAnswer } from '../../domain/lookups.js'
import type { Asker } from './asker.js'
import { answersIn, type Told } from './lookup-failure.js'
import type { LookupName } from './lookup-options.js'
import {
  factIn,
  nationalIn,
  type ReassignedQuestion,
  type SaidOfReassigned,
  testDataDetail,
} from './lookup-reassigned.js'
import type { LookupShelf } from './lookup-shelf.js'
import { noAccount } from './lookup-single.js'

type Consent = Parameters<LookupBook['reassigned']>[0][number]
type Fact = ReassignedAnswer | undefined

export interface ConsentLookupParts {
  readonly asker: Asker<ReassignedQuestion, SaidOfReassigned, LookupName>
  readonly shelf: LookupShelf<Fact>
  readonly clock: Clock
  /** Told once: the provider answers with test data. */
  readonly testData: () => void
}

export class ConsentLookup {
  readonly asker: ConsentLookupParts['asker']
  readonly #parts: ConsentLookupParts
  #isTestDataTold = false

  constructor(parts: ConsentLookupParts) {
    this.asker = parts.asker
    this.#parts = parts
  }

  /** `undefined` also for one that could not be asked; rejects when none could. */
  async of(consents: readonly Consent[]): Promise<readonly Fact[]> {
    const today = earliestToday(this.#parts.clock)
    const asked = consents.map(({ number, consentOn }) =>
      this.#one({ number, consentOn: Math.min(consentOn, today) }),
    )
    return answersIn(await Promise.all(asked))
  }

  async #one(consent: Consent): Promise<Told<Fact>> {
    const kept = this.#parts.shelf.get(keyOf(consent))
    if (kept) return { answered: true, value: kept.value }
    const said = await this.#ask(consent, 'both')
    if (!said.answered) return said
    const national = nationalIn(said.value)
    if (national === 'unclear') return await this.#clarify(consent, said.value)
    const value = factIn(said.value, national)
    this.#parts.shelf.keep(keyOf(consent), value, value ? 'long' : 'briefly')
    return { answered: true, value }
  }

  /** Without the national answer the combined one still stands. */
  async #clarify(consent: Consent, said: SaidOfReassigned): Promise<Told<Fact>> {
    const asked = await this.#ask(consent, 'national')
    const national = asked.answered ? asked.value.isReassigned : null
    if (national === true && said.isReassigned !== true) {
      const detail = 'the combined and the national answer contradict each other'
      return { answered: false, why: 'not-understood', detail, source: asked.source }
    }
    const value = factIn(said, national)
    this.#parts.shelf.keep(keyOf(consent), value, asked.answered ? 'long' : 'briefly')
    return { answered: true, value }
  }

  async #ask(consent: Consent, of: ReassignedQuestion['of']): Promise<Asked<SaidOfReassigned>> {
    const { number, consentOn } = consent
    const said = await this.asker.ask({ accountId: noAccount, number, consentOn, of })
    if (!said.answered && said.detail === testDataDetail && !this.#isTestDataTold) {
      this.#isTestDataTold = true
      this.#parts.testData()
    }
    return said
  }
}

const dayMs = 86_400_000
const westernmostMs = 12 * 3_600_000

/**
 * The day that it is at least everywhere (UTC-12): a provider may refuse a later one as one to come.
 * Of an earlier consent more disconnects count, never fewer.
 */
function earliestToday(clock: Clock): LocalDay {
  return Math.floor((clock.now() - westernmostMs) / dayMs)
}

function keyOf({ number, consentOn }: Consent): string {
  return `${number} ${consentOn}`
}
