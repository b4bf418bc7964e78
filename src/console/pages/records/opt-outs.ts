/** Opt-outs: add one, add many after a look at them, and end them with a reason. */
import { optOutEndpoint } from '../../../api/gate/call-events.js'
import {
  listUnclearOptOutsEndpoint,
  resolveUnclearOptOutEndpoint,
  type UnclearOptOutBody,
} from '../../../api/gate/platform-events.js'
import { internalDncPost } from '../../../api/records/internal-dnc.js'
import { BadLines } from '../../../data/feeds/bad-lines.js'
import { readPlainNumbers } from '../../../data/feeds/lists/plain-numbers.js'
import { samples } from '../../../data/feeds/samples.js'
import { parseTableLine } from '../../../data/feeds/table-options.js'
import { nameCaller } from '../../../domain/caller.js'
import { optOutChannels } from '../../../domain/consent/consent-records.js'
import { AppError, describeProblem, invalidRequest } from '../../../errors.js'
import { formatCount, formatNumber, renderTable } from '../../format.js'
import { Form, toDigits } from '../../forms.js'
import { type Html, html, nothing } from '../../html.js'
import { renderFormToken, renderSections } from '../../layout.js'
import type { Page, PageAnswer, PageRequest } from '../../pages.js'
import { readPasted, renderTableFields } from '../../pasted-table.js'
import { numberPath } from './number.js'

const maxNumbers = 10_000
/** Of those that are refused; the rest is counted. */
const maxShownRejects = 200

const path = '/console/opt-outs'
const sections = [
  { path, name: 'Add one' },
  { path: `${path}/many`, name: 'Add many' },
  { path: `${path}/end`, name: 'End' },
  { path: `${path}/unclear`, name: 'Unclear' },
]
const renderHead = (here: string) => renderSections('Opt-outs', sections, here)

async function showOne({ form, formToken, refusal }: PageRequest): Promise<PageAnswer> {
  const fields = new Form(form, refusal)
  const body = html`${renderHead(path)}
<p>The number goes on the internal do-not-call lists at once. From then on no call to it is allowed.</p>
<form method="post" action="/console/opt-outs">${renderFormToken(formToken)}
${fields.field({ name: 'number', label: 'Number', type: 'tel', hint: 'Ten digits', required: true })}
${fields.field({ name: 'channel', label: 'How it came in', choices: optOutChannels.filter((one) => one !== 'import').map((one) => [one, channelNames[one] ?? one] as const) })}
${fields.field({ name: 'said', label: 'What the person said', hint: 'In their words, if known' })}
${fields.field({ name: 'goods', label: 'What the call was about', hint: 'Good or service' })}
${fields.field({
  name: 'scope',
  label: 'It holds for',
  choices: [
    ['everything', 'all projects of the account'],
    ['project', 'the project alone, if it calls for a legal entity of its own'],
  ],
})}
${fields.field({ name: 'projectId', label: 'Project', hint: 'Master Project if empty' })}
${fields.field({
  name: 'receipt',
  label: 'Receipt for the person',
  choices: [
    ['', 'no'],
    ['yes', 'yes, signed by the journal'],
  ],
})}
<button>Add</button></form>`
  return { title: 'Opt-outs', body }
}

const channelNames: Readonly<Record<string, string>> = {
  'call-voice': 'said in a call',
  'call-key': 'by a key in a call',
  text: 'by text message',
  web: 'on a web page',
  voicemail: 'by voicemail',
  email: 'by e-mail',
  agent: 'told an agent',
}

async function addOne(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, form } = request
  const { number = '', receipt, ...given } = form
  const texts = Object.fromEntries(
    (['channel', 'said', 'goods', 'scope', 'projectId'] as const).flatMap((name) =>
      given[name] ? [[name, given[name]]] : [],
    ),
  )
  const answer = await api.call(caller, optOutEndpoint, {
    body: {
      ...texts,
      number: toDigits(number),
      source: 'console',
      ...(receipt && { receipt: receipt === 'yes' || receipt }),
    },
  })
  const shown = formatNumber(toDigits(number))
  const calls = answer.scope === 'everything' ? 'of all calls' : 'of the calls of this project'
  const problems = (answer.ignored ?? []).map((problem) => ` ${describeProblem(problem)}.`)
  const done = `${shown} has opted out ${calls}.${problems.join('')}`
  if (!receipt) return { goTo: '/console/opt-outs', done }
  const body = html`<p class="done" role="status">${done}</p>
${answer.receipt ? html`<p>Give this receipt to the person. To check it, save it as receipt.txt and run <code>callgate evidence check --key KEY receipt.txt</code> with the verifier key of the journal, which the page of an evidence bundle shows.</p><pre>${answer.receipt}</pre>` : html`<p>The receipt could not be recorded; the opt-out holds all the same.</p>`}
<p><a href="${numberPath(request, toDigits(number))}">All about ${shown}</a></p>`
  return { title: 'Opt-out recorded', body }
}

