/** Labels by a provider's reputation monitor. They are asked anew each time. */
import type { Asked } from '../../domain/compliance.js'
import type { LabelSource, NumberLabels } from '../../domain/labels.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Asker } from './asker.js'
import { answersIn } from './lookup-failure.js'
import type { LabelQuestion, Watched } from './lookup-labels.js'
import type { LookupName } from './lookup-options.js'
import { noAccount } from './lookup-single.js'

export class MonitorLookup {
  readonly asker: Asker<LabelQuestion, Watched, LookupName>

  constructor(asker: MonitorLookup['asker']) {
    this.asker = asker
  }

  /**
   * Has the provider watch the numbers that it does not. Absent are those it has not looked at and
   * those that could not be asked; rejects when none could.
   */
  async labels(
    numbers: readonly PhoneNumber[],
    wanted: readonly LabelSource[],
  ): Promise<ReadonlyMap<PhoneNumber, NumberLabels>> {
    const each = [...new Set(numbers)]
    const found = answersIn(await Promise.all(each.map((number) => this.#watch(number))))
    return new Map(
      each.flatMap((number, index) => {
        const labels = found[index]?.labels ?? {}
        const heard = wanted.filter((source) => labels[source] !== undefined)
        if (heard.length === 0) return []
        return [[number, Object.fromEntries(heard.map((source) => [source, labels[source]]))]]
      }),
    )
  }

  async #watch(number: PhoneNumber): Promise<Asked<Watched>> {
    const known = await this.#ask(number, 'get')
    if (!known.answered || known.value.isWatched) return known
    return await this.#ask(number, 'add')
  }

  /** Numbers to look at are many, and nobody waits for one of them. */
  async #ask(number: PhoneNumber, act: LabelQuestion['act']): Promise<Asked<Watched>> {
    return await this.asker.ask({ accountId: noAccount, number, act, inBackground: true })
  }
}
