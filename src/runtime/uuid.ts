/** Ids made of random bytes. */
import type { Instant } from '../domain/time/clock.js'

/** A version 4 UUID of 16 random bytes (RFC 9562, section 5.4). */
export function createUuid(random: Uint8Array): string {
  return formatUuid(copyRandom(random), 4)
}

/** A version 7 UUID: an instant, and 74 of 128 random bits (RFC 9562, section 5.7). */
export function createTimedUuid(at: Instant, random: Uint8Array): string {
  const bytes = copyRandom(random)
  Buffer.from(bytes.buffer).writeUIntBE(at, 0, 6)
  return formatUuid(bytes, 7)
}

function copyRandom(random: Uint8Array): Uint8Array<ArrayBuffer> {
  if (random.length === 16) return Uint8Array.from(random)
  throw new TypeError(`a UUID needs 16 random bytes, not ${random.length}`)
}

function formatUuid(bytes: Uint8Array, version: number): string {
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | (version << 4)
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = Buffer.from(bytes).toString('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-')
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return uuidPattern.test(text)
}
