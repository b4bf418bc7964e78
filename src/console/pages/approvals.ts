/** Approvals: calls of keys that wait for a person, each exactly as it will be placed. */
import {
  type ApprovalBody,
  decideApprovalEndpoint,
  listApprovalsEndpoint,
} from '../../api/gate/approvals.js'
import type { ApprovalState } from '../../domain/mandate.js'
import { parseInstant } from '../../domain/time/dates.js'
import { AppError } from '../../errors.js'
import {
  formatDuration,
  formatNumber,
  kindNames,
  renderInstant,
  renderTable,
  renderTerms,
} from '../format.js'
import { Form } from '../forms.js'
import { type Html, html, nothing } from '../html.js'
import { renderFormToken } from '../layout.js'
import type { Page, PageAnswer, PageRequest } from '../pages.js'
import { numberPath } from './records/number.js'

const stateNames: Readonly<Record<ApprovalState, string>> = {
  waiting: 'Waiting',
  approved: '✓ Approved, not used yet',
  refused: '✕ Refused',
  used: '✓ Approved and used',
  expired: '✕ Expired',
}

async function showApprovals(request: PageRequest): Promise<PageAnswer> {
  const { api, caller } = request
  const { approvals: waiting } = await api.call(caller, listApprovalsEndpoint, {
    query: { state: 'waiting' },
  })
  const { approvals } = await api.call(caller, listApprovalsEndpoint)
  const others = approvals.filter(({ state }) => state !== 'waiting')
  const body = html`<section aria-labelledby="waiting"><h2 id="waiting">Waiting</h2>
${waiting.length === 0 ? html`<p class="empty">No call waits for a person.</p>` : renderApprovals(request, waiting.toReversed(), 'Calls that wait for a person, the oldest first')}
</section>
<section aria-labelledby="others"><h2 id="others">The others</h2>
${others.length === 0 ? html`<p class="empty">There are none.</p>` : renderApprovals(request, others, 'Approvals that are given, refused or expired, the newest first')}
</section>`
  return { title: 'Approvals', body }
}

function renderApprovals(
  request: PageRequest,
  approvals: readonly ApprovalBody[],
  caption: string,
): Html {
  const head = ['Asked', 'Call', 'Key', 'State', 'By and note']
  const rows = approvals.map((approval) => {
    const { id, requestedAt, subject, keyId, state, decidedBy, note } = approval
    return [
      html`<a href="/console/approvals/${id}">${renderInstant(requestedAt)}</a>`,
      describeCall(subject),
      keyId,
      html`${stateNames[state]}${state === 'waiting' ? `, ${formatTimeLeft(approval, request)} left` : nothing}`,
      html`${decidedBy}${note === undefined ? nothing : `: ${note}`}`,
    ]
  })
  return renderTable(caption, head, rows)
}

function describeCall({ number, callKind, projectId }: ApprovalBody['subject']): Html {
  return html`${kindNames[callKind] ?? callKind} to <span class="number">${formatNumber(number)}</span>${projectId === undefined ? nothing : html`, project ${projectId}`}`
}

function formatTimeLeft({ expiresAt }: ApprovalBody, { clock }: PageRequest): string {
  return formatDuration((parseInstant(expiresAt) ?? 0) - clock.now())
}

/** Throws `not-found` for one that is not among the waiting and the newest hundred. */
async function findApproval({ api, caller, parameters }: PageRequest): Promise<ApprovalBody> {
  for (const query of [{ state: 'waiting' }, {}]) {
    const { approvals } = await api.call(caller, listApprovalsEndpoint, { query })
    const found = approvals.find(({ id }) => id === parameters.id)
    if (found) return found
  }
  throw new AppError('not-found', `There is no approval ${parameters.id} among the newest`)
}

async function showApproval(request: PageRequest): Promise<PageAnswer> {
  const approval = await findApproval(request)
  const { subject, keyId, state, decisionId } = approval
  const { number, callKind, projectId, campaignId, callerId, purpose, personId } = subject
  const body = html`<dl>${renderTerms([
    ['State', stateNames[state]],
    ['Number', html`<a href="${numberPath(request, number)}">${formatNumber(number)}</a>`],
    ['Kind of call', kindNames[callKind] ?? callKind],
    ['Project', projectId ?? 'Master Project'],
    ['Campaign', campaignId ?? 'none'],
    ['Caller ID', callerId === undefined ? 'none' : formatNumber(callerId)],
    ['Purpose', purpose ?? 'telemarketing'],
    ['About', subject.subject],
    ['Person', personId],
    ['Asked by', html`<a href="/console/keys/${keyId}">${keyId}</a>`],
    ['Asked', renderInstant(approval.requestedAt)],
    [state === 'approved' ? 'To be used before' : 'Expires', renderInstant(approval.expiresAt)],
    [
      'Time left',
      state === 'waiting' || state === 'approved' ? formatTimeLeft(approval, request) : undefined,
    ],
    ['Decided by', approval.decidedBy],
    ['Decided', approval.decidedAt && renderInstant(approval.decidedAt)],
    ['Note', approval.note],
    [
      'Used by',
      decisionId && html`<a href="/console/decisions/${decisionId}">decision ${decisionId}</a>`,
    ],
  ])}</dl>
${state === 'waiting' ? renderVerdictForm(request, approval) : nothing}`
  return { title: 'A call that needs a person', body }
}

function renderVerdictForm(
  { form, formToken, refusal }: PageRequest,
  { id, subjectHash }: ApprovalBody,
): Html {
  return html`<p>Approved is exactly this call, once, within ten minutes. Everything else is judged when it is placed: opt-outs, hours and limits.</p>
<form method="post" action="/console/approvals/${id}">${renderFormToken(formToken)}
<input type="hidden" name="subjectHash" value="${subjectHash}">
${new Form(form, refusal).field({ name: 'note', label: 'Note', hint: 'Why; kept with the approval' })}
<p class="actions"><button name="verdict" value="approve">Approve this call</button><button class="quiet" name="verdict" value="refuse">Refuse</button></p></form>`
}

async function decide({ api, caller, parameters, form }: PageRequest): Promise<PageAnswer> {
  const { verdict, subjectHash, note } = form
  const { subject, state } = await api.call(caller, decideApprovalEndpoint, {
    parameters: { id: parameters.id ?? '' },
    body: { verdict, subjectHash, note },
  })
  const call = `the ${kindNames[subject.callKind] ?? subject.callKind} to ${formatNumber(subject.number)}`
  return {
    goTo: '/console/approvals',
    done: `${state === 'approved' ? 'Approved' : 'Refused'}: ${call}.`,
  }
}

export const approvalPages: readonly Page[] = [
  {
    path: '/approvals',
    entry: {
      name: 'Approvals',
      needs: listApprovalsEndpoint,
      isFor: ({ role }) => role !== 'Agent',
    },
    get: showApprovals,
  },
  { path: '/approvals/:id', get: showApproval, post: decide },
]
