/**
 * Which login a provider is asked with: that of the account, else that of the provider's own settings, which is account main's
 * and which another account uses only by a right. Access is bought by each seller (16 CFR 310.8).
 */
import { mainAccountId } from '../../domain/caller.js'
import {
  type Answer,
  type CallRow,
  type Compliance,
  type MaybePromise,
  mapMaybePromise,
  type Question,
} from '../../domain/compliance.js'
import type { Clock } from '../../domain/time/clock.js'
import type { Said } from '../../domain/words/words.js'
import { getErrorMessage } from '../../errors.js'

/** What logs, metrics and findings call a provider that is asked with the login of an account; no name of a provider has a slash. */
export function nameLogin(provider: string, accountId: string): string {
  return `${provider}/${accountId}`
}

/** Whether the account may use the login of account main now. */
export type LoginRight = (accountId: string) => MaybePromise<boolean>

interface AccountLoginsOptions<Client> {
  readonly name: string
  /** Of the settings, such as `source.provider`. */
  readonly path: string
  /** With the login of account main. */
  readonly main: Client
  /** With those of accounts that have their own. */
  readonly own: ReadonlyMap<string, Client>
  readonly hasRight: LoginRight
}

/** Why an account may not ask a provider; for people. */
interface NoLogin {
  readonly refusal: Said
}

/** The clients of one provider, each with a login of its own and so with requests, limits and circuits of its own. */
export class AccountLogins<Client extends { close(): Promise<void> }> {
  readonly #options: AccountLoginsOptions<Client>

  constructor(options: AccountLoginsOptions<Client>) {
    this.#options = options
  }

  get name(): string {
    return this.#options.name
  }

  /** Rejects if the rights cannot be read. */
  find(accountId: string): MaybePromise<Client | NoLogin> {
    const { main, own, hasRight } = this.#options
    if (accountId === mainAccountId) return main
    return (
      own.get(accountId) ??
      mapMaybePromise(hasRight(accountId), (has) =>
        has ? main : { refusal: sayNoLogin(this.#options, accountId) },
      )
    )
  }

  list(): readonly { readonly name: string; readonly client: Client }[] {
    const { name, main, own } = this.#options
    const named = [...own].map(([id, client]) => ({ name: nameLogin(name, id), client }))
    return [{ name, client: main }, ...named]
  }

  async close(): Promise<void> {
    await Promise.all(this.list().map(({ client }) => client.close()))
  }
}

/** What to do for an account that may not ask a provider; `path` is that of its settings. */
export function sayNoLogin(
  { name: provider, path: setting }: { readonly name: string; readonly path: string },
  account: string,
): Said {
  return { code: 'no-login', params: { account, provider, setting, owner: mainAccountId } }
}

/** Asks a provider with the login of each account. Without one the answer is a failure as with a list that is missing, and nothing is sent. */
export class AccountCompliance implements Compliance {
  readonly #logins: AccountLogins<Compliance & { close(): Promise<void> }>

  constructor(logins: AccountLogins<Compliance & { close(): Promise<void> }>) {
    this.#logins = logins
  }

  scrub(question: Question) {
    return this.#ask(question, (client) => client.scrub(question))
  }

  internalDnc(question: Question) {
    return this.#ask(question, (client) => client.internalDnc(question))
  }

  litigator(question: Question) {
    return this.#ask(question, (client) => client.litigator(question))
  }

  legalTime(question: Question) {
    return this.#ask(question, (client) => client.legalTime(question))
  }

  #ask<T>(
    { accountId }: Question,
    ask: (client: Compliance) => MaybePromise<Answer<T>>,
  ): MaybePromise<Answer<T>> {
    const source = this.#logins.name
    return catchFailure(source, () =>
      mapMaybePromise(this.#logins.find(accountId), (found) =>
        'refusal' in found
          ? ({ ok: false, reason: 'list-missing', says: [found.refusal], source } as const)
          : ask(found),
      ),
    )
  }
}

/** The rights of accounts to the login of account main, and who has used one. */
export class LoginRights {
  readonly #hasRight: LoginRight
  readonly #users = new Set<string>()

  constructor(hasRight: LoginRight) {
    this.#hasRight = hasRight
  }

  readonly hasRight = (accountId: string): MaybePromise<boolean> =>
    mapMaybePromise(this.#hasRight(accountId), (has) => {
      if (has) this.#users.add(accountId)
      return has
    })

  /** Whether the account has used a right that is no more; only once for each end. */
  hasEnded(accountId: string): MaybePromise<boolean> {
    if (!this.#users.has(accountId)) return false
    return mapMaybePromise(
      this.#hasRight(accountId),
      (has) => !has && this.#users.delete(accountId),
    )
  }
}

interface RightfulComplianceOptions {
  readonly cache: Compliance & {
    /** Drops what is cached for the account. */
    accountChanged(accountId: string): void
  }
  readonly rights: LoginRights
  readonly clock: Clock
}

/**
 * In front of the cache: what was asked with the login of account main is not used after the right to it has ended. A number that
 * no login covers is answered as one that no list covers.
 */
export class RightfulCompliance implements Compliance {
  readonly #options: RightfulComplianceOptions

  constructor(options: RightfulComplianceOptions) {
    this.#options = options
  }

  scrub(question: Question) {
    return mapMaybePromise(
      this.#ask(question, (cache) => cache.scrub(question)),
      (answer) => this.#toUncovered(answer),
    )
  }

  internalDnc(question: Question) {
    return this.#ask(question, (cache) => cache.internalDnc(question))
  }

  litigator(question: Question) {
    return this.#ask(question, (cache) => cache.litigator(question))
  }

  legalTime(question: Question) {
    return this.#ask(question, (cache) => cache.legalTime(question))
  }

  #ask<T>(
    { accountId }: Question,
    ask: (cache: Compliance) => MaybePromise<Answer<T>>,
  ): MaybePromise<Answer<T>> {
    const { cache, rights } = this.#options
    return catchFailure('gate', () =>
      mapMaybePromise(rights.hasEnded(accountId), (hasEnded) => {
        if (hasEnded) cache.accountChanged(accountId)
        return ask(cache)
      }),
    )
  }

  /** As the service in this process answers for a number that no list covers, which no policy for unknown checks can allow. */
  #toUncovered(answer: Answer<CallRow>): Answer<CallRow> {
    // Where several providers must permit a call, one without a login permits none.
    const answers: readonly Answer<CallRow>[] = answer.ok ? (answer.otherAnswers ?? []) : [answer]
    const missing = answers.find((one) => !one.ok && one.reason === 'list-missing')
    if (!missing || missing.ok) return answer
    const { says, source } = missing
    const allowed = { manual: false, autodialed: false, ai: false }
    return {
      ok: true,
      value: { letter: 'B', reason: '', ebrType: '', doNotCallToday: false, allowed, says },
      source,
      asOf: this.#options.clock.now(),
      // Each call asks again.
      holdsUntil: 0,
    }
  }
}

/** Rights that cannot be read are a failure like any other. */
function catchFailure<T>(
  source: string,
  ask: () => MaybePromise<Answer<T>>,
): MaybePromise<Answer<T>> {
  const answer = ask()
  if (!(answer instanceof Promise)) return answer
  return answer.catch((cause: unknown) => {
    const says = [{ code: 'rights-unread', quote: getErrorMessage(cause) }] as const
    return { ok: false, reason: 'source-failed', says, source }
  })
}
