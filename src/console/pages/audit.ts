/** Audit: who changed what, and who read about whom. Subjects may be numbers, so filters are sent by POST. */
import { type AuditRecordBody, auditEndpoint } from '../../api/accounts/audit.js'
import { maxCsvRows } from '../../api/csv.js'
import { formatInstant } from '../../domain/time/dates.js'
import { AppError } from '../../errors.js'
import { renderInstant, renderTable } from '../format.js'
import { Form, type FormValues, readSought, toInstantText } from '../forms.js'
import { type Html, html, nothing } from '../html.js'
import { renderFormToken } from '../layout.js'
import type { Page, PageAnswer, PageRequest } from '../pages.js'
import { mayManage } from './keys/key-parts.js'

const filterNames = ['from', 'to', 'action', 'who', 'subject'] as const

async function showAudit(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, parameters, query, addresses, form, refusal: refused } = request
  if (refused) return { title: 'Audit', body: renderForm(request, form, refused) }
  const sealed = parameters.filter
  const opened = sealed === undefined ? '{}' : addresses.open(sealed)
  if (opened === undefined) throw new AppError('not-found', 'There is no such search; search again')
  const filter: FormValues = JSON.parse(opened)
  const asked = { ...toQuery(filter), ...(query.cursor && { cursor: query.cursor }) }
  try {
    if (query.output === 'csv') {
      const file = await api.send(caller, auditEndpoint, { query: { ...asked, output: 'csv' } })
      const headers = { 'Content-Disposition': 'attachment; filename="audit.csv"' }
      return { file: { ...file, headers: { ...file.headers, ...headers } } }
    }
    const page = await api.call(caller, auditEndpoint, { query: asked })
    if ('pages' in page) throw new Error('the audit was to answer as JSON')
    const { records, cursor } = page
    const path = `/console/audit/${sealed ?? addresses.seal('{}')}`
    const body = html`${renderForm(request, filter)}
${renderRecords(records)}
<p class="paging">${query.cursor ? html`<a href="${path}">Newest</a>` : nothing}
${cursor ? html`<a href="${path}?cursor=${encodeURIComponent(cursor)}" rel="next">Older</a>` : nothing}
<a href="${path}?output=csv">As CSV</a></p>
<p class="note">Looking at this page is a row, too. The number of a person whose records were read is stored as a hash and its last four digits. A file has ${maxCsvRows.toLocaleString('en')} rows at most: narrow the time to get the older ones.</p>`
    return { title: 'Audit', body }
  } catch (refusal) {
    if (!(refusal instanceof AppError) || refusal.problems.length === 0) throw refusal
    return { title: 'Audit', body: renderForm(request, filter, refusal), refusal }
  }
}

function toQuery(filter: FormValues): FormValues {
  const entries = Object.entries(filter).map(([name, text]) => [name, toInstantText(text)])
  return Object.fromEntries(entries)
}

function renderForm({ formToken }: PageRequest, filter: FormValues, refusal?: AppError): Html {
  const form = new Form(filter, refusal)
  return html`<form method="post" action="/console/audit" class="filters">${renderFormToken(formToken)}
${form.field({ name: 'from', label: 'From (UTC)', type: 'datetime-local' })}
${form.field({ name: 'to', label: 'Before (UTC)', type: 'datetime-local' })}
${form.field({ name: 'action', label: 'Action', hint: 'Such as opt-out.added' })}
${form.field({ name: 'who', label: 'Who', hint: 'key:<id> or user:<name>' })}
${form.field({ name: 'subject', label: 'About', hint: 'Id or number' })}
<p class="field"><button>Search</button></p></form>`
}

function renderRecords(records: readonly AuditRecordBody[]): Html {
  if (records.length === 0) return html`<p class="empty">No row was found.</p>`
  const head = ['When', 'Who, and where', 'Action', 'About', 'Why', 'Difference']
  const rows = records.map(({ at, who, door, action, subject, before, after, reason }) => [
    renderInstant(at),
    html`${who}<br><span class="note">${door}</span>`,
    action,
    `${subject.kind} ${subject.id}`,
    reason,
    renderDifference(before, after),
  ])
  return renderTable('Who did what, the newest first', head, rows)
}

/** Member by member; those that are equal are left out. */
function renderDifference(before: unknown, after: unknown): Html {
  const [old, now] = [new Map(listMembers(before)), new Map(listMembers(after))]
  const lines = [...new Set([...old.keys(), ...now.keys()])].flatMap((name) => {
    const [was, is] = [old.get(name), now.get(name)]
    if (was === is) return []
    return [
      html`<li>${name}: ${was === undefined ? nothing : html`<del>${was}</del> `}${is === undefined ? nothing : html`<ins>${is}</ins>`}</li>`,
    ]
  })
  return lines.length === 0 ? nothing : html`<ul class="difference">${lines}</ul>`
}

/** Those of members as `calls.regions`; limits of keys are JSON in a text, and instants numbers. */
function listMembers(value: unknown, name = ''): readonly (readonly [string, string])[] {
  if (value === null || value === undefined) return []
  const document = typeof value === 'string' && value.startsWith('{') ? parseJson(value) : value
  if (Array.isArray(document) && document.every((one) => typeof one !== 'object')) {
    return [[name, document.join(', ')]]
  }
  if (typeof document === 'object' && document !== null) {
    return Object.entries(document).flatMap(([member, one]) =>
      listMembers(one, name === '' ? member : `${name}.${member}`),
    )
  }
  const isInstant = /(?:_at|At|_before|Before)$/.test(name) && typeof document === 'number'
  return [[name, isInstant ? formatInstant(document) : String(document)]]
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

async function startSearch({ form, addresses }: PageRequest): Promise<PageAnswer> {
  const given = Object.entries(readSought(form, filterNames)).filter(([, text]) => text !== '')
  return { goTo: `/console/audit/${addresses.seal(JSON.stringify(Object.fromEntries(given)))}` }
}

export const auditPages: readonly Page[] = [
  {
    path: '/audit',
    entry: { name: 'Audit', needs: auditEndpoint, isFor: mayManage },
    get: showAudit,
    post: startSearch,
  },
  { path: '/audit/:filter', get: showAudit },
]
