/** How far the journal has got, with each decision, to be remembered with the call (docs/evidence.md). */

/** How many records of this server are on disk. */
const sizeHeader = 'X-Callgate-Journal-Size'
/** Number of the record of this decision; that of an allow is on disk. */
const recordHeader = 'X-Callgate-Journal-Record'

/** `seq` is absent if this answer has no record of its own. */
export function journalHeaders(
  { durableSeq }: { readonly durableSeq: number },
  seq?: number,
): Readonly<Record<string, string>> {
  const size = { [sizeHeader]: String(durableSeq) }
  return seq === undefined ? size : { ...size, [recordHeader]: String(seq) }
}
