/** Applies state consent laws beyond the federal rules: the call is blocked unless a record on file allows it. */
import { rankEvidence, type ScrubVerdict } from '../../domain/compliance.js'
import type { LiftingRecord, RequiredConsent } from '../../domain/consent/consent-records.js'
import { type Finding, pickHigherRankedReason } from '../../domain/decision.js'
import { formatDay } from '../../domain/time/dates.js'
import type { AnsweredCall } from './check.js'
import { findConsentProblem } from './consent-evidence.js'
import { relatedLetters } from './permission.js'

/**
 * Adds these laws to the finding of the permission check on this row. A block for a reason of a higher rank stays, and so
 * does a finding without an answer.
 */
export function requireConsent(
  finding: Finding,
  row: ScrubVerdict,
  call: Pick<AnsweredCall, 'callKind' | 'purpose' | 'aiConsentEvidence'>,
  laws: readonly RequiredConsent[],
): Finding {
  const line = row.lineClass === 'wireline' ? 'landline' : 'wireless'
  const asking = laws.filter(({ lines }) => lines?.includes(line) !== false)
  if (asking.length === 0 || finding.verdict === 'unknown') return finding
  if (pickHigherRankedReason('no-consent', finding.reason) !== 'no-consent') return finding
  const { lifting, onFile } = findLiftingRecords(row, call)
  const lifted = (law: RequiredConsent) => law.liftedBy.some((record) => lifting.includes(record))
  const unmet = asking.filter((law) => !lifted(law))
  if (unmet.length === 0) {
    const texts = asking.map(({ id, citation }) => `${id} (${citation}) satisfied by ${onFile}`)
    const detail = [finding.detail, ...texts].join('; ')
    return { ...finding, detail, restsOnRecord: true, text: undefined }
  }
  const detail = [finding.detail, ...unmet.map((law) => describeUnmet(law, onFile))].join('; ')
  const denial = { verdict: 'deny', reason: 'no-consent', detail } as const
  return {
    ...{ ...finding, ...denial, unmetLaws: unmet.map(({ id }) => id) },
    ...{ opensAt: undefined, hasPermission: undefined, text: undefined },
  }
}

const recordNames: Readonly<Record<LiftingRecord, string>> = {
  'written-consent': 'consent with its wording in writing (POST /v1/consents)',
  permission: 'a permission record',
  sale: 'a sale',
  inquiry: 'an inquiry',
}

function describeUnmet(
  { id, region, citation, quote, liftedBy, exemptionsNotJudged }: RequiredConsent,
  onFile: string,
): string {
  const needed =
    liftedBy.length === 0
      ? 'no record allows the call'
      : `needs ${liftedBy.map((record) => recordNames[record]).join(' or ')}`
  const exempt = exemptionsNotJudged.join(', ')
  const unknown = exempt === '' ? '' : `; exemptions that callgate cannot judge: ${exempt}`
  return `${region} law ${id} (${citation}: "${quote}") ${needed}; on file: ${onFile}${unknown}`
}

/** Finds what the record on file allows, if it is current and no opt-out has ended it. */
function findLiftingRecords(
  row: ScrubVerdict,
  call: Pick<AnsweredCall, 'callKind' | 'purpose' | 'aiConsentEvidence'>,
): { readonly lifting: readonly LiftingRecord[]; readonly onFile: string } {
  const { letter, ebrType, contactOn, consent } = row
  if (!relatedLetters.has(letter)) return { lifting: [], onFile: 'no current record' }
  const day = contactOn === undefined ? '' : ` of ${formatDay(contactOn)}`
  if (ebrType === 'S') return { lifting: ['sale'], onFile: `a sale${day}` }
  if (ebrType === 'I') return { lifting: ['inquiry'], onFile: `an inquiry${day}` }
  if (ebrType !== 'P') return { lifting: [], onFile: 'nothing that satisfies it' }
  const problem = findConsentProblem(row, call)
  if (problem) return { lifting: [], onFile: `a permission${day}, but ${problem.text}` }
  const { evidence = 'none' } = consent ?? {}
  const isWritten = rankEvidence(evidence) >= rankEvidence('written')
  return {
    lifting: isWritten ? ['permission', 'written-consent'] : ['permission'],
    onFile: `a permission${day} with evidence ${evidence}`,
  }
}
