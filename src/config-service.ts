/** The settings of the compliance service: limits, webhooks, reputation, look-ups at a provider. */
import { isIP } from 'node:net'
import { z } from 'zod'
import { credentialProblems } from './config-source.js'
import { address, file, milliseconds, secret, wholeNumber } from './config-values.js'

/** The published limits of the API (`docs/adr/0049`) and those of our own (`0075`); 0 means no limit. */
const perMinute = (what: string, most: number) =>
  wholeNumber(0, 1_000_000)
    .default(most)
    .describe(`Requests a minute that one account may make of ${what}; 0 for no limit`)

/** So that a request that is within the limits of its call is never refused for its size alone. */
const numbersPerMinute = (what: string, most: number, inOneRequest: number) =>
  wholeNumber(0, 1_000_000_000)
    .refine((limit) => limit === 0 || limit >= inOneRequest, {
      error: `must be 0, or at least ${inOneRequest}, which one request may hold`,
    })
    .default(most)
    .describe(`Numbers a minute that one account may send to ${what}; 0 for no limit`)

export const limits = z.strictObject({
  scrubPerMinute: perMinute('the scrub', 100),
  litigatorPerMinute: perMinute('the litigator check', 1_000),
  reassignedPerMinute: perMinute('the reassigned-number checks', 500),
  reputationPerMinute: perMinute('the reputation calls', 100),
  pdncPerMinute: perMinute('the internal list', 6_000),
  ebrPerMinute: perMinute('the relationship and consent records', 6_000),
  timeLegalPerMinute: perMinute('the calling hours', 6_000),
  scrubNumbersPerMinute: numbersPerMinute('the scrub', 1_000_000, 20_000),
  pdncNumbersPerMinute: numbersPerMinute('the internal list', 500_000, 10_000),
  ebrNumbersPerMinute: numbersPerMinute('the relationship and consent records', 500_000, 10_000),
  timeLegalNumbersPerMinute: numbersPerMinute('the calling hours', 500_000, 1_000),
  tokensPerKey: wholeNumber(1, 10_000)
    .default(100)
    .describe('Access tokens of one API key that hold at once; a further one ends the oldest'),
})

const hostOrNetwork =
  /^(?:(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?|[0-9a-f:.]+)(?:\/\d{1,3})?$/i

/** A network must be one, and what ends in a number is an address or nothing. */
function isReceiver(part: string): boolean {
  const [address = '', bits] = part.split('/')
  const mostBits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  if (address.includes(':') && isIP(address) !== 6) return false
  if (bits !== undefined) return Number(bits) <= mostBits
  return isIP(part) !== 0 || !/(?:^|\.)(?:\d+|0x[0-9a-f]*)\.?$/i.test(part)
}

/** What a request says of itself. */
const ownHeaders =
  /^(?:host|connection|content-(?:length|type)|transfer-encoding|expect|upgrade|te|trailer|keep-alive|accept-encoding|user-agent|webhook-id|webhook-timestamp|callgate-signature)$/i

export const webhooks = z.strictObject({
  allow: z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    )
    .refine(
      (parts) => parts.every((part) => hostOrNetwork.test(part) && isReceiver(part)),
      'must be hosts or networks separated by commas, such as hooks.lan, 10.1.0.0/16',
    )
    .prefault('')
    .describe(
      'Receivers that may have private addresses: hosts or networks separated by commas. All ' +
        'others must have public ones',
    ),
  keyHeader: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header')
    .refine((name) => !ownHeaders.test(name), 'is a header of the request itself')
    .default('x-api-key')
    .describe('Header that carries the NotificationAPIKey of a scan'),
  timeoutMs: milliseconds(100, 60_000)
    .default(10_000)
    .describe('How long one attempt may take, from name look-up to the end of the answer'),
  retryMs: z
    .array(wholeNumber(1, 604_800_000))
    .max(20)
    .default([60_000, 300_000, 1_800_000, 7_200_000, 21_600_000])
    .meta({ unit: 'ms' })
    .describe('Pauses before each further attempt of a failed delivery'),
  maxUnderWay: wholeNumber(1, 1_000).default(16).describe('Deliveries under way at once'),
})

export const reputation = z.strictObject({
  checkEveryMs: milliseconds(1_000, 86_400_000)
    .default(86_400_000)
    .describe('How long after a check the labels of a monitored number are looked at again'),
  firstCheckWithinMs: milliseconds(0, 86_400_000)
    .default(60_000)
    .describe('How soon after it was added a number is looked at first'),
  keepDays: wholeNumber(15, 3_650)
    .default(365)
    .meta({ unit: 'days' })
    .describe('How long observations are kept; HistoricalScore is computed from them'),
})

export const lookups = z
  .strictObject({
    name: z
      .string()
      .regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, . _ -')
      .default('lookups')
      .describe('As logs and metrics name the provider'),
    baseUrl: address
      .optional()
      .describe(
        'A provider of this API that is asked for what no imported file says: carrier, line ' +
          'status, residential or business, reassigned, spam labels',
      ),
    authUrl: address
      .optional()
      .describe('Where tokens are had, path included; baseUrl + /oauth/token when unset'),
    loginId: secret.describe('API key there; or use loginIdFile'),
    loginIdFile: file.describe('File with the API key on its first line'),
    clientId: z.string().min(1).optional().describe('Account id, for OAuth instead of a key'),
    clientSecret: secret.describe('API key for OAuth'),
    clientSecretFile: file.describe('File with that key on its first line'),
    timeoutMs: milliseconds(10, 60_000)
      .default(5_000)
      .describe('How long one look-up there may take; then there is no fact'),
    requestsPerMinute: wholeNumber(1, 1_000_000)
      .default(500)
      .describe('Requests a minute for each kind of look-up, never exceeded in any minute'),
    keepMs: milliseconds(0, 2_592_000_000)
      .default(86_400_000)
      .describe('How long an answer of the provider is kept'),
  })
  .superRefine((settings, context) => {
    for (const message of credentialProblems(settings))
      context.addIssue({ code: 'custom', message })
  })
