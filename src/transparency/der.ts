/** Reads DER as far as time stamps need it. */

export interface DerPart {
  readonly tag: number
  readonly content: Buffer
  /** With its tag and length. */
  readonly bytes: Buffer
}

/** The parts of something constructed. Throws `RangeError` if a length is wrong. */
export function readDerParts(bytes: Buffer = Buffer.alloc(0)): readonly DerPart[] {
  const parts: DerPart[] = []
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at + 1] ?? 0x80
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f
    const start = at + 2 + lengthBytes
    const isReadable =
      first < 0x80 || (lengthBytes > 0 && lengthBytes <= 4 && start <= bytes.length)
    const length = first < 0x80 || !isReadable ? first : bytes.readUIntBE(at + 2, lengthBytes)
    const end = start + length
    if (!isReadable || end > bytes.length) throw new RangeError('it is no DER')
    parts.push({
      tag: bytes[at] ?? 0,
      content: bytes.subarray(start, end),
      bytes: bytes.subarray(at, end),
    })
    at = end
  }
  return parts
}
