/** Number: all that the account has about one number. The number is sent by POST, so that no address shows it. */
import { type NumberParts, numberEndpoint } from '../../../api/records/number.js'
import { AppError } from '../../../errors.js'
import {
  formatNumber,
  formatTimes,
  kindNames,
  relationshipNames,
  renderInstant,
  renderTable,
  renderTerms,
  renderVerdict,
} from '../../format.js'
import { Form, readSought } from '../../forms.js'
import { type Html, html, nothing } from '../../html.js'
import { renderFormToken } from '../../layout.js'
import type { Page, PageAnswer, PageRequest } from '../../pages.js'
import { renderReason } from '../../reasons.js'
import { renderEvidenceLink } from '../evidence.js'

type Known<Name extends keyof NumberParts> = Extract<NumberParts[Name], { known: true }>

function renderForm({ form, formToken, refusal }: PageRequest): Html {
  const fields = new Form(form, refusal)
  return html`<form method="post" action="/console/numbers" class="filters">${renderFormToken(formToken)}
${fields.field({ name: 'number', label: 'Number', type: 'tel', required: true })}
${fields.field({ name: 'projectId', label: 'Project', hint: 'Master Project if empty' })}
${fields.field({ name: 'reason', label: 'What for', hint: 'Kept with the record of who read it' })}
<p class="field"><button>Show</button></p></form>`
}

async function startNumber({ form, addresses }: PageRequest): Promise<PageAnswer> {
  const sought = readSought(form, ['number', 'projectId', 'reason'])
  return { goTo: `/console/numbers/${addresses.seal(JSON.stringify(sought))}` }
}

/** Where the page of a number is. */
export function numberPath({ addresses }: Pick<PageRequest, 'addresses'>, number: string): string {
  return `/console/numbers/${addresses.seal(JSON.stringify({ number }))}`
}

async function showNumber(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, addresses, parameters } = request
  const opened = addresses.open(parameters.number ?? '')
  if (opened === undefined)
    throw new AppError('not-found', 'There is no such page; enter the number again')
  const { number = '', projectId = '', reason = '' } = JSON.parse(opened)
  try {
    const answer = await api.call(caller, numberEndpoint, {
      parameters: { number },
      query: { ...(projectId && { projectId }), ...(reason && { reason }) },
    })
    const body = html`${
      answer.serviceCode === undefined ? nothing : html`<p>${answer.serviceCode}</p>`
    }${renderEvidenceLink(request, answer.number)}${answer.parts ? renderParts(answer.parts) : nothing}
<p class="note">As of ${renderInstant(answer.asOf)}. ${answer.source.note}</p>
<h2>Another number</h2>${renderForm(request)}`
    return { title: `Number ${formatNumber(answer.number)}`, body }
  } catch (refusal) {
    if (!(refusal instanceof AppError) || refusal.problems.length === 0) throw refusal
    const body = renderForm({ ...request, form: { number, projectId, reason }, refusal })
    return { title: 'Number', body, refusal }
  }
}

function renderParts(parts: NumberParts): Html {
  return html`${renderPart('What would be decided now', parts.now, renderNow)}
${renderPart('Opt-outs', parts.optOuts, renderOptOuts)}
${renderPart('Consents and relationships', parts.consents, renderConsents)}
${renderPart('Decisions', parts.decisions, renderDecisions)}
${renderPart('Attempts', parts.attempts, (part: Known<'attempts'>) => renderAttempts(part))}
${renderPart('Lists', parts.lists, renderLists)}
${renderPart('Place and line', parts.place, renderPlace)}
${renderPart('Reassigned', parts.reassigned, renderReassigned)}
${renderPart('Labels and complaints', parts.labels, renderLabels)}
${renderPart('Complaints to the FTC', parts.complaints, renderComplaints)}
${renderPart('Who changed what', parts.changes, renderChanges)}`
}

function renderPart<Part extends { readonly known: true }>(
  title: string,
  part: Part | { readonly known: false; readonly because: string },
  render: (part: Part) => Html,
): Html {
  const body = part.known ? render(part) : html`<p>${renderVerdict('unknown')}: ${part.because}</p>`
  return html`<section><h2>${title}</h2>${body}</section>`
}

