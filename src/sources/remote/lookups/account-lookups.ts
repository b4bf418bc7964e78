/** Asks a provider of lookups with the login of each account. Without one a lookup fails, as with a provider that is away, and nothing is sent. */
import { type MaybePromise, mapMaybePromise } from '../../../domain/compliance.js'
import type { LookupSource, ReassignedReport, ReassignedReporter } from '../../../domain/lookups.js'
import type { PhoneNumber } from '../../../domain/phone-number.js'
import type { LabelSource } from '../../../domain/spam-labels.js'
import type { LocalDay } from '../../../domain/time/clock.js'
import { describeSaid } from '../../../domain/words/words.js'
import type { AccountLogins } from '../account-logins.js'
import type { LookupProvider } from './lookup-provider.js'

export class AccountLookups implements ReassignedReporter {
  readonly #logins: AccountLogins<LookupProvider>

  constructor(logins: AccountLogins<LookupProvider>) {
    this.#logins = logins
  }

  forAccount(accountId: string): LookupSource & LabelSource {
    const open = async () => (await this.#find(accountId)).forAccount(accountId)
    return {
      identity: async (number) => (await open()).identity(number),
      lineStatus: async (number) => (await open()).lineStatus(number),
      resOrBusiness: async (number) => (await open()).resOrBusiness(number),
      reassigned: async (items) => (await open()).reassigned(items),
      labels: async (numbers, issuers) => (await open()).labels(numbers, issuers),
    }
  }

  async report(
    number: PhoneNumber,
    since: LocalDay,
    accountId: string,
  ): Promise<ReassignedReport | undefined> {
    return await (await this.#find(accountId)).report(number, since, accountId)
  }

  /** Why the account may not ask now, if so; for people. Rejects if that cannot be read. */
  findRefusal(accountId: string): MaybePromise<string | undefined> {
    return mapMaybePromise(this.#logins.find(accountId), (found) =>
      'refusal' in found ? describeSaid([found.refusal]) : undefined,
    )
  }

  close(): Promise<void> {
    return this.#logins.close()
  }

  async #find(accountId: string): Promise<LookupProvider> {
    const found = await this.#logins.find(accountId)
    if ('refusal' in found) throw new Error(describeSaid([found.refusal]))
    return found
  }
}
