/** Audit: who changed what, and who read about whom. Subjects may be numbers, so filters are sent by POST. */
import { type AuditRecordBody, auditEndpoint } from '../../api/accounts/audit.js'
import { AppError } from '../../errors.js'
import { renderInstant } from '../format.js'
import { Form, type FormValues } from '../forms.js'
import { type Html, html, nothing } from '../html.js'
import { renderFormToken } from '../layout.js'
import type { Page, PageAnswer, PageRequest } from '../pages.js'

const filterNames = ['from', 'to', 'action', 'who', 'subject'] as const

async function showAudit(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, parameters, query, addresses } = request
  const sealed = parameters.filter
  const opened = sealed === undefined ? '{}' : addresses.open(sealed)
  if (opened === undefined) throw new AppError('not-found', 'There is no such search; search again')
  const filter: FormValues = JSON.parse(opened)
  const asked = { ...toQuery(filter), ...(query.cursor && { cursor: query.cursor }) }
  try {
    const { records, cursor } = await api.call(caller, auditEndpoint, { query: asked })
    const path = `/console/audit/${sealed ?? addresses.seal('{}')}`
    const body = html`${renderForm(request, filter)}
${renderRecords(records)}
<p class="paging">${query.cursor ? html`<a href="${path}">Newest</a>` : nothing}
${cursor ? html`<a href="${path}?cursor=${encodeURIComponent(cursor)}" rel="next">Older</a>` : nothing}</p>
<p class="note">Looking at this page is a row, too. The number of a person whose records were read is stored as a hash and its last four digits.</p>`
    return { title: 'Audit', body }
  } catch (refusal) {
    if (!(refusal instanceof AppError) || refusal.problems.length === 0) throw refusal
    return { title: 'Audit', body: renderForm(request, filter, refusal), refusal }
  }
}

/** The form has local fields of a browser, which have no zone. */
function toQuery(filter: FormValues): FormValues {
  const entries = Object.entries(filter).map(([name, text]): [string, string] => [
    name,
    /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text) ? `${text}:00Z` : text,
  ])
  return Object.fromEntries(entries)
}

function renderForm({ formToken }: PageRequest, filter: FormValues, refusal?: AppError): Html {
  const form = new Form(filter, refusal)
  return html`<form method="post" action="/console/audit" class="filters">${renderFormToken(formToken)}
${form.field({ name: 'from', label: 'From (UTC)', type: 'datetime-local' })}
${form.field({ name: 'to', label: 'Before (UTC)', type: 'datetime-local' })}
${form.field({ name: 'action', label: 'Action', hint: 'Such as opt-out.added' })}
${form.field({ name: 'who', label: 'Who', hint: 'Such as key:key-1a2b3c4d5e' })}
${form.field({ name: 'subject', label: 'About', hint: 'An id or a number' })}
<p class="field"><button>Search</button></p></form>`
}

function renderRecords(records: readonly AuditRecordBody[]): Html {
  if (records.length === 0) return html`<p class="empty">No row was found.</p>`
  const caption = 'Who did what, the newest first'
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table><caption>${caption}</caption>
<thead><tr><th scope="col">When</th><th scope="col">Who, and where</th><th scope="col">Action</th><th scope="col">About</th><th scope="col">Difference</th><th scope="col">Why</th></tr></thead>
<tbody>${records.map(
    ({ at, who, door, action, subject, before, after, reason }) => html`<tr>
<th scope="row">${renderInstant(at)}</th><td>${who}<br><span class="note">${door}</span></td><td>${action}</td>
<td>${subject.kind} ${subject.id}</td><td>${renderDifference(before, after)}</td><td>${reason ?? nothing}</td></tr>`,
  )}</tbody></table></div>`
}

/** Member by member; those that are equal are left out. */
function renderDifference(before: unknown, after: unknown): Html {
  const [old, now] = [before, after].map((value) =>
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {},
  ) as [Record<string, unknown>, Record<string, unknown>]
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])]
  const lines = names.flatMap((name) => {
    const [was, is] = [formatValue(old[name]), formatValue(now[name])]
    if (was === is) return []
    return [
      html`<li>${name}: ${was === '' ? nothing : html`<del>${was}</del> `}${is === '' ? nothing : html`<ins>${is}</ins>`}</li>`,
    ]
  })
  return lines.length === 0 ? nothing : html`<ul class="difference">${lines}</ul>`
}

const formatValue = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

async function startSearch({ form, addresses }: PageRequest): Promise<PageAnswer> {
  const given = filterNames
    .map((name): [string, string] => [name, (form[name] ?? '').trim()])
    .filter(([, text]) => text !== '')
  return { goTo: `/console/audit/${addresses.seal(JSON.stringify(Object.fromEntries(given)))}` }
}

export const auditPages: readonly Page[] = [
  {
    path: '/audit',
    entry: { name: 'Audit', needs: auditEndpoint },
    get: showAudit,
    post: startSearch,
  },
  { path: '/audit/:filter', get: showAudit },
]
