/** The settings of where answers come from. */
import { z } from 'zod'
import { address, file, milliseconds, secret, wholeNumber } from './config-values.js'

/** How often and how much one question may be asked. */
const question = (
  about: string,
  limits: { readonly perMinute: number; readonly batch: number; readonly most: number },
) =>
  z
    .strictObject({
      requestsPerMinute: wholeNumber(1, 1_000_000)
        .default(limits.perMinute)
        .describe(`Requests a minute for ${about}, never exceeded in any minute`),
      numbersPerRequest: wholeNumber(1, limits.most)
        .default(limits.batch)
        .describe(`Numbers in one request for ${about}, at most`),
      deadlineMs: milliseconds(10, 60_000)
        .default(3_000)
        .describe(`How long ${about} may take, waiting and retries included; then unknown`),
    })
    .prefault({})

/** As answers and metrics name what is no provider; a provider's consent lifts no entry of ours. */
const ownNames: ReadonlySet<string> = new Set(['embedded', 'gate', 'remote'])

const provider = (name: string) =>
  z.strictObject({
    name: z
      .string()
      .regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, . _ -')
      .refine(
        (text) => !ownNames.has(text.toLowerCase()),
        `must not be ${[...ownNames].join(', ')}`,
      )
      .default(name)
      .describe('As findings, logs and metrics name it'),
    baseUrl: address.optional().describe('Address of paths that begin with /v1.4/ or /v1.5/'),
    rpcUrl: address.optional().describe('Address of /app/main/rpc/; baseUrl when unset'),
    monitorUrl: address.optional().describe('Address of /v1.4/reputation; baseUrl when unset'),
    authUrl: address
      .optional()
      .describe('Where tokens are had, path included; baseUrl + /oauth/token when unset'),
    loginId: secret.describe('API key; or use loginIdFile'),
    loginIdFile: file.describe('File with the API key on its first line'),
    clientId: z.string().min(1).optional().describe('Account id, for OAuth instead of a key'),
    clientSecret: secret.describe('API key for OAuth'),
    clientSecretFile: file.describe('File with that key on its first line'),
    coalesceMs: milliseconds(0, 1_000)
      .default(5)
      .describe('How long a question waits for others to share its request'),
    maxQueued: wholeNumber(1, 1_000_000)
      .default(20_000)
      .describe('Questions of a kind that wait at once; one more is unknown at once'),
    maxRequests: wholeNumber(1, 100)
      .default(8)
      .describe('Requests under way at once, for each question'),
    retries: wholeNumber(0, 10)
      .default(2)
      .describe('How often a failed request is repeated within the deadline'),
    circuitFailures: wholeNumber(1, 1_000)
      .default(5)
      .describe('Failed requests in a row after which a question is not asked for a while'),
    circuitOpenMs: milliseconds(100, 600_000)
      .default(5_000)
      .describe('How long it then is not asked; doubles up to a minute while probes fail'),
    scrub: question('the scrub', { perMinute: 100, batch: 2_000, most: 10_000 }),
    internalDnc: question('internal list status', { perMinute: 100, batch: 200, most: 500 }),
    litigator: question('the litigator check', { perMinute: 1_000, batch: 5_000, most: 10_000 }),
    legalTime: question('calling hours', { perMinute: 100, batch: 1_000, most: 1_000 }),
  })

export const source = z
  .strictObject({
    kind: z
      .enum(['embedded', 'remote'])
      .default('embedded')
      .describe(
        'Who answers: the service in this process, or a provider that speaks the same API. The ' +
          'sandbox account is always answered in process',
      ),
    provider: provider('provider').prefault({}),
    secondProvider: provider('second').prefault({}),
    combine: z
      .enum(['fallback', 'any-no-blocks'])
      .default('fallback')
      .describe(
        'With a second provider: it is asked when the first does not answer, or both are always ' +
          'asked and each must permit',
      ),
    fallbackAfterMs: milliseconds(0, 60_000)
      .default(800)
      .describe(
        'With fallback: how long the first provider is waited for before the second is asked as ' +
          'well; below gate.deadlineMs',
      ),
    refreshAheadMs: milliseconds(0, 3_600_000)
      .default(60_000)
      .describe(
        'A kept answer that is used so shortly before its end is asked anew, with nobody waiting',
      ),
  })
  .superRefine((settings, context) => {
    for (const [path, message] of sourceProblems(settings)) {
      context.addIssue({ code: 'custom', path: [...path], message })
    }
  })

type Problem = readonly [path: readonly string[], message: string]

interface Given {
  readonly kind: 'embedded' | 'remote'
  readonly combine: 'fallback' | 'any-no-blocks'
  readonly provider: Provider
  readonly secondProvider: Provider
}

function sourceProblems({ kind, combine, provider, secondProvider }: Given): readonly Problem[] {
  const hasFirst = provider.baseUrl !== undefined
  const hasSecond = secondProvider.baseUrl !== undefined
  const rules: readonly (readonly [isBroken: boolean, ...problem: Problem])[] = [
    [
      kind === 'remote' && !hasFirst,
      ...([['provider', 'baseUrl'], 'is required with source.kind remote'] as const),
    ],
    [
      kind === 'embedded' && hasFirst,
      ...([['kind'], 'must be remote when source.provider.baseUrl is set'] as const),
    ],
    [
      hasSecond && !hasFirst,
      ...([['secondProvider', 'baseUrl'], 'needs source.provider.baseUrl'] as const),
    ],
    [
      combine === 'any-no-blocks' && !hasSecond,
      ['secondProvider', 'baseUrl'],
      'is required with source.combine any-no-blocks',
    ],
    [
      hasSecond && secondProvider.name === provider.name,
      ...([['secondProvider', 'name'], 'must differ from source.provider.name'] as const),
    ],
  ]
  const broken = rules.filter(([isBroken]) => isBroken)
  return [
    ...broken.map(([, path, message]): Problem => [path, message]),
    ...credentialProblems(provider).map((text): Problem => [['provider'], text]),
    ...credentialProblems(secondProvider).map((text): Problem => [['secondProvider'], text]),
  ]
}

/** What a provider is known by. */
export interface Credentials {
  readonly baseUrl?: string | undefined
  readonly loginId?: string | undefined
  readonly loginIdFile?: string | undefined
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
  readonly clientSecretFile?: string | undefined
}

type Provider = z.output<ReturnType<typeof provider>>

/** One way to authenticate, and each secret in one place. */
export function credentialProblems(settings: Credentials): readonly string[] {
  const { loginId, loginIdFile, clientId, clientSecret, clientSecretFile } = settings
  if (settings.baseUrl === undefined) {
    const given = [loginId, loginIdFile, clientId, clientSecret, clientSecretFile]
    return given.some((one) => one !== undefined) ? ['has a key and no baseUrl to ask'] : []
  }
  const key = [loginId, loginIdFile].filter((one) => one !== undefined).length
  const secret = [clientSecret, clientSecretFile].filter((one) => one !== undefined).length
  const isKey = key === 1 && clientId === undefined && secret === 0
  const isOauth = key === 0 && clientId !== undefined && secret === 1
  if (isKey || isOauth) return []
  return [
    'needs either loginId or loginIdFile, or else clientId with clientSecret or clientSecretFile, ' +
      'and not both',
  ]
}
