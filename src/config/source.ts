/** The settings of where answers come from. */
import { z } from 'zod'
import { budgetSchema } from './budget.js'
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
      budget: budgetSchema(['scrub', 'internalDnc', 'litigator', 'legalTime'])
        .safeExtend({
          atEnd: z
            .enum(['block', 'own-data'])
            .default('block')
            .meta(reloadable)
            .describe(
              'What an account that has used its budget up is answered until the next UTC day. block: nothing, so calls ' +
                'without a cached answer are blocked. own-data: what the data of this callgate say, as with source.kind ' +
                'embedded; where they say nothing, calls are blocked',
            ),
        })
        .prefault({}),
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
