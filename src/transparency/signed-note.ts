/**
 * Texts with signatures of several parties: C2SP `signed-note`, and the timestamped cosignatures of
 * `tlog-cosignature`. Only Ed25519 is known; signatures of unknown keys, and of other kinds, are passed over.
 */
import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'

/** `cosigner` is that of a witness, which signs with the time. */
const keyTypes = { signer: 0x01, cosigner: 0x04 } as const
export type KeyType = keyof typeof keyTypes

/** Whose signatures count. */
export interface VerifierKey {
  /** Not empty, without white space and plus signs. */
  readonly name: string
  readonly type: KeyType
  /** 32 bytes of Ed25519. */
  readonly publicKey: Buffer
}

export interface SigningKey extends VerifierKey {
  readonly privateKey: KeyObject
}

export interface NoteSignature {
  readonly name: string
  readonly keyId: number
  /** What follows the id of the key. */
  readonly signature: Buffer
}

export interface SignedNote {
  /** With the line feed at its end. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

/** Why a note, a key or a proof is refused. */
export class NoteError extends Error {}

/** More are a waste of everybody's time. */
const maxSignatures = 100
const maxNoteLength = 1_000_000
const ed25519Spki = Buffer.from('302a300506032b6570032100', 'hex')

function requireName(name: string): void {
  if (name !== '' && !/[\s+]/u.test(name)) return
  throw new NoteError(
    `the name of a key must be a word without white space and plus signs, not '${name}'`,
  )
}

/** Throws {@link NoteError} if the key is not one of Ed25519. */
export function createSigningKey(name: string, type: KeyType, privateKey: KeyObject): SigningKey {
  requireName(name)
  if (privateKey.asymmetricKeyType !== 'ed25519') {
    throw new NoteError(`the key must be one of Ed25519, not of ${privateKey.asymmetricKeyType}`)
  }
  const publicKey = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  return { name, type, privateKey, publicKey: publicKey.subarray(ed25519Spki.length) }
}

export function computeKeyId({ name, type, publicKey }: VerifierKey): number {
  const hash = createHash('sha256').update(`${name}\n`)
  return hash.update(Buffer.of(keyTypes[type])).update(publicKey).digest().readUInt32BE(0)
}

/** As it is handed to others: `name+id+key`. */
export function formatVerifierKey(key: VerifierKey): string {
  const id = computeKeyId(key).toString(16).padStart(8, '0')
  const typed = Buffer.concat([Buffer.of(keyTypes[key.type]), key.publicKey])
  return `${key.name}+${id}+${typed.toString('base64')}`
}

/** Throws {@link NoteError} if it is none. */
export function parseVerifierKey(text: string): VerifierKey {
  const [, name = '', id = '', encoded = ''] = /^([^+]*)\+([0-9a-f]{8})\+(.*)$/s.exec(text) ?? []
  const typed = decodeBase64(encoded)
  const type = (Object.keys(keyTypes) as KeyType[]).find((one) => keyTypes[one] === typed?.[0])
  if (name !== '' && typed?.length === 33 && type !== undefined) {
    requireName(name)
    const key: VerifierKey = { name, type, publicKey: typed.subarray(1) }
    if (formatVerifierKey(key) === `${name}+${id}+${encoded}`) return key
  }
  throw new NoteError(
    `'${text.slice(0, 200)}' is no verifier key, such as 'name+1a2b3c4d+AY...', of Ed25519`,
  )
}

/** `undefined` if it is not the standard alphabet with padding. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

/** Throws {@link NoteError} if it is no note. */
export function parseNote(note: string): SignedNote {
  if (note.length > maxNoteLength)
    throw new NoteError('the note is longer than a million characters')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the format forbids them
  if (/[\u0000-\u0009\u000b-\u001f\ufffd]/.test(note)) {
    throw new NoteError('the note has a control character, or is not UTF-8')
  }
  const end = note.lastIndexOf('\n\n')
  if (end === -1 || !note.endsWith('\n')) {
    throw new NoteError('a note is a text, an empty line, and lines with signatures')
  }
  const lines = note.slice(end + 2, -1).split('\n')
  if (lines.length > maxSignatures) {
    throw new NoteError(`the note has more than ${maxSignatures} signatures`)
  }
  return { text: note.slice(0, end + 1), signatures: lines.map(parseSignature) }
}

function parseSignature(line: string): NoteSignature {
  const [, name = '', encoded = ''] = /^\u2014 ([^ ]+) ([^ ]+)$/.exec(line) ?? []
  const bytes = decodeBase64(encoded)
  if (name === '' || bytes === undefined || bytes.length < 5) {
    throw new NoteError(`'${line.slice(0, 200)}' is no line with a signature`)
  }
  requireName(name)
  return { name, keyId: bytes.readUInt32BE(0), signature: bytes.subarray(4) }
}

export function formatSignature({ name, keyId, signature }: NoteSignature): string {
  const id = Buffer.alloc(4)
  id.writeUInt32BE(keyId)
  return `\u2014 ${name} ${Buffer.concat([id, signature]).toString('base64')}\n`
}

export function formatNote({ text, signatures }: SignedNote): string {
  return `${text}\n${signatures.map(formatSignature).join('')}`
}

/** `at` is in seconds since the epoch, and only a cosigner has it. */
export function signNote(text: string, key: SigningKey, at = 0): NoteSignature {
  const time = key.type === 'cosigner' ? encodeSeconds(at) : Buffer.alloc(0)
  const signature = sign(null, toMessage(text, key.type, at), key.privateKey)
  const { name } = key
  return { name, keyId: computeKeyId(key), signature: Buffer.concat([time, signature]) }
}

function encodeSeconds(at: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUIntBE(at, 2, 6)
  return bytes
}

function toMessage(text: string, type: KeyType, at: number): Buffer {
  return Buffer.from(type === 'cosigner' ? `cosignature/v1\ntime ${at}\n${text}` : text)
}

export interface VerifiedSignature {
  readonly key: VerifierKey
  /** Of a cosignature: in seconds since the epoch. */
  readonly at: number | undefined
}

/**
 * The signatures by known keys, one for each key. Throws {@link NoteError} if one with the name and id of a known
 * key is wrong.
 */
export function verifySignatures(
  { text, signatures }: SignedNote,
  keys: readonly VerifierKey[],
): readonly VerifiedSignature[] {
  const verified = new Map<VerifierKey, VerifiedSignature>()
  for (const { name, keyId, signature } of signatures) {
    const key = keys.find((one) => one.name === name && computeKeyId(one) === keyId)
    if (key === undefined || verified.has(key)) continue
    verified.set(key, verifySignature(text, key, signature))
  }
  return [...verified.values()]
}

function verifySignature(text: string, key: VerifierKey, signature: Buffer): VerifiedSignature {
  const isCosignature = key.type === 'cosigner'
  const wrong = new NoteError(`the signature of ${key.name} is wrong`)
  if (signature.length !== (isCosignature ? 72 : 64)) throw wrong
  if (isCosignature && signature.readUInt16BE(0) !== 0) throw wrong
  const at = isCosignature ? signature.readUIntBE(2, 6) : undefined
  const message = toMessage(text, key.type, at ?? 0)
  if (!verify(null, message, toPublicKey(key), signature.subarray(-64))) throw wrong
  return { key, at }
}

/** For signatures of other things than notes. */
export function toPublicKey({ publicKey }: VerifierKey): KeyObject {
  const der = Buffer.concat([ed25519Spki, publicKey])
  return createPublicKey({ key: der, format: 'der', type: 'spki' })
}
