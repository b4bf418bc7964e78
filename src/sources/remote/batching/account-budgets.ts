/**
 * Counts what each account asks a provider on a UTC day, in numbers and in money. A part of the budget is taken from
 * the database at a time, and the next one before it is used up, so that a question seldom waits for it. All servers
 * together never use more than the budget.
 */
import type { Clock, LocalDay, Timers } from '../../../domain/time/clock.js'
import { formatDay, formatInstant, msPerDay, toUtcDay } from '../../../domain/time/dates.js'
import { getErrorMessage } from '../../../errors.js'
import type { Logger } from '../../../observability/log.js'
import { withTimeout } from '../../../runtime/runtime.js'
import { closingFailure, type QuestionFailure } from '../client/question-failure.js'
import type { BudgetCharge, QuestionBudget } from '../provider-options.js'

export interface AccountLimit {
  /** Money is counted in millionths. */
  readonly unit: 'numbers' | 'money'
  readonly limit: number
  /** The setting that says it, and its value for people. */
  readonly setting: string
  readonly text: string
}

export interface BudgetTerms {
  /** Of an account; none if it has no limit. */
  listLimits(accountId: string): readonly AccountLimit[]
  /** In millionths. */
  findPrice(question: string): number
  readonly warnAtPercent: number
  /** The setting that says it. */
  readonly warnSetting: string
}

interface ShareKey {
  readonly day: LocalDay
  readonly accountId: string
  readonly unit: AccountLimit['unit']
}

/** Decided by the database, for all servers. */
interface SharedBudget {
  take(
    of: ShareKey,
    limit: number,
    amount: number,
  ): Promise<{ readonly granted: number; readonly taken: number }>
  giveBack(of: ShareKey, amount: number): Promise<void>
  /** True once a day. */
  claimNotice(of: ShareKey, notice: 'warning' | 'end'): Promise<boolean>
}

interface Share {
  readonly key: ShareKey
  about: AccountLimit
  /** Taken from the budget, and not used here. */
  left: number
  /** By all servers, as far as is known here; includes what is left here. */
  taken: number
  taking: Promise<void> | undefined
  told: 'nothing' | 'warning' | 'end'
}

export interface AccountBudgetsOptions {
  /** Name of the provider. */
  readonly name: string
  readonly getTerms: () => BudgetTerms
  readonly shared: SharedBudget
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Logger
}

/** Of a budget, taken at once. */
const part = 1 / 100

/** A database that is away gives no error for a while. */
const maxWaitMs = 1_000

interface Asked {
  readonly accountId: string
  readonly question: string
  readonly inBackground: boolean
}

interface Due {
  readonly share: Share
  readonly amount: number
}

const noCharge: BudgetCharge = { giveBack: () => undefined }

export class AccountBudgets implements QuestionBudget {
  readonly #options: AccountBudgetsOptions
  #day: LocalDay = Number.NaN
  /** Of the current day, by account and unit. */
  #shares = new Map<string, Share>()
  #isClosed = false

  constructor(options: AccountBudgetsOptions) {
    this.#options = options
  }

  isLimited(accountId: string): boolean {
    return this.#options.getTerms().listLimits(accountId).length > 0
  }

  take(accountId: string, question: string, inBackground: boolean) {
    const asked = { accountId, question, inBackground }
    const result = this.#takeHeld(asked)
    return isLacking(result) ? this.#takeLacking(asked) : result
  }

