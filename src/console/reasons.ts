/** The reason codes of decisions in words: what each is called, what the law says, and what to do about a block. */
import type { DecisionRecordBody } from '../api/gate/decision-body.js'
import type { ReasonCode } from '../domain/decision.js'
import { type Html, html, nothing } from './html.js'

export const reasonNames: Readonly<Record<ReasonCode, string>> = {
  'not-recorded': 'Could not be recorded',
  'clock-behind': 'Clock is behind',
  'clock-ahead': 'Clock is ahead',
  'not-current': 'Server is not up to date',
  expired: 'Answer came too late',
  'ai-paused': 'AI calls are paused',
  'key-paused': 'Key is paused',
  'key-kind': 'Key: kind of call not allowed',
  'key-project': 'Key: project not allowed',
  'key-caller-id': 'Key: caller ID not allowed',
  'key-region': 'Key: state or province not allowed',
  'key-concurrent': 'Key: too many calls at a time',
  'key-attempts': 'Key: too many calls in this time',
  'key-cool-down': 'Key: same number too soon',
  'approval-needed': 'Approval needed',
  'permit-too-short': 'Too little time left to call',
  'invalid-request': 'Invalid request',
  'invalid-number': 'Not a telephone number',
  'foreign-number': 'Number of another country',
  extension: 'Internal extension',
  litigator: 'Known litigator',
  'consent-revoked': 'Consent revoked',
  'internal-dnc': 'Opted out',
  'national-dnc': 'On a national do-not-call list',
  'state-dnc': 'On a state do-not-call list',
  'wireless-state': 'State bans sales calls to wireless',
  'list-not-covering': 'No list covers the area code',
  'list-stale': 'List is too old',
  'list-unreadable': 'List cannot be read',
  'toll-free': 'Toll-free number',
  'unknown-prefix': 'Not in service',
  'no-consent': 'No consent',
  'consent-unproven': 'Consent is not proven',
  reassigned: 'Number was reassigned',
  disconnected: 'Line is out of service',
  'not-permitted': 'Scrub result forbids the call',
  'unknown-project': 'No such project or campaign',
  'purpose-not-allowed': 'Purpose is not allowed',
  'caller-id-invalid': 'Caller ID: not a number to show',
  'caller-id-do-not-originate': 'Caller ID: nobody may show it',
  'caller-id-not-owned': 'Caller ID: not your own number',
  'caller-id-expired': 'Caller ID: not in force now',
  'caller-id-missing': 'Caller ID: missing',
  'caller-id-neighbor': 'Caller ID: of a place you are not at',
  'restricted-day': 'No calls on this day',
  'outside-calling-hours': 'Outside calling hours',
  'too-many-attempts': 'Called too often',
  'abandonment-rate': 'Too many abandoned calls',
  'unknown-subject': 'Unknown subject',
  'list-missing': 'A list is missing',
  'check-unanswered': 'A check had no answer',
  overloaded: 'Server overloaded',
  'policy-allows': 'Allowed unchecked by policy',
  'service-code': 'Emergency or service code',
  permitted: 'All checks passed',
}

export const nameReason = (code: string): string => reasonNames[code as ReasonCode] ?? code

/** The code, which the API, the metrics and the logs have, stands behind the words. */
export function renderReason(code: string, message?: string): Html {
  const name = nameReason(code)
  const shown = name === code ? nothing : html` <code>${code}</code>`
  return html`<span class="reason"><b>${name}</b>${shown}${message === undefined ? nothing : html`<br>${message}`}</span>`
}

/** What to do about a block, where it does not follow from the reason itself. */
const remedies: Partial<Readonly<Record<ReasonCode, string>>> = {
  'approval-needed': 'Page Approvals shows what became of the request for this call.',
  litigator: 'Do not call this number: a consent does not change that.',
  'consent-revoked':
    'Do not call, unless the person gives a new consent after the opt-out; store it on page Consents.',
  'internal-dnc':
    'Do not call, unless the person asks for calls again; then end the opt-out on page Opt-outs.',
  'national-dnc':
    'Do not call, unless the person has given consent; then store it on page Consents.',
  'state-dnc': 'Do not call, unless the person has given consent; then store it on page Consents.',
  'no-consent':
    'If the person has consented to such calls, store the consent with its wording on page Consents.',
  'consent-unproven': 'Store the consent with what shows it on page Consents.',
  'list-not-covering': 'Import a list for this area code.',
  'list-stale': 'Import a newer list; page Lists shows the age of each.',
  'list-unreadable': 'See the problem on page Lists; import the list again if its file is damaged.',
  'list-missing': 'Import the list.',
  'check-unanswered': 'Try again later; the source did not answer.',
  'not-current': 'Try again in a moment.',
  overloaded: 'Try again in a moment.',
  'too-many-attempts': 'Page Attempts shows the limits and when they have room again.',
}

