/** Reads what a provider knows us by from the settings and the files they name. */
import type { Credentials } from './config-source.js'
import { keyIn } from './secret-file.js'
import type { ProviderCredentials } from './sources/remote/provider-options.js'

/**
 * `path` is where the settings stand, as a refusal names it. Throws `DataFileError` for a key file
 * that cannot be read.
 */
export function credentialsOf(settings: Credentials, path: string): ProviderCredentials {
  const { clientId, clientSecret, clientSecretFile, loginId, loginIdFile } = settings
  if (clientId !== undefined) {
    const secret = clientSecret ?? keyIn(clientSecretFile ?? '', `${path}.clientSecretFile`)
    return { kind: 'oauth', clientId, clientSecret: secret }
  }
  const key = loginId ?? keyIn(loginIdFile ?? '', `${path}.loginIdFile`)
  return { kind: 'login-id', loginId: key }
}
