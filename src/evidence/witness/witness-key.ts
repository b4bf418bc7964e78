/** The key of a witness, in a file of its own. */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { DataFileError, getErrorMessage } from '../../errors.js'
import { moveIntoPlace } from '../../runtime/folders.js'
import { createSigningKey, type SigningKey } from '../../transparency/signed-note.js'

/**
 * Reads a private key of Ed25519 in PEM (PKCS#8), which is made when the file is missing. Throws {@link DataFileError}
 * if there is something else.
 */
export function openWitnessKey(path: string, name: string): SigningKey {
  if (!existsSync(path)) createKeyFile(path)
  try {
    return createSigningKey(name, 'cosigner', createPrivateKey(readFileSync(path)))
  } catch (cause) {
    const rule = 'the file must have a private key of Ed25519 in PEM'
    throw new DataFileError(path, `${rule}: ${getErrorMessage(cause)}`, cause)
  }
}

function createKeyFile(path: string): void {
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' })
  try {
    writeFileSync(`${path}.tmp`, pem, { mode: 0o600, flush: true })
    moveIntoPlace(`${path}.tmp`, path)
  } catch (cause) {
    throw new DataFileError(path, `cannot be written: ${getErrorMessage(cause)}`, cause)
  }
}
