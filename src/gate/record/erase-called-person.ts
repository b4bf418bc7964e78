/** What an erasure leaves of the record of a decision. */
import type { DecisionDocument, FindingDocument } from './decision-document.js'

/** What was dialed may have more digits than the number. White space at the end is no part of the JSON. */
export function eraseCalledPerson(document: DecisionDocument, length: number): Buffer {
  const { dial, reference, personId, postalCode, subject, ...more } = document
  const kept = { ...more, findings: document.findings.map(withoutFacts) }
  const body = Buffer.alloc(length, ' ')
  const marked = Buffer.from(
    JSON.stringify({ ...kept, number: '', dialed: '', erased: true }, removeLinks),
  )
  // An unusual number may leave no room for the mark; the record is erased without it then.
  const text =
    marked.length <= length
      ? marked
      : Buffer.from(JSON.stringify({ ...kept, number: '', dialed: '' }, removeLinks))
  text.copy(body)
  return body
}

/** Places, consents and opt-outs of the person. */
function withoutFacts({ facts, parts, ...finding }: FindingDocument): FindingDocument {
  return finding
}

/**
 * A replacer of JSON. Rows that the law has kept, which have the number, could be found by the id of a consent and by the time
 * of an opt-out: takes out the one, and leaves the day of the other.
 */
function removeLinks(name: string, value: unknown): unknown {
  if ((name !== 'detail' && name !== 'message') || typeof value !== 'string') return value
  return value
    .replace(/\bconsent c\d+\b/g, 'consent')
    .replace(/\b(\d{4}-\d\d-\d\d)T[\d:.]+Z/g, '$1')
}
