/** Consents: add one, add many after a look at them, and end them with a reason. */
import { addConsentEndpoint } from '../../../api/records/consents.js'
import { ebrRemove } from '../../../api/records/ebr.js'
import { createValidationError } from '../../../api/validation-error.js'
import { readKnownTable } from '../../../data/feeds/known-table.js'
import { samples } from '../../../data/feeds/samples.js'
import { consentChannels, consentMethods } from '../../../domain/consent/consent-records.js'
import { AppError, describeProblem, invalidRequest } from '../../../errors.js'
import { yieldToEventLoop } from '../../../runtime/yield-to-event-loop.js'
import { formatCount, formatNumber } from '../../format.js'
import { Form, type FormValues, toDigits, toInstantText } from '../../forms.js'
import { html } from '../../html.js'
import { renderFormToken, renderSections } from '../../layout.js'
import type { Page, PageAnswer, PageRequest } from '../../pages.js'
import { readPasted, renderSample } from '../../pasted-table.js'
import { renderRejects } from './opt-outs.js'

const maxConsents = 1_000

const path = '/console/consents'
const sections = [
  { path, name: 'Add one' },
  { path: `${path}/many`, name: 'Add many' },
  { path: `${path}/end`, name: 'End' },
]
const renderHead = (here: string) => renderSections('Consents', sections, here)

const columns = [
  'number',
  'givenAt',
  'seller',
  'channel',
  'method',
  'wording',
  'page',
  'certificate',
  'personId',
  'endsOn',
  'projectId',
  'campaignId',
] as const

async function showOne({ form, formToken, refusal }: PageRequest): Promise<PageAnswer> {
  const fields = new Form(form, refusal)
  const body = html`${renderHead(path)}
<p>A consent is kept with what shows it. It replaces the one in force for the project.</p>
<form method="post" action="/console/consents">${renderFormToken(formToken)}
${fields.field({ name: 'number', label: 'Number', type: 'tel', hint: 'Ten digits', required: true })}
${fields.field({ name: 'givenAt', label: 'Given (UTC)', type: 'datetime-local', required: true })}
${fields.field({ name: 'seller', label: 'Seller', hint: 'Whom it permits to call', required: true })}
${fields.field({ name: 'channel', label: 'Channel', choices: consentChannels.map((one) => [one, one] as const) })}
${fields.field({ name: 'method', label: 'Method', choices: consentMethods.map((one) => [one, one] as const) })}
${fields.field({ name: 'wording', label: 'Wording', type: 'textarea', hint: 'Exactly what was shown or read to the person', required: true })}
${fields.field({ name: 'page', label: 'Page', hint: 'Address where it was given' })}
${fields.field({ name: 'certificate', label: 'Certificate', hint: 'Address at a witness service' })}
${fields.field({ name: 'personId', label: 'Person', hint: 'Your name for the person' })}
${fields.field({ name: 'endsOn', label: 'Ends', type: 'date', hint: 'The first day on which it no longer holds' })}
${fields.field({ name: 'projectId', label: 'Project', hint: 'Master Project if empty' })}
<button>Add</button></form>`
  return { title: 'Consents', body }
}

/** What the API takes: what is empty is absent. */
function toConsent(given: FormValues): FormValues {
  const entries = columns.flatMap((name): [string, string][] => {
    const value = (given[name] ?? '').trim()
    if (value === '') return []
    if (name === 'number') return [[name, toDigits(value)]]
    return [[name, name === 'givenAt' ? toInstantText(value) : value]]
  })
  return Object.fromEntries(entries)
}

async function addOne({ api, caller, form }: PageRequest): Promise<PageAnswer> {
  const consent = toConsent(form)
  const { warnings } = await api.call(caller, addConsentEndpoint, { body: consent })
  const done = `The consent of ${formatNumber(consent.number ?? '')} was stored.`
  return { goTo: '/console/consents', done: [done, ...warnings].join(' ') }
}

async function showMany({ form, formToken, refusal }: PageRequest): Promise<PageAnswer> {
  const fields = new Form(form, refusal)
  const body = html`${renderHead(`${path}/many`)}
<p>A CSV file of up to ${maxConsents.toLocaleString('en')} rows, or its text. The first row names the columns: <code>number</code>, <code>givenAt</code>, <code>seller</code>, <code>channel</code>, <code>method</code> and <code>wording</code> are needed; ${columns.slice(6).join(', ')} may be there. You see what will be stored before it is.</p>
<form method="post" action="/console/consents/many" enctype="multipart/form-data">${renderFormToken(formToken)}
${fields.field({ name: 'rows', label: 'Rows', type: 'textarea' })}
${fields.field({ name: 'file', label: 'Or a file', type: 'file' })}
${renderSample(samples['permissions with evidence'])}
<button>Look at them</button></form>`
  return { title: 'Add many consents', body }
}

