/** How a request shows who asks (spec, "Authentication"): an API key, or an access token. */
import { AccessToken } from './access-token.js'
import type { NoAnswer } from './no-answer.js'
import type { ProviderBasics } from './provider-options.js'
import type { Transport } from './transport.js'

/** Headers with a key; the same object as long as the key is the same. */
export type KeyHeaders = Readonly<Record<string, string>>

export interface Credentials {
  /** For a request that leaves now; absent when {@link obtain} has to come first. */
  current(): KeyHeaders | undefined
  /** Why it is of no use to ask at the moment. */
  problem(): NoAnswer | undefined
  /** Settles when `current` or `problem` has something to say; never rejects. */
  obtain(): Promise<void>
  /** The provider has not accepted these: whether it may accept others that can be had. */
  drop(headers: KeyHeaders): boolean
  close(): Promise<void>
}

/** A login id for good, or a token that is renewed. */
export function openCredentials(options: ProviderBasics, transport: Transport): Credentials {
  const { credentials } = options
  if (credentials.kind === 'oauth') return new AccessToken(options, { ...credentials, transport })
  const headers = { loginId: credentials.loginId }
  return {
    current: () => headers,
    problem: () => undefined,
    obtain: () => Promise.resolve(),
    drop: () => false,
    close: () => Promise.resolve(),
  }
}
