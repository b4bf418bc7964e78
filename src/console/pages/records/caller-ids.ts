/** Caller IDs: the own numbers of the account, with what proves that they are its own; add one, add many after a look at them, end one. */
import {
  addCallerIdsEndpoint,
  type CallerIdBody,
  endCallerIdEndpoint,
  listCallerIdsEndpoint,
  maxCallerIds,
} from '../../../api/gate/caller-ids.js'
import { createValidationError } from '../../../api/validation-error.js'
import { readKnownTable } from '../../../data/feeds/known-table.js'
import { samples } from '../../../data/feeds/samples.js'
import { attestations, callerIdColumns } from '../../../domain/mandate.js'
import { parseCallerId } from '../../../domain/phone-number.js'
import { parseInstant } from '../../../domain/time/dates.js'
import { callerIdProblems } from '../../../domain/words/caller-id.js'
import { AppError, describeProblem, type FieldProblem, invalidRequest } from '../../../errors.js'
import { formatCount, formatNumber, renderInstant, renderTable, renderTerms } from '../../format.js'
import { Form, type FormValues, toInstantText } from '../../forms.js'
import { type Html, html, nothing } from '../../html.js'
import { renderFormToken, renderSections } from '../../layout.js'
import type { Page, PageAnswer, PageRequest } from '../../pages.js'
import { readPasted, renderSample } from '../../pasted-table.js'
import { renderRejects } from './opt-outs.js'

const maxShown = 500

const path = '/console/caller-ids'
const sections = [
  { path, name: 'In force' },
  { path: `${path}?ended=true`, name: 'Also ended' },
  { path: `${path}/new`, name: 'Add one' },
  { path: `${path}/many`, name: 'Add many' },
]
const renderHead = (here: string) => renderSections('Caller IDs', sections, here)

async function showCallerIds(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, query } = request
  const isAll = query.ended === 'true'
  const { callerIds } = await api.call(caller, listCallerIdsEndpoint, {
    query: { ended: isAll ? 'true' : 'false' },
  })
  const rest = callerIds.length - maxShown
  const body = html`${renderHead(isAll ? `${path}?ended=true` : path)}
<p>The numbers that the account's calls may show. Once there is one, its calls may show no others. What has ended is kept as evidence.</p>
${renderEntries(request, callerIds.slice(0, maxShown), isAll)}
${rest > 0 ? html`<p class="note">And ${rest.toLocaleString('en')} more; the command <code>callgate caller-ids list</code> shows all.</p>` : nothing}`
  return { title: 'Caller IDs', body }
}

function renderEntries(
  request: PageRequest,
  entries: readonly CallerIdBody[],
  isAll: boolean,
): Html {
  if (entries.length === 0) {
    return html`<p class="empty">${isAll ? 'No number was ever added.' : 'There is no number in force: calls may show any that can be called back.'}</p>`
  }
  const head = ['Number', 'State', 'Project', 'Owner', 'Proof', 'Carrier', 'Added', 'Change']
  const rows = entries.map((entry) => [
    html`<span class="number">${formatNumber(entry.number)}</span>`,
    renderState(entry, request),
    entry.projectId ?? 'all',
    entry.owner,
    html`${entry.proof}${entry.presence === undefined ? nothing : html`<br><span class="note">There: ${entry.presence}</span>`}${entry.callbackTestedAt === undefined ? nothing : html`<br><span class="note">Called back ${renderInstant(entry.callbackTestedAt)}</span>`}`,
    html`${entry.carrier}${entry.attestation === undefined ? nothing : html`${entry.carrier === undefined ? nothing : ', '}attestation ${entry.attestation}`}`,
    html`${renderInstant(entry.addedAt)}<br><span class="note">${entry.addedBy}</span>`,
    entry.endedAt === undefined ? html`<a href="${pathOfEnd(request, entry)}">End</a>` : nothing,
  ])
  const caption = isAll
    ? 'Own numbers by number, the newest entry of each first'
    : 'Own numbers that are not ended, by number'
  return renderTable(caption, head, rows)
}

