/**
 * Signing in at an identity provider: OpenID Connect 1.0, the code flow with PKCE (RFC 7636). What is needed when the browser comes back is
 * in a sealed cookie, so that any server of a cluster can go on. Tokens are used here, and neither kept nor logged.
 */
import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretBasic,
  type Configuration,
  calculatePKCECodeChallenge,
  discovery,
  enableNonRepudiationChecks,
  type IDToken,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client'
import type { OidcSettings } from '../config/console.js'
import { identifyPerson, type Person, type PersonRole, personRoles } from '../domain/caller.js'
import type { Clock, Timers } from '../domain/time/clock.js'
import { AppError, getErrorMessage, truncate } from '../errors.js'
import { createSampledLine, type Logger } from '../observability/log.js'
import { TtlCache } from '../runtime/ttl-cache.js'
import type { SealedAddresses } from './sealed-address.js'

const timeoutSeconds = 5
/** How long what a provider says about itself is used. */
const metadataKeptMs = 3_600_000
const attemptKeptMs = 10 * 60_000
const callbackPath = '/console/oidc/callback'

export interface IdentityProviderOptions {
  readonly settings: OidcSettings
  readonly clientSecret: string
  /** For what is in the cookie, and nothing else. */
  readonly seals: SealedAddresses
  readonly clock: Clock
  readonly timers: Pick<Timers, 'monotonicMs'>
  readonly logger: Logger
}

/** Made when somebody leaves for the provider. */
interface Attempt {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly expiresAt: number
}

export class IdentityProvider {
  /** For people. */
  readonly name: string
  readonly #options: IdentityProviderOptions
  readonly #roles: ReadonlyMap<string, PersonRole>
  readonly #metadata: TtlCache<Configuration>
  /** By state. On another server, the provider's code is good for one use too. */
  readonly #used: TtlCache<Attempt>
  /** Strangers can cause any number of them. */
  readonly #warn: (why: string) => void

