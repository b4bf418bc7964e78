/** Decodes text of unknown encoding: UTF-16 by its byte order mark, UTF-8, and Windows-1252 where it is not UTF-8. */

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

export function decodeText(bytes: Buffer): string {
  return findUtf16(bytes)?.decode(bytes) ?? decodeBytes(bytes)
}

/** `undefined` for text that has no byte order mark of UTF-16. */
export function findUtf16(start: Buffer) {
  if (start[0] === 0xff && start[1] === 0xfe) return new TextDecoder('utf-16le')
  return start[0] === 0xfe && start[1] === 0xff ? new TextDecoder('utf-16be') : undefined
}

/** `undefined` if it is not UTF-8. */
export function asUtf8(bytes: Buffer): string | undefined {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    return undefined
  }
}

/** Windows-1252 from 0x80 to 0x9f, which some Node releases decode as ISO 8859-1. */
const windowsLetters = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

export function decodeBytes(bytes: Buffer): string {
  const latin = bytes.toString('latin1')
  if (!/[\x80-\xff]/.test(latin)) return latin
  return (
    asUtf8(bytes) ??
    latin.replace(/[\x80-\x9f]/g, (letter) => windowsLetters[letter.charCodeAt(0) - 0x80] ?? letter)
  )
}