function renderState(
  { from, until, endedAt, endedBy }: CallerIdBody,
  { clock }: PageRequest,
): Html {
  const now = clock.now()
  const at = (text: string) => parseInstant(text) ?? Number.NaN
  if (endedAt !== undefined) {
    return html`✕ Ended ${renderInstant(endedAt)}<br><span class="note">${endedBy}</span>`
  }
  if (until !== undefined && at(until) <= now) return html`✕ Expired ${renderInstant(until)}`
  const end = until === undefined ? nothing : html` until ${renderInstant(until)}`
  if (from !== undefined && at(from) > now) {
    return html`Not yet: from ${renderInstant(from)}${end}`
  }
  return html`✓ In force${end}`
}

type Which = Pick<CallerIdBody, 'number' | 'projectId'>

function pathOfEnd({ addresses }: PageRequest, { number, projectId }: Which): string {
  return `/console/caller-ids/end/${addresses.seal(JSON.stringify({ number, projectId }))}`
}

async function showNew({ form, formToken, refusal }: PageRequest): Promise<PageAnswer> {
  const fields = new Form(form, refusal)
  const body = html`${renderHead(`${path}/new`)}
<p>If the number is in force for the project, the new entry replaces it. Calls may show it within a second.</p>
<form method="post" action="/console/caller-ids/new">${renderFormToken(formToken)}
${fields.field({ name: 'number', label: 'Number', type: 'tel', hint: 'Ten digits', required: true })}
${fields.field({ name: 'owner', label: 'Owner', hint: 'To whom the number was given', required: true })}
${fields.field({ name: 'proof', label: 'Proof', hint: 'Such as: invoice 4711 of Example Telecom', required: true })}
${fields.field({ name: 'projectId', label: 'Project', hint: 'For its calls alone; for all calls if empty' })}
${fields.field({ name: 'carrier', label: 'Carrier', hint: 'That signs the calls' })}
${fields.field({
  name: 'attestation',
  label: 'Attestation',
  hint: 'What the carrier is expected to sign',
  choices: [['', 'not known'], ...attestations.map((one) => [one, one] as const)],
})}
${fields.field({ name: 'from', label: 'From (UTC)', type: 'datetime-local', hint: 'At once if empty' })}
${fields.field({ name: 'until', label: 'Until (UTC)', type: 'datetime-local', hint: 'Until it is ended if empty' })}
${fields.field({ name: 'tested', label: 'Called back (UTC)', type: 'datetime-local', hint: 'When somebody called it and was answered as the person called would be' })}
${fields.field({ name: 'presence', label: 'Presence', hint: 'What proves that you are where the number is, such as the address of an office' })}
${fields.field({ name: 'reason', label: 'Why', hint: 'Kept in the audit' })}
<p class="actions"><button>Add</button><a href="/console/caller-ids">Add nothing</a></p></form>`
  return { title: 'Add a caller ID', body }
}

const fieldNames: Readonly<Record<string, string>> = {
  project: 'projectId',
  tested: 'callbackTestedAt',
}

/** What the API takes: what is empty is absent, unless it is required. */
function toCallerId(given: FormValues): FormValues {
  const entries = Object.entries(given).flatMap(([name, text]): [string, string][] => {
    const value = text.trim()
    if (value === '' && !['number', 'owner', 'proof'].includes(name)) return []
    const isInstant = ['from', 'until', 'tested'].includes(name)
    return [[fieldNames[name] ?? name, isInstant ? toInstantText(value) : value]]
  })
  return Object.fromEntries(entries)
}

/** Of an item of the list, under the name that `given` has for it. */
function toFormProblem(problem: FieldProblem, given: readonly string[]): FieldProblem {
  const field = problem.field.replace(/^callerIds\[\d+\]\.?/, '')
  return { ...problem, field: given.find((name) => (fieldNames[name] ?? name) === field) ?? field }
}

async function addOne({ api, caller, form }: PageRequest): Promise<PageAnswer> {
  const { formToken: _, reason, ...given } = form
  const callerId = toCallerId(given)
  try {
    const body = { callerIds: [callerId], reason }
    await api.call(caller, addCallerIdsEndpoint, { body })
  } catch (refusal) {
    if (!(refusal instanceof AppError) || refusal.problems.length === 0) throw refusal
    const problems = refusal.problems.map((one) => toFormProblem(one, Object.keys(given)))
    throw new AppError(refusal.kind, problems.map(describeProblem).join('; '), { problems })
  }
  return { goTo: '/console/caller-ids', done: `Calls may show ${showNumber(callerId.number)}.` }
}

