/** Changes: what one person has asked for and another one must approve, exactly as it would be done. */
import {
  approveChangeEndpoint,
  type ChangeBody,
  type ChangeSummaryBody,
  changeEndpoint,
  changesEndpoint,
  refuseChangeEndpoint,
} from '../../api/accounts/changes.js'
import type { ChangeState } from '../../domain/mandate.js'
import { parseInstant } from '../../domain/time/dates.js'
import { invalidRequest } from '../../errors.js'
import {
  formatCount,
  formatDuration,
  formatNumber,
  renderInstant,
  renderTable,
  renderTerms,
} from '../format.js'
import { Form } from '../forms.js'
import { type Html, html, nothing } from '../html.js'
import { renderFormToken } from '../layout.js'
import type { Page, PageAnswer, PageRequest } from '../pages.js'
import { maySupervise } from './keys/key-parts.js'

const stateNames: Readonly<Record<ChangeState, string>> = {
  waiting: 'Waiting',
  approved: '✓ Approved, not done yet',
  running: 'Being done',
  done: '✓ Approved and done',
  failed: '✕ Approved, but could not be done',
  refused: '✕ Refused',
  expired: '✕ Expired',
}

async function showChanges(request: PageRequest): Promise<PageAnswer> {
  const { api, caller } = request
  const { changes: waiting } = await api.call(caller, changesEndpoint, {
    query: { state: 'waiting' },
  })
  const { changes } = await api.call(caller, changesEndpoint)
  const others = changes.filter(({ state }) => state !== 'waiting')
  const body = html`<section aria-labelledby="waiting"><h2 id="waiting">Waiting</h2>
${waiting.length === 0 ? html`<p class="empty">No change waits for a second person.</p>` : renderChanges(request, waiting.toReversed(), 'Changes that wait for a second person, the oldest first')}
</section>
<section aria-labelledby="others"><h2 id="others">The others</h2>
${others.length === 0 ? html`<p class="empty">There are none.</p>` : renderChanges(request, others, 'Changes that are done, refused or expired, the newest first')}
</section>`
  return { title: 'Changes', body }
}

function renderChanges(
  request: PageRequest,
  changes: readonly ChangeSummaryBody[],
  caption: string,
): Html {
  const head = ['Asked', 'What', 'By and why', 'State', 'Decided by and why']
  const rows = changes.map((change) => {
    const { id, askedAt, askedBy, what, reason, state, decidedBy, note } = change
    return [
      html`<a href="/console/changes/${id}">${renderInstant(askedAt)}</a>`,
      what,
      html`${askedBy}${reason === undefined ? nothing : `: ${reason}`}`,
      html`${stateNames[state]}${state === 'waiting' ? `, ${formatTimeLeft(change, request)} left` : nothing}`,
      html`${decidedBy}${note === undefined ? nothing : `: ${note}`}`,
    ]
  })
  return renderTable(caption, head, rows)
}

function formatTimeLeft({ expiresAt }: ChangeSummaryBody, { clock }: PageRequest): string {
  return formatDuration((parseInstant(expiresAt) ?? 0) - clock.now())
}

async function showChange(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, parameters } = request
  const change = await api.call(caller, changeEndpoint, {
    parameters: { id: parameters.id ?? '' },
  })
  const { state, decidedAt } = change
  const body = html`<dl>${renderTerms([
    ['What', change.what],
    ...listFields(change.request),
    ['State', stateNames[state]],
    ['Asked by', change.askedBy],
    ['Why', change.reason],
    ['Asked', renderInstant(change.askedAt)],
    ['Ends', renderInstant(change.expiresAt)],
    ['Time left', state === 'waiting' ? formatTimeLeft(change, request) : undefined],
    ['Decided by', change.decidedBy],
    ['Decided', decidedAt && renderInstant(decidedAt)],
    ['Their reason', change.note],
    ['Could not be done', change.problem],
  ])}</dl>
${state === 'waiting' ? renderVerdictForm(request, change) : nothing}`
  return { title: 'A change that needs two people', body }
}

