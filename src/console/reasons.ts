/** The reason codes of decisions in words: what each is called, what the law says, and what to do about a block. */
import type { DecisionRecordBody } from '../api/gate/decision-body.js'
import { type Reason, type ReasonCode, reasons } from '../domain/checks.js'
import { type Html, html, nothing } from './html.js'

const find = (code: string): Reason | undefined => reasons[code as ReasonCode]

export const nameReason = (code: string): string => find(code)?.name ?? code

/** The code, which the API, the metrics and the logs have, stands behind the words. */
export function renderReason(code: string, message?: string): Html {
  const name = nameReason(code)
  const shown = name === code ? nothing : html` <code>${code}</code>`
  return html`<span class="reason"><b>${name}</b>${shown}${message === undefined ? nothing : html`<br>${message}`}</span>`
}

/** What to do about a block, where it does not follow from the reason itself. */
export const findRemedy = (code: string): string | undefined => find(code)?.remedy

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