/** As it is in the register, if it is a number. */
function showNumber(text = ''): string {
  const parsed = parseCallerId(text)
  return 'problem' in parsed ? text : formatNumber(parsed.number)
}

async function showMany({ form, formToken, refusal }: PageRequest): Promise<PageAnswer> {
  const fields = new Form(form, refusal)
  const body = html`${renderHead(`${path}/many`)}
<p>A CSV file of up to ${maxCallerIds} rows, or its text. The first row names the columns: <code>number</code>, <code>owner</code> and <code>proof</code> are needed; ${callerIdColumns.filter((name) => !['number', 'owner', 'proof'].includes(name)).join(', ')} may be there. You see what will be added before it is.</p>
<form method="post" action="/console/caller-ids/many" enctype="multipart/form-data">${renderFormToken(formToken)}
${fields.field({ name: 'rows', label: 'Rows', type: 'textarea' })}
${fields.field({ name: 'file', label: 'Or a file', type: 'file' })}
${renderSample(samples['caller-ids'])}
<button>Look at them</button></form>`
  return { title: 'Add many caller IDs', body }
}

interface SortedRows {
  readonly callerIds: readonly { readonly line: number; readonly fields: FormValues }[]
  readonly rejects: readonly (readonly [line: number, text: string, why: string])[]
}

async function sortRows(text: string): Promise<SortedRows> {
  const command = 'callgate caller-ids import'
  const { rows, bad } = await readPasted(
    text,
    { field: 'rows', maxRows: maxCallerIds, command },
    (source, onRow) =>
      readKnownTable(source, { columns: callerIdColumns, required: ['number'] }, onRow),
  )
  const callerIds: { line: number; fields: FormValues }[] = []
  const rejects = bad.map(({ line, value, rule }) => [line, value, rule] as const)
  const seen = new Set<string>()
  for (const { line, text, read } of rows) {
    const given = Object.fromEntries(callerIdColumns.map((name) => [name, read(name) ?? '']))
    const fields = toCallerId(given)
    const problems = await findProblems(fields)
    const name = `${showNumber(fields.number)} ${fields.projectId?.toUpperCase()}`
    if (seen.has(name)) problems.push({ field: 'number', rule: 'is here twice for the project' })
    seen.add(name)
    const why = problems
      .map((one) => describeProblem(toFormProblem(one, callerIdColumns)))
      .join('; ')
    if (why === '') callerIds.push({ line, fields })
    else rejects.push([line, text, why])
  }
  return { callerIds, rejects }
}

/** What can be told without the account. */
async function findProblems(fields: FormValues): Promise<FieldProblem[]> {
  const read = await addCallerIdsEndpoint.request.safeParseAsync(
    { callerIds: [fields] },
    { reportInput: true },
  )
  const problems = read.success ? [] : [...createValidationError(read.error).problems]
  for (const name of ['owner', 'proof'] as const) {
    if (fields[name] === '') problems.push({ field: name, rule: 'is required' })
  }
  const parsed = parseCallerId(fields.number ?? '')
  if ('problem' in parsed) {
    const rule = callerIdProblems[parsed.problem]
    problems.push({ field: 'number', value: fields.number, rule })
  }
  return problems
}

async function previewMany({ form, formToken, refusal }: PageRequest): Promise<PageAnswer> {
  const text = form.file?.trim() ? form.file : (form.rows ?? '')
  const { callerIds, rejects } = await sortRows(text)
  const count = formatCount(callerIds.length, 'number')
  const fields = new Form(form, refusal)
  const body = html`${renderHead(`${path}/many`)}
<p>${count} can be added. Those that are in force already are replaced.</p>
${renderRejects(rejects)}
${
  callerIds.length === 0
    ? html`<p><a href="/console/caller-ids/many">Back</a></p>`
    : html`<form method="post" action="/console/caller-ids/add">${renderFormToken(formToken)}
<input type="hidden" name="rows" value="${text}">
${fields.field({ name: 'reason', label: 'Why', hint: 'Kept in the audit' })}
<p class="actions"><button>Add ${count}</button><a href="/console/caller-ids/many">Add nothing</a></p></form>`
}`
  return { title: 'Look before they are added', body }
}

