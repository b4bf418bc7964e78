/** The settings of the compliance service: limits, webhooks, reputation, and provider lookups. */
import { isIP } from 'node:net'
import { z } from 'zod'
import { changeKinds } from '../domain/mandate.js'
import { budgetSchema } from './source.js'
import {
  credentials,
  httpUrl,
  milliseconds,
  reloadable,
  requireCredentials,
  shortName,
  wholeNumber,
} from './values.js'

/** The published limits of the API (docs/spec-interpretations.md) and callgate's own (docs/adr/0075); 0 means no limit. */
const perMinute = (what: string, defaultLimit: number) =>
  wholeNumber(0, 1_000_000)
    .default(defaultLimit)
    .meta(reloadable)
    .describe(`Requests per minute that one account may make to ${what}; 0 for no limit`)

/** The limit must cover one full request, so that a valid request is never refused for its size alone. */
const numbersPerMinute = (what: string, defaultLimit: number, maxPerRequest: number) =>
  wholeNumber(0, 1_000_000_000)
    .refine((limit) => limit === 0 || limit >= maxPerRequest, {
      error: `must be 0, or at least ${maxPerRequest}, the maximum of one request`,
    })
    .default(defaultLimit)
    .meta(reloadable)
    .describe(`Numbers per minute that one account may send to ${what}; 0 for no limit`)

export const limitsSchema = z.strictObject({
  scrubPerMinute: perMinute('the scrub', 100),
  litigatorPerMinute: perMinute('the litigator check', 1_000),
  reassignedPerMinute: perMinute('the reassigned-number checks', 500),
  reputationPerMinute: perMinute('the reputation calls', 100),
  pdncPerMinute: perMinute('the internal list', 6_000),
  ebrPerMinute: perMinute('the relationship and permission records', 6_000),
  timeLegalPerMinute: perMinute('the calling hours', 6_000),
  scrubNumbersPerMinute: numbersPerMinute('the scrub', 1_000_000, 20_000),
  pdncNumbersPerMinute: numbersPerMinute('the internal list', 500_000, 10_000),
  ebrNumbersPerMinute: numbersPerMinute('the relationship and permission records', 500_000, 10_000),
  timeLegalNumbersPerMinute: numbersPerMinute('the calling hours', 500_000, 1_000),
  tokensPerKey: wholeNumber(1, 10_000)
    .default(100)
    .describe('Maximum valid access tokens per API key; a new one beyond it revokes the oldest'),
})

const hostOrNetwork =
  /^(?:(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?|[0-9a-f:.]+)(?:\/\d{1,3})?$/i

/** A network needs a valid address and prefix length, and a name that ends in a number must be an IP address. */
function isReceiverHost(part: string): boolean {
  const [address = '', bits] = part.split('/')
  const maxBits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  if (address.includes(':') && isIP(address) !== 6) return false
  if (bits !== undefined) return Number(bits) <= maxBits
  return isIP(part) !== 0 || !/(?:^|\.)(?:\d+|0x[0-9a-f]*)\.?$/i.test(part)
}

/** Headers that callgate or HTTP itself sets on the request. */
const reservedHeaders =
  /^(?:host|connection|content-(?:length|type)|transfer-encoding|expect|upgrade|te|trailer|keep-alive|accept-encoding|user-agent|webhook-id|webhook-timestamp|callgate-signature)$/i

export const webhooksSchema = z.strictObject({
  allow: z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    )
    .refine(
      (parts) => parts.every((part) => hostOrNetwork.test(part) && isReceiverHost(part)),
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
    .refine((name) => !reservedHeaders.test(name), 'is a header that the request already has')
    .default('x-api-key')
    .describe('Header that contains the NotificationAPIKey of a scan'),
  timeoutMs: milliseconds(100, 60_000)
    .default(10_000)
    .describe('How long one attempt may take, from name resolution to the end of the response'),
  retryMs: z
    .array(wholeNumber(1, 604_800_000))
    .max(20)
    .default([60_000, 300_000, 1_800_000, 7_200_000, 21_600_000])
    .meta({ unit: 'ms' })
    .describe('Delays before each retry of a failed delivery'),
  maxUnderWay: wholeNumber(1, 1_000).default(16).describe('Maximum deliveries in progress'),
})

export const reputationSchema = z.strictObject({
  checkEveryMs: milliseconds(1_000, 86_400_000)
    .default(86_400_000)
    .describe('How long after a check the labels of a monitored number are checked again'),
  firstCheckWithinMs: milliseconds(0, 86_400_000)
    .default(60_000)
    .describe('How soon after it was added a number is checked first'),
  keepDays: wholeNumber(15, 3_650)
    .default(365)
    .meta({ unit: 'days' })
    .describe('How long observations are kept; HistoricalScore is computed from them'),
})

export const lookupsSchema = z
  .strictObject({
    name: shortName.default('lookups').describe('Name of the provider in logs and metrics'),
    baseUrl: httpUrl
      .optional()
      .describe(
        'A provider of this API for facts that no imported file has: carrier, line ' +
          'status, residential or business, reassigned, spam labels',
      ),
    ...credentials,
    timeoutMs: milliseconds(10, 60_000)
      .default(5_000)
      .describe('How long one lookup may take; after that the fact is missing'),
    requestsPerMinute: wholeNumber(1, 1_000_000)
      .default(500)
      .describe('Requests per minute for each kind of lookup, never exceeded in any minute'),
    keepMs: milliseconds(0, 2_592_000_000)
      .default(86_400_000)
      .describe('How long an answer of the provider is cached'),
    asksForCalls: z
      .boolean()
      .default(true)
      .describe(
        'Decisions ask this provider whether numbers have been reassigned: once a month for each number and consent ' +
          'of AI calls, of autodialed ones and of those that need the consent',
      ),
    budget: budgetSchema([
      'identity',
      'lineStatus',
      'resOrBusiness',
      'reassigned',
      'labels',
    ]).prefault({}),
  })
  .superRefine(requireCredentials)

export const twoPeopleSchema = z.strictObject({
  for: z
    .array(z.enum(changeKinds, `must be one of ${changeKinds.join(', ')}`))
    .default([])
    .describe(
      'Changes that one person asks for and another one must approve, in all accounts: remove-opt-outs (several numbers at ' +
        'once), lift-opt-out (one or several), widen-hours (of a project), erase, export (of opt-outs or consents) and ' +
        'allow-unknown (policy.*.onUnknown). Empty by default, since a sole operator would be locked out. If all keys of an account ' +
        'have one root, nobody with a key can approve; callgate doctor says what to do',
    ),
  endsAfterHours: wholeNumber(1, 720)
    .default(24)
    .meta({ unit: 'hours' })
    .describe('How long such a change waits; after that it has to be asked for again'),
})