async function showMany({ form, formToken, refusal }: PageRequest): Promise<PageAnswer> {
  const fields = new Form(form, refusal)
  const body = html`${renderHead(`${path}/many`)}
<p>Paste up to ${maxNumbers.toLocaleString('en')} numbers, one per line, or choose a file with a table (CSV). An opt-out counts from now on, whatever day its row has. You see what will be done before it is done.</p>
<form method="post" action="/console/opt-outs/many" enctype="multipart/form-data">${renderFormToken(formToken)}
${fields.field({ name: 'phoneList', label: 'Numbers', type: 'textarea' })}
${fields.field({ name: 'file', label: 'Or a file', type: 'file' })}
${renderTableFields(fields, samples['opt-outs'])}
${fields.field({ name: 'projId', label: 'Project', hint: 'Master Project if empty' })}
<button>Look at them</button></form>`
  return { title: 'Add many opt-outs', body }
}

interface SortedNumbers {
  readonly numbers: readonly string[]
  readonly rejects: readonly (readonly [line: number, text: string, why: string])[]
  readonly notes: readonly string[]
}

/** An opt-out takes effect now, whatever day its row has. */
async function sortNumbers({ form }: PageRequest): Promise<SortedNumbers> {
  const text = form.file?.trim() ? form.file : (form.phoneList ?? '')
  const numbers = new Set<string>()
  const rejects: (readonly [number, string, string])[] = []
  const command = 'callgate records import opt-outs'
  const table = { dates: 'mdy' as const, ...parseTableLine(form.table ?? '', ['number']) }
  const { rows, leftOut, notes } = await readPasted(
    text,
    { field: 'phoneList', maxRows: maxNumbers, command },
    (source, onRow) => {
      const badLines = new BadLines(Number.POSITIVE_INFINITY, ({ line, value, rule }) => {
        onRow()
        rejects.push([line, value, rule])
      })
      const add = (prefix: number, line: number) => {
        onRow()
        numbers.add(`${prefix}${String(line).padStart(4, '0')}`)
      }
      return readPlainNumbers(source, add, badLines, { table })
    },
  )
  const repeated = rows - numbers.size
  return {
    numbers: [...numbers],
    rejects,
    notes: [
      ...(repeated > 0 ? [`repeated in this table: ${formatCount(repeated, 'number')}`] : []),
      ...(leftOut > 0 ? [`left out by --where: ${formatCount(leftOut, 'row')}`] : []),
      ...notes,
    ],
  }
}

async function readStatus(
  { api, caller }: PageRequest,
  about: { readonly phoneList: string; readonly projId?: string },
) {
  const reply: unknown = await api.call(caller, internalDncPost, {
    body: { actionType: 'status', ...about },
  })
  const status = internalDncPost.response.parse(reply)
  if (!('items' in status)) throw new Error('the internal list has answered another question')
  return status.items
}