const none = (text: string) => html`<p class="empty">${text}</p>`
const older = (more: boolean) => (more ? html`<p class="note">There are older ones.</p>` : nothing)
const maybeInstant = (text: string | null | undefined) => (text ? renderInstant(text) : nothing)

function renderNow({ decisions, notAllowedToAsk }: Known<'now'>): Html {
  const rows = decisions.map(({ callKind, decision, reason, message, nextAllowedAt }) => [
    kindNames[callKind] ?? callKind,
    renderVerdict(decision),
    renderReason(reason, formatTimes(message)),
    maybeInstant(nextAllowedAt),
  ])
  const table = renderTable(
    'A preview: it is not recorded, and it permits no call',
    ['Kind', 'Verdict', 'Reason', 'Allowed from'],
    rows,
  )
  const rest = notAllowedToAsk.map((kind) => kindNames[kind] ?? kind).join(', ')
  return html`${rows.length === 0 ? nothing : table}${rest === '' ? nothing : html`<p class="note">Your key may not ask about: ${rest}.</p>`}`
}

function renderOptOuts({ lists, statements, moreLists, moreStatements }: Known<'optOuts'>): Html {
  if (lists.length === 0 && statements.length === 0) return none('Nobody has opted out.')
  return html`${
    lists.length === 0
      ? nothing
      : renderTable(
          'Internal do-not-call lists',
          ['List', 'State', 'Opted out', 'By', 'Removed'],
          lists.map(({ list, onList, optedOutAt, optedOutBy, removedAt }) => [
            list,
            onList ? 'on the list' : 'removed',
            renderInstant(optedOutAt),
            optedOutBy,
            maybeInstant(removedAt),
          ]),
        )
  }${older(moreLists)}${
    statements.length === 0
      ? nothing
      : renderTable(
          'What the person said',
          ['Received', 'Words', 'Channel', 'Scope', 'By'],
          statements.map(({ receivedAt, said, channel, scope, by }) => [
            renderInstant(receivedAt),
            said,
            channel,
            scope,
            by,
          ]),
        )
  }${older(moreStatements)}`
}

function renderConsents({
  current,
  consents,
  records,
  moreConsents,
  moreRecords,
}: Known<'consents'>): Html {
  const inForce = current
    ? html`<p>${current.isEffective ? 'In force' : 'On file, but not in force'}: ${relationshipNames[current.type] ?? current.type}${current.isRevoked ? ', revoked by a newer opt-out' : ''}${current.expiresOn ? html`, until ${current.expiresOn}` : nothing}.</p>`
    : none('No consent and no business relationship is in force.')
  return html`${inForce}${
    consents.length === 0
      ? nothing
      : renderTable(
          'Consents',
          ['Given', 'Seller', 'By', 'Shown by', 'Wording', 'Ends', 'Recorded'],
          consents.map(
            ({
              givenAt,
              seller,
              method,
              channel,
              evidence,
              wording,
              endsOn,
              recordedAt,
              recordedBy,
            }) => [
              renderInstant(givenAt),
              seller,
              `${method}, ${channel}`,
              evidence,
              wording,
              endsOn,
              html`${renderInstant(recordedAt)} by ${recordedBy}`,
            ],
          ),
        )
  }${older(moreConsents)}${
    records.length === 0
      ? nothing
      : renderTable(
          'Permissions and relationships',
          ['Last contact', 'Type', 'Project', 'Recorded', 'Replaced'],
          records.map(({ dateOfLastContact, type, projectCode, recordedAt, replacedAt }) => [
            dateOfLastContact,
            relationshipNames[type] ?? type,
            projectCode,
            renderInstant(recordedAt),
            maybeInstant(replacedAt),
          ]),
        )
  }${older(moreRecords)}`
}

function renderDecisions({ decisions, removedBefore }: Known<'decisions'>): Html {
  const removed = removedBefore
    ? html`<p class="note">Decisions from before ${renderInstant(removedBefore)} were removed.</p>`
    : nothing
  if (decisions.length === 0)
    return html`${none('No call to this number was asked for.')}${removed}`
  const rows = decisions.map(({ id, decidedAt, decision, reason, callKind, projectId, via }) => [
    html`<a href="/console/decisions/${id}">${renderInstant(decidedAt)}</a>`,
    renderVerdict(decision),
    renderReason(reason),
    kindNames[callKind] ?? callKind,
    projectId,
    via,
  ])
  const head = ['When', 'Verdict', 'Reason', 'Kind', 'Project', 'By way of']
  return html`${renderTable('Decisions, newest first', head, rows)}${removed}`
}

