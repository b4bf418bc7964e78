/** The Asterisk servers of the settings, each with the credentials and the application name to use. */
import type { AsteriskSettings } from '../config.js'
import { firstServerName } from '../config-asterisk.js'
import { firstLineOf } from '../secret-file.js'
import type { AriServer } from './ari-connection.js'

type GivenServer = AsteriskSettings['servers'][number]

/**
 * Empty when no Asterisk is configured. What a server of the list leaves out is as for the first
 * one. Throws `DataFileError` for a password file that cannot be read or is empty.
 */
export function ariServers(settings: AsteriskSettings): readonly AriServer[] {
  const { url, servers } = settings
  const first: readonly GivenServer[] = url === undefined ? [] : [{ name: firstServerName, url }]
  return [...first, ...servers].map((given) => ({
    name: given.name,
    url: new URL(given.url).origin,
    username: given.username ?? settings.username,
    password: passwordOf(given, settings),
    app: given.app ?? settings.app,
  }))
}

/** What is written beside the server counts before what is written for all. */
function passwordOf(given: GivenServer, settings: AsteriskSettings): string {
  const own = given.password !== undefined || given.passwordFile !== undefined
  const { password, passwordFile } = own ? given : settings
  if (passwordFile !== undefined) return firstLineOf(passwordFile, 'asterisk.passwordFile')
  return password ?? ''
}