async function previewMany(request: PageRequest): Promise<PageAnswer> {
  const { caller, form, formToken } = request
  const { projId = '' } = form
  const { numbers, rejects, notes } = await sortNumbers(request)
  if (numbers.length === 0) {
    throw invalidRequest([{ field: 'phoneList', rule: 'has no number of ten digits' }])
  }
  // Who may not look up what is on the list adds all of them.
  const mayLookUp = caller.limits.rights.has('look-up')
  const items = mayLookUp
    ? await readStatus(request, { phoneList: numbers.join(','), ...(projId && { projId }) })
    : []
  const invalid = new Set(items.filter((one) => one.invalid).map(({ phone }) => phone))
  const valid = numbers.filter((one) => !invalid.has(one))
  const present = items.filter(({ onList }) => onList).length
  const allRejects = [
    ...rejects,
    ...[...invalid].map((one) => [0, one, 'is not a number that can be called'] as const),
  ]
  const body = html`${renderHead(`${path}/many`)}
<p>To be added: ${formatCount(valid.length, 'number')}. ${present === 0 ? nothing : `On the list already, so that the opt-out is recorded again: ${formatCount(present, 'number')}.`}${mayLookUp ? nothing : 'Your key may not look up which of them are on the list already.'}</p>
${notes.map((note) => html`<p class="note">${note}.</p>`)}
${renderRejects(allRejects)}
${
  valid.length === 0
    ? html`<p><a href="/console/opt-outs/many">Back</a></p>`
    : html`<form method="post" action="/console/opt-outs/add">${renderFormToken(formToken)}
<input type="hidden" name="phoneList" value="${valid.join(',')}"><input type="hidden" name="projId" value="${projId}">
<button>Add ${formatCount(valid.length, 'opt-out')}</button> <a href="/console/opt-outs/many">Do nothing</a></form>`
}`
  return { title: 'Look before they are added', body }
}

export function renderRejects(
  rejects: readonly (readonly [line: number, text: string, why: string])[],
): Html {
  if (rejects.length === 0) return html`<p>Every row can be used.</p>`
  const rows = rejects.slice(0, maxShownRejects).map(([line, text, why]) => [line || '', text, why])
  const rest = rejects.length - rows.length
  return html`${renderTable(`Cannot be used: ${formatCount(rejects.length, 'row')}`, ['Line', 'Row', 'Why'], rows)}
${rest > 0 ? html`<p class="note">And ${rest.toLocaleString('en')} more.</p>` : nothing}`
}

async function addMany({ api, caller, form }: PageRequest): Promise<PageAnswer> {
  const { phoneList = '', projId } = form
  await api.send(caller, internalDncPost, {
    body: { actionType: 'add', phoneList, ...(projId && { projId }) },
  })
  const count = formatCount(phoneList.split(',').length, 'number')
  return { goTo: '/console/opt-outs/many', done: `Added: ${count}.` }
}

async function showEnd({ form, formToken, refusal }: PageRequest): Promise<PageAnswer> {
  const fields = new Form(form, refusal)
  const body = html`${renderHead(`${path}/end`)}
<p>Calls to these numbers may be allowed again. Who ended them and why is kept. A permission that an opt-out has revoked stays revoked: calls that need one need a new consent.</p>
<form method="post" action="/console/opt-outs/end">${renderFormToken(formToken)}
${fields.field({ name: 'phoneList', label: 'Numbers', type: 'textarea', hint: 'One per line', required: true })}
${fields.field({ name: 'reason', label: 'Why', hint: 'Such as: the person asked us in writing to call again', required: true })}
${fields.field({ name: 'projId', label: 'Project', hint: 'Master Project if empty' })}
<button>End</button></form>`
  return { title: 'End opt-outs', body }
}

async function end(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, form } = request
  const { projId, reason = '' } = form
  if (reason.trim() === '') throw invalidRequest([{ field: 'reason', rule: 'is required' }])
  const { numbers, rejects } = await sortNumbers(request)
  if (rejects.length > 0) {
    const rule = rejects
      .map(([line, text, why]) => `line ${line} (${text}) ${why}`)
      .slice(0, 5)
      .join('; ')
    throw invalidRequest([{ field: 'phoneList', rule }])
  }
  const body = { phoneList: numbers.join(','), reason, ...(projId && { projId }) }
  try {
    await api.send(caller, internalDncPost, { body: { actionType: 'remove', ...body } })
  } catch (refusal) {
    const isOfRole = caller.role === 'Agent' && caller.limits.projects === 'any'
    const isForbidden = refusal instanceof AppError && refusal.kind === 'forbidden'
    if (!isOfRole || !isForbidden) throw refusal
    const rule = 'the role Agent may not end opt-outs of this account; ask a Supervisor to end them'
    throw new AppError('forbidden', `${nameCaller(caller)}: ${rule}`)
  }
  const what =
    numbers.length === 1 ? formatNumber(numbers[0] ?? '') : formatCount(numbers.length, 'number')
  return {
    goTo: '/console/opt-outs/end',
    done: `${what} may be called again, unless something else forbids it. A permission that the opt-out has revoked stays revoked.`,
  }
}