interface SortedConsents {
  readonly consents: readonly { readonly line: number; readonly fields: FormValues }[]
  readonly rejects: readonly (readonly [line: number, text: string, why: string])[]
}

async function sortConsents(text: string): Promise<SortedConsents> {
  const { rows, bad } = await readPasted(
    text,
    { field: 'rows', maxRows: maxConsents, command: 'callgate records import consents' },
    (source, onRow) => readKnownTable(source, { columns, required: ['number'] }, onRow),
  )
  const consents: { line: number; fields: FormValues }[] = []
  const rejects = bad.map(({ line, value, rule }) => [line, value, rule] as const)
  for (const { line, text, read } of rows) {
    const fields = toConsent(Object.fromEntries(columns.map((name) => [name, read(name) ?? ''])))
    await yieldToEventLoop()
    const parsed = await addConsentEndpoint.request.safeParseAsync(fields, { reportInput: true })
    if (parsed.success) consents.push({ line, fields })
    else {
      const why = createValidationError(parsed.error).problems.map(describeProblem).join('; ')
      rejects.push([line, text, why])
    }
  }
  return { consents, rejects }
}

async function previewMany({ form, formToken }: PageRequest): Promise<PageAnswer> {
  const text = form.file?.trim() ? form.file : (form.rows ?? '')
  const { consents, rejects } = await sortConsents(text)
  const count = formatCount(consents.length, 'consent')
  const body = html`${renderHead(`${path}/many`)}
<p>${count} can be stored.</p>
${renderRejects(rejects)}
${
  consents.length === 0
    ? html`<p><a href="/console/consents/many">Back</a></p>`
    : html`<form method="post" action="/console/consents/add">${renderFormToken(formToken)}
<input type="hidden" name="rows" value="${text}">
<button>Store ${count}</button> <a href="/console/consents/many">Do nothing</a></form>`
}`
  return { title: 'Look before they are stored', body }
}

/** One by one: those before one that is refused are stored, and the page says so. */
async function addMany({ api, caller, form }: PageRequest): Promise<PageAnswer> {
  const { consents } = await sortConsents(form.rows ?? '')
  let stored = 0
  for (const { line, fields } of consents) {
    try {
      await api.call(caller, addConsentEndpoint, { body: fields })
      stored += 1
    } catch (cause) {
      if (!(cause instanceof AppError)) throw cause
      const rule = `line ${line} was refused: ${cause.message}. The ${stored} rows before it were stored`
      throw new AppError(cause.kind, rule, { problems: [{ field: 'rows', rule }] })
    }
  }
  return {
    goTo: '/console/consents/many',
    done: `Stored: ${formatCount(stored, 'consent')}.`,
  }
}

async function showEnd({ form, formToken, refusal }: PageRequest): Promise<PageAnswer> {
  const fields = new Form(form, refusal)
  const body = html`${renderHead(`${path}/end`)}
<p>The consent or relationship in force is ended; it is kept as evidence. Who no longer wants calls at all should be <a href="/console/opt-outs">opted out</a>.</p>
<form method="post" action="/console/consents/end">${renderFormToken(formToken)}
${fields.field({ name: 'phoneList', label: 'Number', type: 'tel', hint: 'Ten digits', required: true })}
${fields.field({ name: 'reason', label: 'Why', required: true })}
${fields.field({ name: 'projId', label: 'Project', hint: 'Master Project if empty' })}
<button>End</button></form>`
  return { title: 'End a consent', body }
}

async function end({ api, caller, form }: PageRequest): Promise<PageAnswer> {
  const { phoneList = '', reason = '', projId } = form
  if (reason.trim() === '') throw invalidRequest([{ field: 'reason', rule: 'is required' }])
  const { removed } = await api.call(caller, ebrRemove, {
    body: { phoneList: toDigits(phoneList), reason, ...(projId && { projId }) },
  })
  const what =
    removed === 0 ? 'No record was in force.' : `Ended: ${formatCount(removed, 'record')}.`
  return { goTo: '/console/consents/end', done: what }
}

export const consentPages: readonly Page[] = [
  {
    path: '/consents',
    entry: { name: 'Consents', needs: addConsentEndpoint },
    get: showOne,
    post: addOne,
  },
  { path: '/consents/many', needs: addConsentEndpoint, get: showMany, post: previewMany },
  { path: '/consents/add', needs: addConsentEndpoint, get: showMany, post: addMany },
  { path: '/consents/end', needs: ebrRemove, get: showEnd, post: end },
]
