import { createPrivateKey } from 'node:crypto'
import {
  createSigningKey,
  type KeyType,
  type SigningKey,
} from '../../src/transparency/signed-note.js'

const ed25519Pkcs8 = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The Ed25519 key whose seed is 32 times this byte. */
export function seededKey(name: string, type: KeyType, byte: number): SigningKey {
  const der = Buffer.concat([ed25519Pkcs8, Buffer.alloc(32, byte)])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  return createSigningKey(name, type, privateKey)
}