const unclearTexts: Readonly<Record<UnclearOptOutBody['kind'], string>> = {
  words: 'what the person said may be an opt-out',
  speaker: 'the speaker is unknown',
  summary: 'this text is about the call, such as a summary',
  'own-number': 'the number of the person would be one of your caller IDs',
  unjoined: 'the call is unknown',
}

async function showUnclear(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, form, query } = request
  const { unclear, platforms } = await api.call(caller, listUnclearOptOutsEndpoint)
  const troubles = platforms.flatMap(({ platform, problem, canFetch }) => [
    ...(problem === null ? [] : [html`<p class="refusal">${platform}: ${problem}.</p>`]),
    ...(canFetch === false
      ? [
          html`<p class="note">${platform}: the proxy cannot ask what was said in a call, so one lost event is one lost opt-out.</p>`,
        ]
      : []),
  ])
  const chosen = unclear.find(({ id }) => id === (form.id ?? query.id)) ?? unclear[0]
  const others = unclear.filter((one) => one !== chosen)
  const body = html`${renderHead(`${path}/unclear`)}
<p>These may be opt-outs. They take effect only when you confirm them. While the call of one is unknown, calls to all numbers that it may concern are blocked.</p>
${troubles}
${chosen ? renderChosen(chosen, request) : html`<p>No unclear opt-outs.</p>`}
${others.map(
  (one) => html`<section>${describeUnclear(one)}
<p><a href="${path}/unclear?id=${one.id}">Confirm or dismiss</a></p></section>`,
)}`
  return { title: 'Unclear opt-outs', body }
}

const describeUnclear = ({
  platform,
  kind,
  heardAt,
  number,
  said,
  heldNumbers,
  decisionId,
}: UnclearOptOutBody) => html`<h2>${said ?? 'without words'}</h2>
<p>${heardAt}, ${platform}: ${unclearTexts[kind]}.${number === null ? nothing : html` Number: ${formatNumber(number)}.`}${decisionId === null ? nothing : html` Decision: ${decisionId}.`}${heldNumbers === 0 ? nothing : html` Held: ${formatCount(heldNumbers, 'number')}.`}</p>`

function renderChosen(one: UnclearOptOutBody, { form, formToken, refusal }: PageRequest) {
  const fields = new Form({ number: one.number ?? '', ...form }, refusal)
  return html`<section>${describeUnclear(one)}
<form method="post" action="/console/opt-outs/unclear">${renderFormToken(formToken)}<input type="hidden" name="id" value="${one.id}">
${fields.field({ name: 'number', label: 'Number of the person', type: 'tel' })}
${fields.field({ name: 'reason', label: 'Why' })}
<button name="action" value="confirm">Confirm</button> <button name="action" value="dismiss">Dismiss</button></form></section>`
}

async function resolveUnclear({ api, caller, form }: PageRequest): Promise<PageAnswer> {
  const { id = '', action, number, reason } = form
  await api.call(caller, resolveUnclearOptOutEndpoint, {
    parameters: { id },
    body: {
      action,
      ...(action === 'confirm' && number && { number: toDigits(number) }),
      ...(reason && { reason }),
    },
  })
  const done = action === 'confirm' ? 'Confirmed: the opt-out is in force.' : 'Dismissed.'
  return { goTo: `${path}/unclear`, done }
}

export const optOutPages: readonly Page[] = [
  {
    path: '/opt-outs',
    entry: { name: 'Opt-outs', needs: optOutEndpoint },
    get: showOne,
    post: addOne,
  },
  { path: '/opt-outs/many', needs: optOutEndpoint, get: showMany, post: previewMany },
  { path: '/opt-outs/add', needs: optOutEndpoint, get: showMany, post: addMany },
  { path: '/opt-outs/end', needs: optOutEndpoint, get: showEnd, post: end },
  {
    path: '/opt-outs/unclear',
    needs: resolveUnclearOptOutEndpoint,
    get: showUnclear,
    post: resolveUnclear,
  },
]
