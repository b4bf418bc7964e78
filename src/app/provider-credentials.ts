/** Reads the credentials for a provider from the settings and the files they name. */

import { readKeyFile } from '../config/secret-file.js'
import type { CredentialSettings } from '../config/values.js'
import type { ProviderCredentials } from '../sources/remote/provider-options.js'

/**
 * `path` is the path of the settings, for error messages. Throws `DataFileError` for a key file that
 * cannot be read.
 */
export function readProviderCredentials(
  settings: CredentialSettings,
  path: string,
): ProviderCredentials {
  const { clientId, clientSecret, clientSecretFile, loginId, loginIdFile } = settings
  if (clientId !== undefined) {
    const secret = clientSecret ?? readKeyFile(clientSecretFile ?? '', `${path}.clientSecretFile`)
    return { kind: 'oauth', clientId, clientSecret: secret }
  }
  const key = loginId ?? readKeyFile(loginIdFile ?? '', `${path}.loginIdFile`)
  return { kind: 'login-id', loginId: key }
}
