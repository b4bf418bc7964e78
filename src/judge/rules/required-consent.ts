/** Applies state consent laws beyond the federal rules: the call is blocked unless a record on file allows it. */
import { type CallRow, rankEvidence } from '../../domain/compliance.js'
import type { LiftingRecord, RequiredConsent } from '../../domain/consent/consent-records.js'
import { type Finding, pickHigherRankedReason } from '../../domain/decision.js'
import { formatDay } from '../../domain/time/dates.js'
import type { Said } from '../../domain/words/words.js'
import { type CallWithConsent, findConsentProblem, relatedLetters } from './consent-evidence.js'

/**
 * Adds these laws to the finding of the permission check on this row. A block for a reason of a higher rank stays, and so
 * does a finding without an answer.
 */
export function requireConsent(
  finding: Finding,
  row: CallRow,
  call: CallWithConsent,
  laws: readonly RequiredConsent[],
): Finding {
  const line = row.lineClass === 'wireline' ? 'landline' : 'wireless'
  const asking = laws.filter(({ lines }) => lines?.includes(line) !== false)
  if (asking.length === 0 || finding.verdict === 'unknown') return finding
  if (pickHigherRankedReason('no-consent', finding.reason) !== 'no-consent') return finding
  const { lifting, onFile, problem } = findLiftingRecords(row, call)
  const lifted = (law: RequiredConsent) => law.liftedBy.some((record) => lifting.includes(record))
  const unmet = asking.filter((law) => !lifted(law))
  if (unmet.length === 0) {
    const satisfied = asking.map(({ id, citation }): Said => {
      return { code: 'consent-law-satisfied', params: { law: id, citation, ...onFile } }
    })
    const says = [...finding.says, ...satisfied]
    return { ...finding, says, restsOnRecord: true, text: undefined }
  }
  const ofLaws = unmet.flatMap((law) => sayUnmet(law, onFile))
  const says = [...finding.says, ...ofLaws, ...(problem ? [problem] : [])]
  const denial = { verdict: 'deny', reason: 'no-consent', says } as const
  return {
    ...{ ...finding, ...denial, unmetLaws: unmet.map(({ id }) => id) },
    ...{ opensAt: undefined, hasPermission: undefined, text: undefined },
  }
}

type OnFile = Extract<Said, { readonly code: 'consent-law-unmet' }>['params']

/** The record, of what may be on file, as the words of a law have it. */
type RecordOnFile = Pick<OnFile, 'onFile' | 'on' | 'evidence'>

function sayUnmet(
  { id: law, region, citation, quote, liftedBy, exemptionsNotJudged: notJudged }: RequiredConsent,
  onFile: RecordOnFile,
): readonly Said[] {
  const params = { law, region, citation, liftedBy, notJudged, ...onFile }
  return [
    { code: 'consent-law-unmet', params },
    { code: 'consent-law-quoted', params: { law }, quote },
  ]
}

interface FoundRecord {
  readonly lifting: readonly LiftingRecord[]
  readonly onFile: RecordOnFile
  /** What is wrong with the consent on file. */
  readonly problem?: Said
}

/** Finds what the record on file allows, if it is current and no opt-out has ended it. */
function findLiftingRecords(row: CallRow, call: CallWithConsent): FoundRecord {
  const { letter, ebrType, contactOn, consent } = row
  if (!relatedLetters.has(letter)) return { lifting: [], onFile: { onFile: 'none' } }
  const on = contactOn === undefined ? undefined : formatDay(contactOn)
  if (ebrType === 'S') return { lifting: ['sale'], onFile: { onFile: 'sale', on } }
  if (ebrType === 'I') return { lifting: ['inquiry'], onFile: { onFile: 'inquiry', on } }
  if (ebrType !== 'P') return { lifting: [], onFile: { onFile: 'other' } }
  const problem = findConsentProblem(row, call)
  if (problem) {
    return { lifting: [], onFile: { onFile: 'permission', on }, problem: problem.says }
  }
  const { evidence = 'none' } = consent ?? {}
  const isWritten = rankEvidence(evidence) >= rankEvidence('written')
  return {
    lifting: isWritten ? ['permission', 'written-consent'] : ['permission'],
    onFile: { onFile: 'permission', on, evidence },
  }
}