const fieldNames: Readonly<Record<string, string>> = {
  projId: 'Project',
  campaignId: 'Campaign',
  code: 'Project',
  region: 'State or province',
  monFri: 'Monday to Friday',
  sat: 'Saturday',
  sun: 'Sunday',
  effectiveFrom: 'First day',
  effectiveUntil: 'Last day',
  remove: 'Remove all hours of the region',
  number: 'Number',
  account: 'Account',
  allowedCalls: 'Also decisions that allowed a call',
  InheritInternalDnc: "Uses the Master Project's opt-outs",
}

/** Said otherwise on the page. */
const otherFields: ReadonlySet<string> = new Set(['actionType', 'reason'])

function listFields(request: ChangeBody['request'] = {}): readonly (readonly [string, Html])[] {
  return Object.entries(request).flatMap(([name, value]): (readonly [string, Html])[] => {
    if (otherFields.has(name)) return []
    if (name === 'phoneList') return [['Numbers', renderNumbers(String(value).split(','))]]
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return [[fieldNames[name] ?? name, html`${name === 'number' ? formatNumber(text) : text}`]]
  })
}

const maxShownNumbers = 12

function renderNumbers(numbers: readonly string[]): Html {
  const all = numbers.map(formatNumber)
  if (all.length <= maxShownNumbers) {
    return html`<ul>${all.map((one) => html`<li class="number">${one}</li>`)}</ul>`
  }
  return html`<details><summary>${formatCount(all.length, 'number')}</summary><pre>${all.join('\n')}</pre></details>`
}

/** What no endpoint does. */
const doneByAsker: Readonly<Record<string, string>> = {
  erase: 'Who asked for it can then do it.',
  export: 'Who asked for it can then do it.',
  'allow-unknown': 'It is in force when the settings are loaded again.',
}

function renderVerdictForm(
  { form, formToken, refusal }: PageRequest,
  { id, kind, requestHash, self }: ChangeBody,
): Html {
  if (self !== undefined) return html`<p>It waits for another person: ${self}.</p>`
  const fields = new Form(form, refusal)
  const next = doneByAsker[kind] ?? 'It is done at once, in your name and that of who asked.'
  return html`<p>Approved is exactly this, once. ${next}</p>
<form method="post" action="/console/changes/${id}">${renderFormToken(formToken)}
<input type="hidden" name="requestHash" value="${requestHash}">
${fields.field({ name: 'reason', label: 'Why', hint: 'What you have looked at; kept in the audit', required: true })}
<p class="actions"><button name="verdict" value="approve">Approve this change</button><button class="quiet" name="verdict" value="refuse">Refuse</button></p></form>`
}

const endpoints: Readonly<Record<string, typeof approveChangeEndpoint>> = {
  approve: approveChangeEndpoint,
  refuse: refuseChangeEndpoint,
}

async function decide({ api, caller, parameters, form }: PageRequest): Promise<PageAnswer> {
  const { verdict = '', requestHash, reason = '' } = form
  const endpoint = endpoints[verdict]
  if (endpoint === undefined) {
    throw invalidRequest([{ field: 'verdict', rule: 'must be approve or refuse' }])
  }
  if (reason.trim() === '') throw invalidRequest([{ field: 'reason', rule: 'is required' }])
  const change = await api.call(caller, endpoint, {
    parameters: { id: parameters.id ?? '' },
    body: { requestHash, reason },
  })
  const words = { refused: 'Refused', approved: 'Approved' }[change.state as string]
  return {
    goTo: '/console/changes',
    done: `${words ?? 'Approved and done'}: ${change.what}.`,
  }
}

export const changePages: readonly Page[] = [
  {
    path: '/changes',
    entry: { name: 'Changes', needs: changesEndpoint, isFor: maySupervise },
    get: showChanges,
  },
  { path: '/changes/:id', get: showChange, post: decide },
]
