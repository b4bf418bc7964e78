/** The settings of what the accounts may ask a provider on one day. */
import { z } from 'zod'
import { addProblem, reloadable, wholeNumber } from './values.js'

const maxCost = 1_000_000

const money = z
  .number()
  .min(0)
  .max(maxCost)
  .refine((amount) => isMultipleOfMillionth(amount), 'must have at most six decimals')

/** Binary fractions are not exact, so a millionth of the smallest part is allowed for. */
function isMultipleOfMillionth(amount: number): boolean {
  return Math.abs(amount * 1e6 - Math.round(amount * 1e6)) < 1e-3
}

const limits = {
  numbersPerDay: wholeNumber(1, 1_000_000_000).optional(),
  costPerDay: money.refine((amount) => amount > 0, 'must be above 0').optional(),
}

const costRule = 'must be given with costPerDay, 0 for what is free'

/** `questions`: as the settings call them; each has a price of its own. */
export const budgetSchema = (questions: readonly string[]) =>
  z
    .strictObject({
      numbersPerDay: limits.numbersPerDay
        .meta(reloadable)
        .describe(
          'How many numbers each account may ask this provider on a UTC day: one number in one question is one, ' +
            'each time it is sent, retries included. Unset: no limit',
        ),
      costPerDay: limits.costPerDay
        .meta(reloadable)
        .describe(
          'How much money the questions of each account may cost on a UTC day. Unset: no limit',
        ),
      costPerNumber: z
        .partialRecord(z.enum(questions), money)
        .default({})
        .meta(reloadable)
        .describe(
          `What one number costs, for each question: ${questions.join(', ')}; all are required with costPerDay`,
        ),
      currency: z
        .string()
        .regex(/^[A-Z]{3}$/, 'must be three letters such as USD')
        .default('USD')
        .meta(reloadable)
        .describe('The currency of both, for messages and reports'),
      warnAtPercent: wholeNumber(1, 100)
        .default(80)
        .meta(reloadable)
        .describe(
          'Share of a budget at which a warning is logged, and from which only calls may ask: warming, previews and ' +
            'other work that no call waits for may not',
        ),
      accounts: z
        .record(z.string().min(1), z.strictObject(limits))
        .default({})
        .meta(reloadable)
        .describe(
          'numbersPerDay and costPerDay of named accounts, instead of those for all, such as acme: {numbersPerDay: 500}',
        ),
    })
    .superRefine(({ costPerDay, costPerNumber, accounts }, context) => {
      const isLimited = [costPerDay, ...Object.values(accounts).map((own) => own.costPerDay)].some(
        (limit) => limit !== undefined,
      )
      const missing = questions.filter((question) => costPerNumber[question] === undefined)
      if (isLimited && missing.length > 0) {
        addProblem(context, ['costPerNumber'], `${missing.join(', ')} ${costRule}`)
      }
    })

export type BudgetSettings = z.output<ReturnType<typeof budgetSchema>>

/** Whether any account has a limit. */
export function hasBudget({ numbersPerDay, costPerDay, accounts }: BudgetSettings): boolean {
  const all = [numbersPerDay, costPerDay, ...Object.values(accounts).flatMap(Object.values)]
  return all.some((limit) => limit !== undefined)
}

export interface AccountLimit {
  readonly unit: 'numbers' | 'money'
  /** Money is in millionths. */
  readonly limit: number
  /** The path of the setting that says it. */
  readonly setting: string
  /** With its unit, for people. */
  readonly text: string
}

/** What an account may ask the provider with the settings at `path` on one day; none without a limit. */
export function listAccountLimits(
  path: string,
  budget: BudgetSettings,
  accountId: string,
): readonly AccountLimit[] {
  const own = Object.hasOwn(budget.accounts, accountId) ? budget.accounts[accountId] : undefined
  const find = (name: 'numbersPerDay' | 'costPerDay') => ({
    amount: own?.[name] ?? budget[name],
    setting: [
      path,
      'budget',
      ...(own?.[name] === undefined ? [] : ['accounts', accountId]),
      name,
    ].join('.'),
  })
  const { amount: numbers, setting } = find('numbersPerDay')
  const cost = find('costPerDay')
  const limits: AccountLimit[] = []
  if (numbers !== undefined) {
    limits.push({ unit: 'numbers', limit: numbers, setting, text: `${numbers} numbers` })
  }
  if (cost.amount !== undefined) {
    const text = `${cost.amount} ${budget.currency}`
    limits.push({ unit: 'money', limit: toMillionths(cost.amount), setting: cost.setting, text })
  }
  return limits
}

export function toMillionths(amount: number): number {
  return Math.round(amount * 1e6)
}