/** All or none. */
async function addMany({ api, caller, form }: PageRequest): Promise<PageAnswer> {
  const { callerIds } = await sortRows(form.rows ?? '')
  try {
    const body = { callerIds: callerIds.map(({ fields }) => fields), reason: form.reason }
    await api.call(caller, addCallerIdsEndpoint, { body })
  } catch (refusal) {
    if (!(refusal instanceof AppError) || refusal.problems.length === 0) throw refusal
    const problems = refusal.problems.map((problem) => {
      const place = /^callerIds\[(\d+)\]/.exec(problem.field)?.[1]
      if (place === undefined) return problem
      const text = describeProblem(toFormProblem(problem, callerIdColumns))
      return { field: 'rows', rule: `line ${callerIds[Number(place)]?.line}: ${text}` }
    })
    throw new AppError(refusal.kind, problems.map(describeProblem).join('; '), { problems })
  }
  const count = formatCount(callerIds.length, 'number')
  return { goTo: '/console/caller-ids', done: `Added: ${count}.` }
}

/** The rows are at their field on the page before. */
const showAdd = (request: PageRequest): Promise<PageAnswer> =>
  !request.refusal || request.refusal.problems.some(({ field }) => field === 'rows')
    ? showMany(request)
    : previewMany(request)

function readWhich({ addresses, parameters }: PageRequest): Which {
  const opened = addresses.open(parameters.which ?? '')
  // An address of another page is sealed as well.
  if (opened?.startsWith('{')) return JSON.parse(opened)
  throw new AppError('not-found', 'There is no such number; go back to the list of caller IDs')
}

async function showEnd(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, form, formToken, refusal } = request
  const which = readWhich(request)
  const { callerIds } = await api.call(caller, listCallerIdsEndpoint)
  const entry = callerIds.find(
    ({ number, projectId }) => number === which.number && projectId === which.projectId,
  )
  const title = `End ${formatNumber(which.number)}`
  if (!entry)
    return { title, body: html`${renderHead('')}<p class="empty">It is not in force.</p>` }
  const body = html`${renderHead('')}
<p>No call may show it from then on, within a second. What is known of it is kept.</p>
<dl>${renderTerms([
    ['Project', entry.projectId ?? 'all'],
    ['Owner', entry.owner],
    ['Proof', entry.proof],
    ['State', renderState(entry, request)],
  ])}</dl>
<form method="post" action="${pathOfEnd(request, which)}">${renderFormToken(formToken)}
${new Form(form, refusal).field({ name: 'reason', label: 'Why', hint: 'Kept in the audit', required: true })}
<p class="actions"><button>End it</button><a href="/console/caller-ids">Leave it</a></p></form>`
  return { title, body }
}

async function end(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, form } = request
  const which = readWhich(request)
  const { reason = '' } = form
  if (reason.trim() === '') throw invalidRequest([{ field: 'reason', rule: 'is required' }])
  await api.call(caller, endCallerIdEndpoint, { body: { ...which, reason } })
  const done = `No call may show ${formatNumber(which.number)} any more${which.projectId === undefined ? '' : ` for project ${which.projectId}`}.`
  return { goTo: '/console/caller-ids', done }
}

export const callerIdPages: readonly Page[] = [
  {
    path: '/caller-ids',
    entry: { name: 'Caller IDs', needs: listCallerIdsEndpoint },
    get: showCallerIds,
  },
  { path: '/caller-ids/new', needs: addCallerIdsEndpoint, get: showNew, post: addOne },
  { path: '/caller-ids/many', needs: addCallerIdsEndpoint, get: showMany, post: previewMany },
  { path: '/caller-ids/add', needs: addCallerIdsEndpoint, get: showAdd, post: addMany },
  { path: '/caller-ids/end/:which', needs: endCallerIdEndpoint, get: showEnd, post: end },
]
