/** The key of a witness, in a file of its own. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { DataFileError, getErrorMessage } from '../../errors.js'
import { isPresent, moveIntoPlace } from '../../runtime/folders.js'
import { createSigningKey, type SigningKey } from '../../transparency/signed-note.js'

/**
 * Reads a private key of Ed25519 in PEM (PKCS#8), which is made when the file is missing. Throws {@link DataFileError}
 * if there is something else, and `NoteError` if the name is none of a key.
 */
export function openWitnessKey(path: string, name: string): SigningKey {
  if (!isPresent(path)) createKeyFile(path)
  return createSigningKey(name, 'cosigner', readPrivateKey(path))
}

function readPrivateKey(path: string): KeyObject {
  const rule = 'the file must have a private key of Ed25519 in PEM'
  try {
    const key = createPrivateKey(readFileSync(path))
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch (cause) {
    throw new DataFileError(path, `${rule}: ${getErrorMessage(cause)}`, cause)
  }
  throw new DataFileError(path, rule)
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
