/** Words about the consent behind a call, and about state consent laws. */

const recordNames = {
  'written-consent': 'consent with its wording in writing (POST /v1/consents)',
  permission: 'a permission record',
  sale: 'a sale',
  inquiry: 'an inquiry',
} as const

/** What is on file for a state consent law. */
type OnFile = {
  /** `other` satisfies no law. */
  readonly onFile: 'none' | 'sale' | 'inquiry' | 'permission' | 'other'
  /** The day of the record, if its source says it. */
  readonly on?: string | undefined
  /** Of a permission without a problem. */
  readonly evidence?: string | undefined
}

function describeOnFile({ onFile, on, evidence }: OnFile): string {
  const day = on === undefined ? '' : ` of ${on}`
  switch (onFile) {
    case 'none':
      return 'no current record'
    case 'other':
      return 'nothing that satisfies it'
    case 'permission':
      return `a permission${day}${evidence === undefined ? '' : ` with evidence ${evidence}`}`
    default:
      return `${recordNames[onFile]}${day}`
  }
}

type Law = {
  readonly law: string
  readonly region: string
  readonly citation: string
  readonly liftedBy: readonly (keyof typeof recordNames)[]
  /** Exemptions that callgate cannot judge. */
  readonly notJudged: readonly string[]
}

export const consentWords = {
  'consent-kinds': 'the consent permits only {kinds}',
  'consent-purposes': 'the consent is only for {purposes}',
  /** The words of the law follow as a quotation. */
  'consent-law-quoted': 'the words of {law}',
  'consent-evidence':
    'evidence of the consent: {evidence}; gate.aiConsentEvidence asks for {needed}',
  'consent-law-satisfied': ({
    law,
    citation,
    ...record
  }: OnFile & { readonly law: string; readonly citation: string }) =>
    `${law} (${citation}) satisfied by ${describeOnFile(record)}`,
  'consent-law-unmet': ({
    law,
    region,
    citation,
    liftedBy,
    notJudged,
    ...record
  }: OnFile & Law) => {
    const needed =
      liftedBy.length === 0
        ? 'no record allows the call'
        : `needs ${liftedBy.map((one) => recordNames[one]).join(' or ')}`
    const exempt = notJudged.join(', ')
    const unknown = exempt === '' ? '' : `; exemptions that callgate cannot judge: ${exempt}`
    return `${region} law ${law} (${citation}) ${needed}; on file: ${describeOnFile(record)}${unknown}`
  },
} as const
