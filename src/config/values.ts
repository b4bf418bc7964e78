/** Value schemas shared by several sections of the settings. */

import { z } from 'zod'
import type { Instant } from '../domain/time/clock.js'
import { parseDay, parseInstant } from '../domain/time/dates.js'
import { parseUrl } from '../runtime/parse-url.js'

/** Marks a setting whose change a running server takes over (`isReloadable` in `load.ts`). */
export const reloadable = { reload: true } as const

/** Adds a problem found by a rule that involves several settings. */
export const addProblem = (
  context: z.core.$RefinementCtx,
  path: readonly (string | number)[],
  message: string,
): void => context.addIssue({ code: 'custom', path: [...path], message })

export const text = z.string().min(1)

/** A name in metrics and logs. */
export const shortName = z
  .string()
  .regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, . _ -')

export const region = z.string().regex(/^[A-Z]{2}$/, 'must be a two-letter region such as FL')

/** A calendar day, as a local day. */
export const day = z.string().transform((value, context) => {
  const found = parseDay(value)
  if (found !== undefined) return found
  context.addIssue('must be a date such as 2027-03-01')
  return z.NEVER
})

export const wholeNumber = (min: number, max: number) => z.number().int().min(min).max(max)

export const milliseconds = (min: number, max: number) => wholeNumber(min, max).meta({ unit: 'ms' })

/** An ISO 8601 instant; `example` appears in the error message. */
export const instant = (example: string) =>
  z
    .string()
    .transform((text, context): Instant => {
      const at = parseInstant(text)
      if (at === undefined) {
        context.addIssue(`must be an instant such as ${example}`)
        return z.NEVER
      }
      return at
    })
    .meta({ unit: 'ISO 8601 instant' })

export const httpUrl = z
  .string()
  .regex(/^https?:\/\/[^\s?#@]+$/, 'must be http://host or https://host, without key or query')
  .refine((text) => parseUrl(text) !== undefined, 'must have a valid host and port')
  .transform((text) => text.replace(/\/+$/, ''))

export const filePath = text.optional()

export const postgresUrl = z.string().refine((url) => {
  const { protocol, hostname, pathname, username, password, search } = parseUrl(url) ?? {}
  const isPostgres = protocol === 'postgres:' || protocol === 'postgresql:'
  const isWhole =
    isPostgres && hostname !== '' && username !== '' && /^\/[^/]+$/.test(pathname ?? '')
  return isWhole && password === '' && search === ''
}, 'must be postgres://user@host:port/database, without a password (storage.passwordFile) and without options')

const secret = z
  .string()
  .regex(/^[\x21-\x7e]{1,500}$/, 'must be 1 to 500 visible ASCII characters')
  .optional()

const login = {
  loginId: secret.describe('API key; or use loginIdFile'),
  loginIdFile: filePath.describe('File with the API key on its first line'),
  clientId: text.optional().describe('Account id, for OAuth instead of a key'),
  clientSecret: secret.describe('API key for OAuth'),
  clientSecretFile: filePath.describe('File with the API key for OAuth on its first line'),
}

const loginRule =
  'needs either loginId or loginIdFile, or clientId with clientSecret or clientSecretFile, but not both'

/** The settings of a provider's authentication. */
export const credentials = {
  authUrl: httpUrl
    .optional()
    .describe('Token endpoint, path included; default baseUrl + /oauth/token'),
  ...login,
  accounts: z
    .record(text, z.strictObject(login).refine(isOneLogin, loginRule))
    .refine(
      (accounts) => !Object.hasOwn(accounts, 'main'),
      'must not have main, which uses the login of the provider itself',
    )
    .refine(
      (accounts) => !Object.hasOwn(accounts, 'sandbox'),
      'must not have sandbox, for which no provider is asked',
    )
    .default({})
    .describe(
      'Logins of accounts that have their own, such as acme: {loginIdFile: /etc/callgate/acme-key}, with loginId, ' +
        'loginIdFile, clientId, clientSecret and clientSecretFile as above. The others need a right to that of account ' +
        'main: callgate lists share provider',
    ),
}

/** How a provider is logged in to. */
export interface LoginSettings {
  readonly loginId?: string | undefined
  readonly loginIdFile?: string | undefined
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
  readonly clientSecretFile?: string | undefined
}

interface CredentialSettings extends LoginSettings {
  readonly baseUrl?: string | undefined
  readonly accounts: Readonly<Record<string, LoginSettings>>
}

/** There must be exactly one way to authenticate, with each secret set in one place. */
export function requireCredentials(
  settings: CredentialSettings,
  context: z.core.$RefinementCtx,
): void {
  if (settings.baseUrl === undefined) {
    const isUnused = hasLogin(settings) || Object.keys(settings.accounts).length > 0
    if (isUnused) addProblem(context, [], 'has a key but no baseUrl')
    return
  }
  if (!isOneLogin(settings)) addProblem(context, [], loginRule)
}

function hasLogin({ loginId, loginIdFile, clientId, ...secrets }: LoginSettings): boolean {
  const { clientSecret, clientSecretFile } = secrets
  const all = [loginId, loginIdFile, clientId, clientSecret, clientSecretFile]
  return all.some((value) => value !== undefined)
}

function isOneLogin({ loginId, loginIdFile, clientId, ...more }: LoginSettings): boolean {
  const keys = [loginId, loginIdFile].filter((value) => value !== undefined).length
  const secrets = [more.clientSecret, more.clientSecretFile].filter(
    (value) => value !== undefined,
  ).length
  const isKey = keys === 1 && clientId === undefined && secrets === 0
  return isKey || (keys === 0 && clientId !== undefined && secrets === 1)
}