export const findRemedy = (code: string): string | undefined => remedies[code as ReasonCode]

/**
 * The rule behind a block, where the reason alone does not name it. `undefined` if callgate asks for more than a law, or if it is not
 * known in which country the person is.
 */
export function findLaw({
  reason,
  callKind,
  purpose = 'telemarketing',
  findings,
}: DecisionRecordBody): string | undefined {
  const places = findings.flatMap(({ facts = {} }) => [facts, Object(facts.postal)])
  // The record leaves out the United States.
  const countries = places.flatMap(({ places: found, country = 'US' }) => (found ? [country] : []))
  const [country, ...others] = new Set<'US' | 'CA'>(countries)
  if (country === undefined || others.length > 0) return undefined
  const isSale = purpose === 'telemarketing'
  if (reason === 'no-consent' || reason === 'consent-unproven') {
    // The message already names the law of a region, which may require more.
    const sources = findings.flatMap((finding) => [finding, ...(finding.parts ?? [])])
    if (sources.some(({ unmetLaws }) => unmetLaws)) return undefined
    return consentLaws[country][callKind]?.[isSale ? 'sale' : 'other']
  }
  // That of a machine's call is in the rule on consent, whatever the call is for.
  if (reason === 'consent-revoked' && country === 'US' && callKind !== 'manual') return revokedLaw
  return isSale ? saleLaws[country][reason as ReasonCode] : undefined
}

type ConsentLaw = Partial<
  Readonly<Record<string, { readonly sale?: string; readonly other?: string }>>
>

const consentLaws: Readonly<Record<'US' | 'CA', ConsentLaw>> = {
  US: {
    ai: {
      sale: '47 CFR 64.1200(a)(2) and (a)(3) and 16 CFR 310.4(b)(1)(v): a sales call by an artificial voice needs prior express written consent. An AI voice is an artificial voice (FCC 24-17).',
      other:
        '47 CFR 64.1200(a)(1)(iii): a call by an artificial voice to a wireless number needs prior express consent; calls to homes are limited by (a)(3). An AI voice is an artificial voice (FCC 24-17).',
    },
    autodialed: {
      sale: '47 CFR 64.1200(a)(2): an autodialed sales call to a wireless number needs prior express written consent.',
      other:
        '47 CFR 64.1200(a)(1)(iii): an autodialed call to a wireless number needs prior express consent.',
    },
  },
  CA: {
    ai: {
      sale: 'CRTC Unsolicited Telecommunications Rules, Part IV: a sales call by a synthesized voice needs express consent.',
    },
  },
}

const revokedLaw =
  '47 CFR 64.1200(a)(10): a person who has revoked consent may not be called by an autodialer or an artificial voice.'

const saleLaws: Readonly<Record<'US' | 'CA', Partial<Readonly<Record<ReasonCode, string>>>>> = {
  US: {
    'consent-revoked':
      '47 CFR 64.1200(d): a person who has asked not to be called may not be called.',
    'internal-dnc':
      '47 CFR 64.1200(d) and 16 CFR 310.4(b)(1)(iii)(A): a person who has asked not to be called may not be called.',
    'national-dnc':
      '47 CFR 64.1200(c)(2) and 16 CFR 310.4(b)(1)(iii)(B): no sales calls to numbers on the national registry without consent or a business relationship.',
  },
  CA: {
    'consent-revoked':
      'CRTC Unsolicited Telecommunications Rules, Part III: a person who has asked not to be called may not be called.',
    'internal-dnc':
      'CRTC Unsolicited Telecommunications Rules, Part III: a person who has asked not to be called may not be called.',
    'national-dnc':
      'CRTC Unsolicited Telecommunications Rules, Part II: no sales calls to numbers on the National Do Not Call List without consent or an exemption.',
  },
}