  /** Gives what is not used to other servers. */
  async close(): Promise<void> {
    this.#isClosed = true
    const shares = [...this.#shares.values()]
    this.#shares = new Map()
    await Promise.all(shares.map((share) => share.taking?.catch(() => undefined)))
    await this.#giveBackUnused(shares)
  }

  /**
   * Takes from what this server has already taken from the database. Gives the charge, or why the question may not be
   * asked; or, if this server has too little left of a budget that is not used up, which one and how much is needed.
   */
  #takeHeld(asked: Asked): BudgetCharge | QuestionFailure | Due {
    const all = this.#listDue(asked)
    for (const { share, amount } of all) {
      const used = share.taken - share.left + amount
      if (used > share.about.limit) {
        this.#tell(share, 'end')
        return this.#createSpentFailure(share)
      }
      if (asked.inBackground && used > this.#computeWarnAt(share)) {
        this.#tell(share, 'warning')
        return this.#createReservedFailure(share)
      }
    }
    const lacking = all.find(({ share, amount }) => share.left < amount)
    if (lacking) return lacking
    for (const { share, amount } of all) {
      share.left -= amount
      const used = share.taken - share.left
      if (used >= this.#computeWarnAt(share)) this.#tell(share, 'warning')
      const isLow = 2 * share.left < computePart(share)
      // Whoever needs it then asks again.
      if (isLow && share.taken < share.about.limit)
        this.#takeMore({ share, amount }).catch(() => undefined)
    }
    if (all.length === 0) return noCharge
    // The amounts of now, since a reload may change prices.
    const giveBack = () => {
      for (const { share, amount } of all) share.left += amount
    }
    return { giveBack }
  }

  /** Takes parts from the database until there is enough for the question, or the budget is used up. */
  async #takeLacking(asked: Asked): Promise<BudgetCharge | QuestionFailure> {
    const { timers } = this.#options
    for (;;) {
      const result = this.#takeHeld(asked)
      if (!isLacking(result)) return result
      if (this.#isClosed) return closingFailure
      try {
        const late = () => Promise.reject(new Error(`did not answer within ${maxWaitMs} ms`))
        await withTimeout(this.#takeMore(result), maxWaitMs, late, { timers })
      } catch (cause) {
        return this.#createUnknownFailure(asked.accountId, getErrorMessage(cause))
      }
    }
  }

  #takeMore({ share, amount }: Due): Promise<void> {
    share.taking ??= this.#takePart(share, amount).finally(() => {
      share.taking = undefined
    })
    return share.taking
  }

  async #takePart(share: Share, amount: number): Promise<void> {
    const wanted = Math.max(computePart(share), amount - share.left)
    const { granted, taken } = await this.#options.shared.take(share.key, share.about.limit, wanted)
    share.left += granted
    share.taken = Math.max(share.taken, taken)
  }

  #listDue({ accountId, question }: Omit<Asked, 'inBackground'>): readonly Due[] {
    const { getTerms, clock } = this.#options
    const terms = getTerms()
    const limits = terms.listLimits(accountId)
    if (limits.length === 0) return []
    this.#beginDay(toUtcDay(clock.now()))
    return limits.flatMap((about) => {
      const amount = about.unit === 'numbers' ? 1 : terms.findPrice(question)
      return amount === 0 ? [] : [{ share: this.#findShare(accountId, about), amount }]
    })
  }

  #beginDay(day: LocalDay): void {
    if (day === this.#day) return
    const old = [...this.#shares.values()]
    this.#day = day
    this.#shares = new Map()
    void this.#giveBackUnused(old)
  }

  #findShare(accountId: string, about: AccountLimit): Share {
    const id = `${about.unit} ${accountId}`
    const known = this.#shares.get(id)
    if (known) {
      // After a reload it may be another.
      if (known.about.limit !== about.limit) known.told = 'nothing'
      known.about = about
      return known
    }
    const key = { day: this.#day, accountId, unit: about.unit }
    const made: Share = { key, about, left: 0, taken: 0, taking: undefined, told: 'nothing' }
    this.#shares.set(id, made)
    return made
  }

  /**
   * Gives what was taken from the database and not used back to it, when the program ends or the day is over. A failure
   * is only logged: the report of the day then shows more than was used, and after a restart that much less is left.
   */
  async #giveBackUnused(shares: readonly Share[]): Promise<void> {
    const { shared, log, name } = this.#options
    const unused = shares.filter(({ left }) => left > 0)
    const giveBack = ({ key, left }: Share) => shared.giveBack(key, left)
    await Promise.all(unused.map(giveBack)).catch((err: unknown) =>
      log.warn('unused parts of budgets could not be given back', { provider: name, err }),
    )
  }

  #computeWarnAt({ about }: Share): number {
    return (about.limit * this.#options.getTerms().warnAtPercent) / 100
  }

  /** Logs once a day for all servers, when this one comes to know it. */
  #tell(share: Share, notice: 'warning' | 'end'): void {
    if (share.told === notice || share.told === 'end') return
    share.told = notice
    const { shared, log, name, getTerms } = this.#options
    const { setting, text } = share.about
    const message =
      notice === 'end'
        ? 'an account has used up its budget of a provider and can ask it nothing more until the next UTC day'
        : `an account has used ${getTerms().warnAtPercent} % of its budget of a provider`
    const fields = {
      ...{ provider: name, account: share.key.accountId, budget: text, setting },
      renewedAt: describeRenewal(share.key),
    }
    shared.claimNotice(share.key, notice).then(
      (isFirst) => isFirst && log.warn(message, fields),
      () => undefined,
    )
  }

  #createSpentFailure({ key, about }: Share): QuestionFailure {
    const what = `account ${key.accountId} may ask ${this.#options.name} no more on ${formatDay(key.day)} (UTC)`
    const why = `its budget of ${about.text} (${about.setting}) is used up`
    return {
      reason: 'budget-spent',
      detail: `${what}: ${why}, and renewed at ${describeRenewal(key)}`,
    }
  }

  #createReservedFailure({ key, about }: Share): QuestionFailure {
    const { warnAtPercent, warnSetting } = this.#options.getTerms()
    const used = `account ${key.accountId} has used ${warnAtPercent} % of its budget of ${about.text} (${about.setting})`
    const rest = `the rest until ${describeRenewal(key)} is for calls (${warnSetting})`
    return { reason: 'budget-reserved', detail: `${used}; ${rest}` }
  }

  #createUnknownFailure(accountId: string, why: string): QuestionFailure {
    const what = `whether the budget of account ${accountId} is used up is not known`
    return { reason: 'source-failed', detail: `${what}: the database ${why}` }
  }
}

function isLacking(result: BudgetCharge | QuestionFailure | Due): result is Due {
  return 'share' in result
}

function computePart({ about }: Share): number {
  return Math.ceil(about.limit * part)
}

function describeRenewal({ day }: ShareKey): string {
  return formatInstant((day + 1) * msPerDay)
}
