/** Why: one decision as sentences. */
import type { DecisionRecordBody } from '../../api/gate/decision-body.js'
import { readDecisionEndpoint } from '../../api/gate/decisions.js'
import { decisionProofEndpoint } from '../../api/gate/evidence.js'
import { previewEndpoint } from '../../api/gate/preview.js'
import { type CheckName, checks } from '../../domain/checks.js'
import { parseInstant } from '../../domain/time/dates.js'
import {
  formatDuration,
  formatNumber,
  formatTimes,
  kindNames,
  renderInstant,
  renderTerms,
  renderVerdict,
} from '../format.js'
import { Form } from '../forms.js'
import { type Html, html, nothing } from '../html.js'
import { renderFormToken } from '../layout.js'
import type { Page, PageAnswer, PageRequest } from '../pages.js'
import { findLaw, findRemedy, renderReason } from '../reasons.js'
import { renderEvidenceLink } from './evidence.js'
import { numberPath } from './records/number.js'

type Finding = DecisionRecordBody['findings'][number]

const titleOfCheck = (check: string): string =>
  check === 'mandate' ? 'What the key may ask for' : (checks[check as CheckName]?.title ?? check)

async function showWhy(request: PageRequest): Promise<PageAnswer> {
  const decision = await request.api.call(request.caller, readDecisionEndpoint, {
    parameters: { id: request.parameters.id ?? '' },
  })
  return {
    title: titleOf(decision),
    body: renderWhy(request, decision),
  }
}

const titleOf = ({ decision }: DecisionRecordBody) =>
  `Why this call was ${decision === 'allow' ? 'allowed' : 'blocked'}`

function renderWhy(
  request: PageRequest,
  decision: DecisionRecordBody,
  asked: Html = nothing,
): Html {
  const { findings, policy = [] } = decision
  return html`${asked}
<section class="summary ${decision.decision}">
<p class="big">${renderVerdict(decision.decision)}</p>
<p>${describeCall(decision, request)}</p>
<p>${decision.decision === 'allow' ? 'It was allowed' : 'It was blocked'} because ${sentenceEnd(decision.message)}</p>
${renderLaw(decision)}${renderChange(decision)}
</section>
<section aria-labelledby="facts"><h2 id="facts">What was checked</h2>
${
  findings.length === 0
    ? html`<p>Nothing was checked: ${sentenceEnd(decision.message)}</p>`
    : html`<ol class="findings">${findings.map((finding) => renderFinding(finding, decision))}</ol>`
}</section>
${
  policy.length === 0
    ? nothing
    : html`<section aria-labelledby="policy"><h2 id="policy">What the operator's policy changed</h2><ul>${policy.map(
        ({ check, effect, because, until }) =>
          html`<li>${titleOfCheck(check)}: ${effectTexts[effect]} Stated reason: ${because}.${until ? html` Until ${renderInstant(until)}.` : nothing}</li>`,
      )}</ul></section>`
}
${renderMandate(decision)}
${renderOutcome(decision)}
${renderDisclosures(decision)}
<section aria-labelledby="record"><h2 id="record">The record</h2>
<dl>${renderTerms([
    ['Decision', decision.id],
    ['Decided', renderInstant(decision.decidedAt)],
    ['Rules applied as of', renderInstant(decision.judgedAt)],
    ['Valid until', renderInstant(decision.validUntil)],
    ['Asked by way of', decision.via],
    ['Key', decision.keyId],
    ['As dialed', decision.erased ? 'erased' : decision.dialed],
    ['Trunk', decision.trunk],
    ['Campaign', decision.campaignId],
    ['Postal code', decision.postalCode],
    ['Caller ID', decision.callerId],
    ['Subject', decision.subject],
    ['Person', decision.personId],
    ['Reference', decision.reference],
  ])}</dl></section>
${renderPlace(request, decision)}
${renderAskAgain(request, decision)}`
}

function renderPlace(request: PageRequest, { id, erased, number }: DecisionRecordBody): Html {
  const { api, caller } = request
  if (erased || !api.permits(caller, decisionProofEndpoint)) return nothing
  return html`<section aria-labelledby="place"><h2 id="place">Proof</h2>
<p><a href="/console/decisions/${id}/proof">Download the proof of this record</a>. Anybody who has it, the public key of the journal and the key of a witness can check that the record is in the journal: run
<code>callgate evidence check FILE --key KEY --witness KEY</code>. The public key is at <code>GET /v1/journal</code>.</p>${renderEvidenceLink(request, number)}</section>`
}

