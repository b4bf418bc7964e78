/**
 * Checks a time stamp (RFC 3161) as far as Node alone can: that it is of these bytes, and that the certificate in it has signed it.
 * Whether that certificate is one to trust (its chain, its revocation) is not checked. Runs in the verifier.
 */
import { createHash, verify, X509Certificate } from 'node:crypto'
import { type DerPart, readDerParts } from '../../transparency/der.js'

export interface CheckedStamp {
  /** When it was stamped, ISO 8601 in UTC. */
  readonly at: string
  /** Subject of the certificate. */
  readonly by: string
}

/** A stamp that this program cannot read or check, which need not be false. */
export class UncheckedStampError extends Error {}

const signedDataType = '2a864886f70d010702'
const stampType = '2a864886f70d0109100104'
const contentTypeAttribute = '2a864886f70d010903'
const digestAttribute = '2a864886f70d010904'
/** The certificate may be used for time stamps. */
const stampUsage = '1.3.6.1.5.5.7.3.8'
const hashNames: Readonly<Record<string, string>> = {
  '608648016503040201': 'sha256',
  '608648016503040202': 'sha384',
  '608648016503040203': 'sha512',
}
/** RSA of PKCS #1 and ECDSA, of which the hash is named beside them. */
const signatureTypes = /^(?:2a864886f70d0101(?:01|0b|0c|0d)|2a8648ce3d04030[234])$/

const hexOf = (part: DerPart | undefined): string => part?.content.toString('hex') ?? ''
const partsOf = (part: DerPart | undefined): readonly DerPart[] => readDerParts(part?.content)

function findHash(algorithm: DerPart | undefined): string {
  const type = hexOf(partsOf(algorithm)[0])
  const name = hashNames[type]
  if (name === undefined)
    throw new UncheckedStampError(`its hash ${type || 'is missing and'} is not known`)
  return name
}

const digest = (name: string, bytes: Buffer): Buffer => createHash(name).update(bytes).digest()

interface StampParts {
  readonly info: DerPart
  readonly certificates: readonly DerPart[]
  readonly signer: readonly DerPart[]
}

/** Of the answer of an authority. */
function readStamp(answer: Buffer): StampParts {
  const [status, token] = partsOf(readDerParts(answer)[0])
  const granted = hexOf(partsOf(status)[0])
  const [type, wrapped] = partsOf(token)
  const signed = partsOf(partsOf(wrapped)[0])
  const [contentType, content] = partsOf(signed[2])
  const info = readDerParts(partsOf(content)[0]?.content)[0]
  const signer = partsOf(signed.findLast(({ tag }) => tag === 0x31))[0]
  const isStamp = hexOf(type) === signedDataType && hexOf(contentType) === stampType
  if ((granted !== '00' && granted !== '01') || !isStamp || !info || !signer) {
    throw new UncheckedStampError('it is no time stamp that this program can read')
  }
  const certificates = partsOf(signed.find(({ tag }) => tag === 0xa0))
  return { info, certificates, signer: partsOf(signer) }
}

/** Throws {@link UncheckedStampError} if it cannot tell, and `Error` if the stamp is false. */
export function checkStamp(answer: Buffer, stamped: Buffer): CheckedStamp {
  let stamp: StampParts
  try {
    stamp = readStamp(answer)
  } catch (cause) {
    if (cause instanceof UncheckedStampError) throw cause
    throw new UncheckedStampError('it is no time stamp that this program can read')
  }
  const { info, certificates, signer } = stamp
  const [, , imprint, , time] = partsOf(info)
  const [algorithm, hash] = partsOf(imprint)
  if (!hash?.content.equals(digest(findHash(algorithm), stamped))) {
    throw new Error('it is about other bytes')
  }
  const at = readTime(time)
  checkAttributes(signer, info)
  const { subject } = findSigner(signer, certificates, at)
  const parts = /^(....)(..)(..)(..)(..)(..)$/
  return { at: at.replace(parts, '$1-$2-$3T$4:$5:$6Z'), by: subject.replaceAll('\n', ', ') }
}

/** The signature is over the attributes, and these have the hash of the stamp. */
function checkAttributes(signer: readonly DerPart[], info: DerPart): void {
  const attributes = new Map(
    partsOf(signer[3]).map((attribute) => {
      const [type, values] = partsOf(attribute)
      return [hexOf(type), partsOf(values)[0]]
    }),
  )
  if (hexOf(attributes.get(contentTypeAttribute)) !== stampType) {
    throw new Error('what is signed is no time stamp')
  }
  const expected = digest(findHash(signer[2]), info.bytes)
  if (attributes.get(digestAttribute)?.content.equals(expected) !== true) {
    throw new Error('what is signed is another time stamp')
  }
}

function findSigner(
  signer: readonly DerPart[],
  certificates: readonly DerPart[],
  at: string,
): X509Certificate {
  const [, , digestAlgorithm, attributes, signatureAlgorithm, signature] = signer
  if (!signatureTypes.test(hexOf(partsOf(signatureAlgorithm)[0]))) {
    throw new UncheckedStampError('its kind of signature is not known')
  }
  // They are signed as a SET, and written with the tag of their field.
  const signed = Buffer.from(attributes?.bytes ?? [])
  signed[0] = 0x31
  const all = certificates
    .filter(({ tag }) => tag === 0x30)
    .map(({ bytes }) => new X509Certificate(bytes))
  if (all.length === 0) throw new UncheckedStampError('it has no certificate')
  const hash = findHash(digestAlgorithm)
  const found = all.find(({ publicKey }) =>
    verify(hash, signed, publicKey, signature?.content ?? Buffer.alloc(0)),
  )
  if (found === undefined) throw new Error('no certificate in it has signed it')
  if (!found.keyUsage?.includes(stampUsage)) {
    throw new Error('the certificate that has signed it is not for time stamps')
  }
  if (!isValidAt(found, at)) {
    throw new Error('the certificate that has signed it was not valid then')
  }
  return found
}

/** `YYYYMMDDhhmmss`, in UTC, without fractions; years have two digits in one of the forms. */
function readTime(time: DerPart | undefined): string {
  const text = time?.content.toString('latin1') ?? ''
  const [, digits = ''] = /^(\d{12}|\d{14})(?:\.\d+)?Z$/.exec(text) ?? []
  if (time?.tag === 0x18 && digits.length === 14) return digits
  if (time?.tag === 0x17 && digits.length === 12) return `${digits < '5' ? '20' : '19'}${digits}`
  throw new UncheckedStampError('its time cannot be read')
}

function isValidAt({ raw }: X509Certificate, time: string): boolean {
  const fields = partsOf(partsOf(readDerParts(raw)[0])[0])
  // The version, which may be missing, comes first.
  const validity = partsOf(fields[fields[0]?.tag === 0xa0 ? 4 : 3])
  return readTime(validity[0]) <= time && time <= readTime(validity[1])
}
