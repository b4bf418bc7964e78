/** Where the database is, by the settings. */
import { readFirstLine, readWholeFile } from '../config/secret-file.js'
import type { Settings } from '../config/settings.js'
import type { StorageSettings } from '../storage/open-database.js'

/**
 * How every thread opens the database. Reads the password. Throws {@link DataFileError} for a file of the
 * settings that cannot be read.
 */
export function readStorageSettings({
  dataDir,
  storage,
  edge,
}: Pick<Settings, 'dataDir' | 'storage' | 'edge'>): Pick<
  StorageSettings,
  'dataDir' | 'isCopy' | 'lockWaitMs' | 'postgres'
> {
  const { engine, url = '', passwordFile, caFile, tls, maxConnections, lockWaitMs } = storage
  if (engine === 'sqlite') return { dataDir, lockWaitMs, isCopy: edge.centers.length > 0 }
  const password = passwordFile && readFirstLine(passwordFile, 'storage.passwordFile')
  const certificateAuthorities = caFile && readWholeFile(caFile, 'storage.caFile')
  return {
    dataDir,
    lockWaitMs,
    postgres: { url, password, tls, certificateAuthorities, maxConnections },
  }
}