async function sendProof({ api, caller, parameters }: PageRequest): Promise<PageAnswer> {
  const file = await api.send(caller, decisionProofEndpoint, { parameters })
  const headers = { 'Content-Disposition': 'attachment; filename="decision.tlog-proof"' }
  return { file: { ...file, headers: { ...file.headers, ...headers } } }
}

function describeCall(decision: DecisionRecordBody, request: PageRequest): Html {
  const { callKind, purpose, number, decidedAt, projectId, erased } = decision
  const isNumber = /^\d{10}$/.test(number)
  const shown = isNumber
    ? html`<a href="${numberPath(request, number)}">${formatNumber(number)}</a>`
    : number || 'what is not a telephone number'
  return html`${article(kindNames[callKind] ?? callKind)} to ${erased ? 'a number that was erased' : shown} on ${renderInstant(decidedAt)}, for ${(purpose ?? 'telemarketing').replaceAll('-', ' ')}, in ${projectId === undefined ? 'the Master Project' : `project ${projectId}`}.`
}

const article = (noun: string) => `${/^[aeiou]/i.test(noun) ? 'An' : 'A'} ${noun}`

function renderLaw(decision: DecisionRecordBody): Html {
  const law = decision.decision === 'allow' ? undefined : findLaw(decision)
  return law === undefined ? nothing : html`<p>The law: ${law}</p>`
}

/** What would have to change for the call to be allowed. */
function renderChange({
  decision,
  reason,
  nextAllowedAt,
  nextAllowedAtLatest,
  findings,
  policy = [],
}: DecisionRecordBody): Html {
  if (decision === 'allow') return nothing
  const overridden = new Set(policy.map(({ check }) => check))
  const inTheWay = findings.filter(
    ({ verdict, check }) => verdict !== 'pass' && !overridden.has(check),
  )
  return html`<p>${
    nextAllowedAt
      ? html`Only the time is wrong: the call may be placed ${nextAllowedAtLatest ? 'at the latest from' : 'from'} ${renderInstant(nextAllowedAt)}.`
      : inTheWay.length === 0
        ? 'It was refused before any check was made.'
        : html`Not passed: ${inTheWay.map(({ check }, index) => html`${index > 0 ? '; ' : ''}<a href="#finding-${check}">${titleOfCheck(check).toLowerCase()}</a>`)}. ${inTheWay.length === 1 ? 'The call is allowed only if this check passes.' : 'The call is allowed only if all of these checks pass.'}`
  } ${nextAllowedAt === undefined ? findRemedy(reason) : nothing}</p>`
}

const effectTexts: Readonly<Record<string, string>> = {
  'unknown-allowed': 'no source answered, and policy allows the call all the same.',
  'stale-allowed': 'only an answer older than usual was there, and policy allows its use.',
  shadowed: 'it did not pass, but policy only records this check and does not enforce it.',
}

function renderFinding(finding: Finding, decision: DecisionRecordBody): Html {
  const {
    check,
    verdict,
    reason,
    detail,
    source,
    ageMs,
    lists = [],
    opensAt,
    stale,
    parts = [],
  } = finding
  const at = parseInstant(decision.decidedAt) ?? 0
  return html`<li id="finding-${check}"><h3>${titleOfCheck(check)} ${renderVerdict(verdict)}</h3>
<p>${sentence(detail || reason)}</p>
<p class="note">${verdict === 'pass' ? nothing : html`${renderReason(reason)}. `}Source: ${sourceNames[source] ?? source}, ${ageMs === 0 ? 'looked up for this call' : `looked up ${formatDuration(ageMs)} before`}${stale ? ', older than usual because its source did not answer' : ''}.${opensAt ? html` Opens at ${renderInstant(opensAt)}.` : nothing}</p>
${
  lists.length === 0
    ? nothing
    : html`<ul>${lists.map(
        ({ name, version, asOf }) =>
          html`<li>List ${name}, version <code>${version}</code>, as of ${renderInstant(asOf)} (${formatDuration(at - (parseInstant(asOf) ?? at))} old)</li>`,
      )}</ul>`
}
${parts.length === 0 ? nothing : html`<ul>${parts.map((part) => html`<li>${part.source}: ${renderVerdict(part.verdict)} ${sentence(part.detail)}</li>`)}</ul>`}
${renderFacts(finding.facts)}</li>`
}

const sourceNames: Readonly<Record<string, string>> = {
  embedded: 'lists and records of this server',
}

const sentence = (text: string) => sentenceEnd(text.charAt(0).toUpperCase() + text.slice(1))

