/** What an erasure leaves of the record of a decision. */
import type { RecordedSaid } from '../../domain/words/words.js'
import type { DecisionDocument, FindingDocument } from './decision-document.js'

/** What was dialed may have more digits than the number. White space at the end is no part of the JSON. */
export function eraseCalledPerson(document: DecisionDocument, length: number): Buffer {
  const { dial, reference, personId, postalCode, subject, facts, says, ...more } = document
  const kept = {
    ...more,
    findings: document.findings.map(withoutPerson),
    ...(says && { says: withoutQuotes(says) }),
  }
  const body = Buffer.alloc(length, ' ')
  const marked = Buffer.from(JSON.stringify({ ...kept, number: '', dialed: '', erased: true }))
  // An unusual number may leave no room for the mark; the record is erased without it then.
  const text =
    marked.length <= length
      ? marked
      : Buffer.from(JSON.stringify({ ...kept, number: '', dialed: '' }))
  text.copy(body)
  return body
}

/**
 * Removes places, consents and opt-outs of the person, and what others said verbatim. What stays has no id of a consent, and only the
 * day of an opt-out: the law may have kept such rows, and they contain the number.
 */
function withoutPerson({
  parts,
  reassigned,
  notRenewed,
  ...finding
}: FindingDocument): FindingDocument {
  return {
    ...finding,
    says: withoutQuotes(finding.says),
    ...(notRenewed && { notRenewed: withoutQuotes(notRenewed) }),
    ...(reassigned && { reassigned: withoutPerson(reassigned) }),
  }
}

const withoutQuotes = (says: readonly RecordedSaid[]): readonly RecordedSaid[] =>
  says.map(({ quote, ...said }) => said)