export function renderAttempts({
  last24Hours,
  last7Days,
  last31Days,
  latest,
  more,
}: Omit<Known<'attempts'>, 'known'>): Html {
  const counts = html`<p>${last24Hours} in 24 hours, ${last7Days} in 7 days, ${last31Days} in 31 days.</p>`
  if (latest.length === 0) return counts
  const rows = latest.map(({ at, decisionId, ref, purpose, reach }) => [
    renderInstant(at),
    decisionId ? html`<a href="/console/decisions/${decisionId}">${decisionId}</a>` : ref,
    purpose,
    reach ?? 'not known yet; limits count it',
  ])
  return html`${counts}${renderTable('The latest attempts', ['When', 'Decision', 'For', 'Reached'], rows)}${older(more)}`
}

const results = {
  listed: 'on it',
  clear: 'not on it',
  'not-known': 'not known',
  'no-list': 'no such list, and none is needed',
} as const

function renderLists({ lists }: Known<'lists'>): Html {
  const rows = lists.map(({ name, result, version, asOf, listedOn, because }) => [
    name,
    html`${results[result]}${because ? `: ${because}` : nothing}`,
    listedOn,
    version,
    maybeInstant(asOf),
  ])
  return renderTable(
    'What the imported lists say',
    ['List', 'Result', 'Listed on', 'Version', 'As of'],
    rows,
  )
}

function renderPlace(place: Known<'place'>): Html {
  const { country, places, foundBy, detail, locality, lineClass, assignedTo, ported } = place
  return html`<dl>${renderTerms([
    ['Country', country ?? detail],
    ['Where it may be', places.map(({ region, zone }) => `${region} (${zone})`).join(', ')],
    ['Found by', foundBy?.replaceAll('-', ' ')],
    ['Locality', locality],
    ['Kind of line', lineClass],
    ['Assigned to', assignedTo && `${assignedTo.company} (${assignedTo.ocn})`],
    ['Ported', ported && `to ${ported.to}${ported.on ? ` on ${ported.on}` : ''}`],
  ])}</dl>`
}

function renderReassigned({
  since,
  result,
  detail,
  source,
  askedAt,
  releasedOn,
}: Known<'reassigned'>): Html {
  return html`<dl>${renderTerms([
    ['Asked about the time since', since],
    ['Reassigned', html`${result}${detail ? `: ${detail}` : nothing}`],
    ['Source', source],
    ['Asked', maybeInstant(askedAt)],
    ['Released on', releasedOn],
  ])}</dl>`
}

function renderLabels({ monitored }: Known<'labels'>): Html {
  if (!monitored) return none('The account does not monitor this number.')
  const { current, highest, historical, labels } = monitored
  return html`<dl>${renderTerms([
    ['Now', current],
    ['Highest in 15 days', highest],
    ['Before', historical],
    ...Object.entries(labels),
  ])}</dl>`
}

function renderComplaints({ complaints, more }: Known<'complaints'>): Html {
  if (complaints.length === 0) return none('None are known.')
  const rows = complaints.map(({ createdDate, subject, recordedMessageOrRobocall }) => [
    createdDate,
    subject,
    recordedMessageOrRobocall,
  ])
  return html`${renderTable('Complaints, newest first', ['Created', 'Subject', 'Robocall'], rows)}${older(more)}`
}

function renderChanges({ changes, more }: Known<'changes'>): Html {
  if (changes.length === 0) return none('No change was recorded.')
  const rows = changes.map(({ at, who, door, action, reason }) => [
    renderInstant(at),
    who,
    action.replaceAll('.', ' '),
    door,
    reason,
  ])
  return html`${renderTable('Changes, newest first', ['When', 'Who', 'What', 'How', 'Why'], rows)}${older(more)}`
}

export const numberPages: readonly Page[] = [
  {
    path: '/numbers',
    entry: { name: 'Number', needs: numberEndpoint },
    get: async (request) => ({ title: 'Number', body: renderForm(request) }),
    post: startNumber,
  },
  { path: '/numbers/:number', get: showNumber },
]