  constructor(options: IdentityProviderOptions) {
    const { settings, timers } = options
    this.#options = options
    this.#warn = createSampledLine(options.logger, {
      level: 'warn',
      message: 'somebody could not sign in at the identity provider',
      fields: (why: string) => ({ why }),
      max: 10,
      per: 'minute',
    })
    this.name = settings.name ?? new URL(settings.issuer).host
    this.#roles = new Map(Object.entries(settings.roles))
    this.#metadata = new TtlCache({ timers, ttlMs: metadataKeptMs, maxEntries: 1 })
    this.#used = new TtlCache({ timers, ttlMs: 2 * attemptKeptMs, maxEntries: 10_000 })
  }

  /**
   * Where the browser goes to, and what it keeps for {@link IdentityProvider.finish}. `base` is where the console is, such as
   * `https://callgate.example`. Rejects with `not-available` if the provider does not answer.
   */
  async begin(base: string): Promise<{ readonly goTo: string; readonly sealed: string }> {
    const provider = await this.#discover()
    const { settings, clock, seals } = this.#options
    const attempt: Attempt = {
      ...{ state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() },
      expiresAt: clock.now() + attemptKeptMs,
    }
    const goTo = buildAuthorizationUrl(provider, {
      redirect_uri: base + callbackPath,
      scope: settings.scopes.join(' '),
      ...{ state: attempt.state, nonce: attempt.nonce },
      code_challenge: await calculatePKCECodeChallenge(attempt.verifier),
      code_challenge_method: 'S256',
    })
    return { goTo: goTo.href, sealed: seals.seal(JSON.stringify(attempt)) }
  }

  /**
   * Who came back to `address`, the whole one. Rejects with `unauthenticated` if it is not the answer to what was asked, with `forbidden` if
   * they have no role here, and with `not-available` if the provider does not answer.
   */
  async finish(address: URL, sealed: string | undefined): Promise<Person> {
    const { state, nonce, verifier } = this.#openAttempt(sealed)
    const provider = await this.#discover()
    let claims: IDToken | undefined
    try {
      const tokens = await authorizationCodeGrant(provider, address, {
        ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier },
        idTokenExpected: true,
      })
      claims = tokens.claims()
    } catch (cause) {
      throw this.#explain(cause)
    }
    if (!claims) throw this.#refuse('it did not say who you are')
    return this.#toPerson(claims)
  }

  #openAttempt(sealed = ''): Attempt {
    const { seals, clock } = this.#options
    const text = seals.open(sealed)
    const attempt: Attempt | undefined = text === undefined ? undefined : JSON.parse(text)
    if (!attempt || clock.now() >= attempt.expiresAt || this.#used.get(attempt.state)) {
      throw this.#refuse('this browser has not begun to sign in here, or more than 10 minutes ago')
    }
    this.#used.set(attempt.state, attempt)
    return attempt
  }

  async #discover(): Promise<Configuration> {
    const { settings, clientSecret } = this.#options
    const issuer = new URL(settings.issuer)
    const client = ClientSecretBasic(clientSecret)
    // Over TLS the signature need not be checked, but a proxy may look into that.
    const execute = [enableNonRepudiationChecks]
    if (issuer.protocol === 'http:') execute.push(allowInsecureRequests)
    const options = { timeout: timeoutSeconds, execute }
    const read = () => discovery(issuer, settings.clientId, undefined, client, options)
    try {
      const found = await this.#metadata.fetch('', read)
      if (found) return found
    } catch (cause) {
      this.#warn(`it does not answer: ${describe(cause)}`)
    }
    throw this.#away()
  }

  #toPerson(claims: IDToken): Person {
    const { settings, logger } = this.#options
    const { roleClaim, nameClaim, account } = settings
    if (claims.sub.trim() === '') throw this.#explain(new Error('the claim "sub" is empty'))
    const name = findName(claims, nameClaim)
    const given = listTexts(claims[roleClaim])
    const held = given.map((value) => this.#roles.get(value))
    const role = personRoles.findLast((one) => held.includes(one))
    if (role !== undefined) {
      const id = identifyPerson(settings.issuer, claims.sub)
      return { accountId: account, id, name, role, email: findVerifiedEmail(claims) }
    }
    logger.warn('somebody without a role could not sign in', { subject: claims.sub })
    const wanted = [...this.#roles.keys()].map((value) => `'${value}'`).join(', ')
    const has = given.length > 0 ? `has ${truncate(given.join(', '))}` : 'is missing or empty'
    throw new AppError(
      'forbidden',
      `${this.name} knows ${name}, who has no role here: the claim '${roleClaim}' ${has}, and one of ${wanted} was looked for ` +
        '(console.oidc.roles)',
    )
  }

  #explain(cause: unknown): AppError {
    const why = describe(cause)
    this.#warn(why)
    if (isAway(cause)) return this.#away()
    if (!(cause instanceof AuthorizationResponseError)) {
      return this.#refuse('its answer could not be accepted; the log of the server says why')
    }
    return this.#refuse(`it says ${truncate(cause.error_description ?? cause.error)}`)
  }

  #refuse(why: string): AppError {
    return new AppError('unauthenticated', `${this.name} did not sign you in: ${why}. Begin again`)
  }

  #away(): AppError {
    const rule = 'does not answer now; sign in with an API key, or try again later'
    return new AppError('not-available', `${this.name} ${rule}`)
  }
}

/** Without the causes of the library, which have tokens and claims. */
function describe(error: unknown): string {
  const parts = [codeOf(error), getErrorMessage(error)]
  if (error instanceof Error && 'error' in error) parts.push(String(error.error))
  if (error instanceof Error && error.cause instanceof Error) parts.push(error.cause.message)
  return parts.filter((part) => part !== '').join(': ')
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** `fetch` rejects with a TypeError. */
function isAway(error: unknown): boolean {
  return (
    ['OAUTH_TIMEOUT', 'OAUTH_ABORT'].includes(codeOf(error)) ||
    (error instanceof TypeError && error.message === 'fetch failed')
  )
}

/** A claim is one text or a list of them. */
function listTexts(claim: unknown): readonly string[] {
  const values: readonly unknown[] = Array.isArray(claim) ? claim : [claim]
  return values.filter((value) => typeof value === 'string')
}

/** Only the value `true` verifies an address. */
function findVerifiedEmail({ email, email_verified }: IDToken): string | undefined {
  if (email_verified !== true || typeof email !== 'string') return undefined
  return email.trim().toLowerCase() || undefined
}

/** Without a usable name, the subject. An address that the provider does not say to be verified could be somebody else's. */
function findName(claims: IDToken, nameClaim: string): string {
  const name = claims[nameClaim]
  const isProved = nameClaim !== 'email' || claims.email_verified === true
  const isUsable = typeof name === 'string' && /^(?=.*\S)\P{C}{1,200}$/u.test(name)
  return isUsable && isProved ? name.trim() : claims.sub
}
