/** The settings of where answers come from. */
import { z } from 'zod'
import {
  addProblem,
  credentials,
  httpUrl,
  milliseconds,
  reloadable,
  requireCredentials,
  shortName,
  wholeNumber,
} from './values.js'

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

/** Rate, batch size and deadline of one question. */
const questionLimits = (
  about: string,
  limits: { readonly perMinute: number; readonly batch: number; readonly maxBatch: number },
) =>
  z
    .strictObject({
      requestsPerMinute: wholeNumber(1, 1_000_000)
        .default(limits.perMinute)
        .describe(`Requests per minute for ${about}, never exceeded in any minute`),
      numbersPerRequest: wholeNumber(1, limits.maxBatch)
        .default(limits.batch)
        .describe(`Maximum numbers in one request for ${about}`),
      deadlineMs: milliseconds(10, 60_000)
        .default(3_000)
        .describe(
          `How long ${about} may take, waiting and retries included; after that the answer is unknown`,
        ),
    })
    .prefault({})

/** Answers and metrics use these names for sources other than providers. */
const reservedSourceNames: ReadonlySet<string> = new Set(['embedded', 'gate', 'remote'])

const providerSchema = (name: string) =>
  z
    .strictObject({
      name: shortName
        .refine(
          (text) => !reservedSourceNames.has(text.toLowerCase()),
          `must not be ${[...reservedSourceNames].join(', ')}`,
        )
        .default(name)
        .describe('Name of the provider in findings, logs and metrics'),
      baseUrl: httpUrl.optional().describe('Address of paths that begin with /v1.4/ or /v1.5/'),
      rpcUrl: httpUrl.optional().describe('Address of /app/main/rpc/; default baseUrl'),
      monitorUrl: httpUrl.optional().describe('Address of /v1.4/reputation; default baseUrl'),
      ...credentials,
      coalesceMs: milliseconds(0, 1_000)
        .default(5)
        .describe('How long a question waits for others to share its request'),
      maxQueued: wholeNumber(1, 1_000_000)
        .default(20_000)
        .describe('Maximum waiting questions of one kind; further ones are immediately unknown'),
      maxRequests: wholeNumber(1, 100)
        .default(8)
        .describe('Maximum requests in progress, for each question'),
      retries: wholeNumber(0, 10)
        .default(2)
        .describe('How many times a failed request is retried within the deadline'),
      circuitFailures: wholeNumber(1, 1_000)
        .default(5)
        .describe(
          'Consecutive failed requests after which the circuit breaker of a question opens',
        ),
      circuitOpenMs: milliseconds(100, 600_000)
        .default(5_000)
        .describe(
          'How long the circuit breaker stays open; doubles up to a minute while probes fail',
        ),
      scrub: questionLimits('the scrub', { perMinute: 100, batch: 2_000, maxBatch: 10_000 }),
      internalDnc: questionLimits('internal list status', {
        perMinute: 100,
        batch: 200,
        maxBatch: 500,
      }),
      litigator: questionLimits('the litigator check', {
        perMinute: 1_000,
        batch: 5_000,
        maxBatch: 10_000,
      }),
      legalTime: questionLimits('calling hours', { perMinute: 100, batch: 1_000, maxBatch: 1_000 }),
      budget: budgetSchema(['scrub', 'internalDnc', 'litigator', 'legalTime']).prefault({}),
    })
    .superRefine(requireCredentials)

export const sourceSchema = z
  .strictObject({
    kind: z
      .enum(['embedded', 'remote'])
      .default('embedded')
      .describe(
        'Where answers come from: the service in this process, or a provider with the same API. The ' +
          'sandbox account is always answered in process',
      ),
    provider: providerSchema('provider').prefault({}),
    secondProvider: providerSchema('second').prefault({}),
    combine: z
      .enum(['fallback', 'any-no-blocks'])
      .default('fallback')
      .describe(
        'With a second provider. fallback: it is asked when the first does not answer. ' +
          'any-no-blocks: both are always asked, and each must permit',
      ),
    fallbackAfterMs: milliseconds(0, 60_000)
      .default(800)
      .describe(
        'With fallback: how long to wait for the first provider before the second is asked as ' +
          'well; must be below gate.deadlineMs',
      ),
    refreshAheadMs: milliseconds(0, 3_600_000)
      .default(60_000)
      .describe(
        'A cached answer used this shortly before it expires is refreshed in the background',
      ),
  })
  .superRefine(({ kind, combine, provider, secondProvider }, context) => {
    const hasFirst = provider.baseUrl !== undefined
    const hasSecond = secondProvider.baseUrl !== undefined
    const report = (path: readonly string[], message: string) => addProblem(context, path, message)
    if (kind === 'remote' && !hasFirst) {
      report(['provider', 'baseUrl'], 'is required with source.kind remote')
    }
    if (kind === 'embedded' && hasFirst) {
      report(['kind'], 'must be remote when source.provider.baseUrl is set')
    }
    if (hasSecond && !hasFirst) {
      report(['secondProvider', 'baseUrl'], 'needs source.provider.baseUrl')
    }
    if (combine === 'any-no-blocks' && !hasSecond) {
      report(['secondProvider', 'baseUrl'], 'is required with source.combine any-no-blocks')
    }
    if (hasSecond && secondProvider.name === provider.name) {
      report(['secondProvider', 'name'], 'must differ from source.provider.name')
    }
  })