const sentenceEnd = (text: string) => formatTimes(/[.!?]$/.test(text) ? text : `${text}.`)

function renderFacts(facts: Finding['facts']): Html {
  if (!facts || Object.keys(facts).length === 0) return nothing
  return html`<details><summary>Facts that were used</summary><pre>${JSON.stringify(facts, undefined, 2)}</pre></details>`
}

function renderMandate({ mandate, keyId }: DecisionRecordBody): Html {
  if (!mandate) return nothing
  const { version, remaining, approval } = mandate
  return html`<section aria-labelledby="mandate"><h2 id="mandate">The key's mandate</h2><dl>${renderTerms(
    [
      ['Key', keyId],
      ['Version of its limits', String(version)],
      ['Calls left this hour', remaining?.hour?.toString()],
      ['Calls left in 24 hours', remaining?.day?.toString()],
      ['Approval', approval?.id],
      ['Approved by', approval?.approvedBy],
    ],
  )}</dl></section>`
}

function renderOutcome({ outcome, decision }: DecisionRecordBody): Html {
  if (!outcome) {
    if (decision === 'block') return nothing
    return html`<section aria-labelledby="outcome"><h2 id="outcome">Outcome of the call</h2><p>The outcome has not been reported.</p></section>`
  }
  const { said, ...known } = outcome
  const rows = Object.entries(known).map(([name, value]): [string, Html | string] => [
    words(name),
    /At$/.test(name) ? renderInstant(String(value)) : String(value),
  ])
  return html`<section aria-labelledby="outcome"><h2 id="outcome">Outcome of the call</h2><dl>${renderTerms(rows)}</dl>
${said?.length ? html`<ul>${said.map(({ key, at }) => html`<li>${key} was said at ${renderInstant(at)}</li>`)}</ul>` : nothing}</section>`
}

const words = (name: string) =>
  name.charAt(0).toUpperCase() +
  name.slice(1).replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

function renderDisclosures({ disclosures = [] }: DecisionRecordBody): Html {
  if (disclosures.length === 0) return nothing
  return html`<section aria-labelledby="disclosures"><h2 id="disclosures">What must be said</h2><ol>${disclosures.map(
    ({ key, rules }) => html`<li>${key} (${rules.join('; ')})</li>`,
  )}</ol></section>`
}

function renderAskAgain(
  { formToken, api, caller, form, refusal }: PageRequest,
  { id, erased }: DecisionRecordBody,
): Html {
  if (erased || !api.permits(caller, previewEndpoint)) return nothing
  const fields = new Form(form, refusal)
  return html`<section aria-labelledby="again"><h2 id="again">Ask again</h2>
<p>What would be decided now, or at another time. This is a preview: it is not recorded, and it permits no call.</p>
<form method="post" action="/console/decisions/${id}" class="filters">${renderFormToken(formToken)}
${fields.field({ name: 'at', label: 'As of (UTC)', type: 'datetime-local', hint: 'Now if empty' })}
<p class="field"><button>Ask again</button></p></form></section>`
}

async function askAgain(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, form } = request
  const decision = await api.call(caller, readDecisionEndpoint, {
    parameters: { id: request.parameters.id ?? '' },
  })
  const {
    dialed,
    callKind,
    purpose,
    projectId,
    campaignId,
    postalCode,
    callerId,
    subject,
    personId,
  } = decision
  const at = form.at ? `${form.at}:00Z` : undefined
  const call = { callKind, purpose, projectId, campaignId, callerId, subject, personId, at }
  const { rows } = await api.call(caller, previewEndpoint, {
    body: { numbers: [{ number: dialed, postalCode }], ...call },
  })
  const [row] = rows
  if (!row) throw new Error('the preview has no row')
  const asked = html`<section class="summary ${row.decision}" role="status"><h2>Asked again, ${at ? html`as of ${renderInstant(at)}` : 'as of now'}</h2>
<p>${renderVerdict(row.decision)} ${sentence(row.message)}</p>
${row.callingHours ? html`<p class="note">${sentence(row.callingHours)}</p>` : nothing}
${row.nextAllowedAt ? html`<p>It may be placed from ${renderInstant(row.nextAllowedAt)}.</p>` : nothing}</section>`
  return {
    title: titleOf(decision),
    body: renderWhy(request, decision, asked),
  }
}

export const whyPages: readonly Page[] = [
  { path: '/decisions/:id', get: showWhy, post: askAgain },
  { path: '/decisions/:id/proof', get: sendProof },
]
