/** The logins of providers: read from the settings and the files they name, and which accounts may use that of account main. */

import { readKeyFile } from '../config/secret-file.js'
import type { LoginSettings } from '../config/values.js'
import { canUseProviders } from '../data/number-list/list-names.js'
import { type MaybePromise, mapMaybePromise } from '../domain/compliance.js'
import type { ScopeResolver } from '../service/projects/project-scope.js'
import type { ProviderCredentials } from '../sources/remote/provider-options.js'

/**
 * `path` is the path of the settings, for error messages. Throws `DataFileError` for a key file that
 * cannot be read.
 */
export function readProviderCredentials(
  settings: LoginSettings,
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

/** Whether the account may use the login of account main; as of a second ago at most. Rejects if that cannot be read. */
export function hasLoginRight(projects: ScopeResolver, accountId: string): MaybePromise<boolean> {
  return mapMaybePromise(
    projects.resolve(accountId),
    (scope) => scope !== undefined && canUseProviders(scope.listOwners),
  )
}
