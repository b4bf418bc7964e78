/** Resolves the Asterisk servers of the settings with their credentials and application names. */

import { defaultServerName } from '../../config/asterisk.js'
import { readFirstLine } from '../../config/secret-file.js'
import type { AsteriskSettings } from '../../config/settings.js'
import type { AriServer } from './ari-connection.js'

type AriServerSettings = AsteriskSettings['servers'][number]

/**
 * Empty when no Asterisk is configured. Servers in the list inherit unset values from the first one.
 * Throws `DataFileError` for a password file that cannot be read or is empty.
 */
export function resolveAriServers(settings: AsteriskSettings): readonly AriServer[] {
  const { url, servers } = settings
  const first: readonly AriServerSettings[] =
    url === undefined ? [] : [{ name: defaultServerName, url }]
  return [...first, ...servers].map((server) => ({
    name: server.name,
    url: new URL(server.url).origin,
    username: server.username ?? settings.username,
    password: readPassword(server, settings),
    app: server.app ?? settings.app,
  }))
}

/** The server's own password has precedence over the shared one. */
function readPassword(server: AriServerSettings, settings: AsteriskSettings): string {
  const own = server.password !== undefined || server.passwordFile !== undefined
  const { password, passwordFile } = own ? server : settings
  if (passwordFile !== undefined) return readFirstLine(passwordFile, 'asterisk.passwordFile')
  return password ?? ''
}
