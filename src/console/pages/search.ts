/** Search: the decisions of an account. Numbers are sent by POST, so that no address shows them. */

import { searchDecisionsEndpoint, vias } from '../../api/gate/decision-search.js'
import { reasonCodes, reasons } from '../../domain/checks.js'
import { callKinds } from '../../domain/decision.js'
import { AppError } from '../../errors.js'
import { kindNames, renderDecisions, renderInstant } from '../format.js'
import { Form, type FormValues, readSought, toDigits, toInstantText } from '../forms.js'
import { type Html, html, nothing } from '../html.js'
import { renderFormToken } from '../layout.js'
import type { Page, PageAnswer, PageRequest } from '../pages.js'

const filterNames = [
  'number',
  'from',
  'to',
  'decision',
  'reason',
  'kind',
  'project',
  'via',
  'reference',
  'key',
] as const

/** By their names; the code is for who has it from a log. */
const reasonChoices = reasonCodes
  .map((code) => [code, `${reasons[code].name} (${code})`] as const)
  .sort(([, one], [, other]) => one.localeCompare(other))

async function showSearch(request: PageRequest): Promise<PageAnswer> {
  const { form, refusal: refused } = request
  if (refused) return { title: 'Search', body: renderForm(request, form, refused) }
  const sealed = request.parameters.filter
  const opened = sealed === undefined ? '{}' : request.addresses.open(sealed)
  if (opened === undefined) throw new AppError('not-found', 'There is no such search; search again')
  const filter: FormValues = JSON.parse(opened)
  const { cursor } = request.query
  const query = toQuery(filter)
  try {
    if (request.query.output === 'csv') {
      const file = await request.api.send(request.caller, searchDecisionsEndpoint, {
        query: { ...query, output: 'csv' },
      })
      const headers = { 'Content-Disposition': 'attachment; filename="decisions.csv"' }
      return { file: { ...file, headers: { ...file.headers, ...headers } } }
    }
    const page = await request.api.call(request.caller, searchDecisionsEndpoint, {
      query: { ...query, ...(cursor && { cursor }) },
    })
    if ('pages' in page) throw new Error('the search was to answer as JSON')
    const body = html`${renderForm(request, filter)}
${page.decisions.length === 0 ? html`<p class="empty">No decision was found.</p>` : renderDecisions('The decisions that were found, newest first', page.decisions)}
${renderPaging(request, { sealed: sealed ?? request.addresses.seal('{}'), nextCursor: page.nextCursor })}
<p class="note">${page.searchedBackTo ? html`Searched back to ${renderInstant(page.searchedBackTo)}; there may be older decisions. ` : nothing}All decisions recorded before ${renderInstant(page.completeUntil)} were searched.${page.removedBefore ? html` Decisions from before ${renderInstant(page.removedBefore)} were removed.` : nothing}</p>`
    return { title: 'Search', body }
  } catch (refusal) {
    if (!(refusal instanceof AppError) || refusal.problems.length === 0) throw refusal
    return { title: 'Search', body: renderForm(request, filter, refusal), refusal }
  }
}

function toQuery({ from = '', to = '', ...filter }: FormValues): FormValues {
  const times = { from: toInstantText(from), to: toInstantText(to) }
  return keepGiven({ ...filter, ...times })
}

function keepGiven(values: FormValues): FormValues {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim() !== ''))
}

function renderForm({ formToken }: PageRequest, filter: FormValues, refusal?: AppError): Html {
  const form = new Form(filter, refusal)
  const any = ['', 'any'] as const
  return html`<form method="post" action="/console/search" class="filters">
${renderFormToken(formToken)}
${form.field({ name: 'number', label: 'Number', type: 'tel', hint: 'Ten digits' })}
${form.field({ name: 'from', label: 'From (UTC)', type: 'datetime-local' })}
${form.field({ name: 'to', label: 'Before (UTC)', type: 'datetime-local' })}
${form.field({ name: 'decision', label: 'Verdict', choices: [any, ['block', 'Blocked'], ['allow', 'Allowed']] })}
${form.field({ name: 'reason', label: 'Reason', choices: [any, ...reasonChoices] })}
${form.field({ name: 'kind', label: 'Kind of call', choices: [any, ...callKinds.map((kind) => [kind, kindNames[kind] ?? kind] as const)] })}
${form.field({ name: 'project', label: 'Project' })}
${form.field({ name: 'via', label: 'Asked by way of', choices: [any, ...vias.map((via) => [via, via] as const)] })}
${form.field({ name: 'reference', label: 'Reference', hint: 'The whole reference' })}
${form.field({ name: 'key', label: 'Key' })}
<p class="field"><button>Search</button></p>
</form>`
}

function renderPaging(
  { query }: PageRequest,
  { sealed, nextCursor }: { readonly sealed: string; readonly nextCursor: string | undefined },
): Html {
  const path = `/console/search/${sealed}`
  return html`<p class="paging">
${query.cursor ? html`<a href="${path}">Newest</a>` : nothing}
${nextCursor ? html`<a href="${path}?cursor=${encodeURIComponent(nextCursor)}" rel="next">Older</a>` : nothing}
<a href="${path}?output=csv">As CSV</a></p>`
}

async function startSearch({ form, addresses }: PageRequest): Promise<PageAnswer> {
  const filter = keepGiven(readSought(form, filterNames))
  const { number } = filter
  const normalized = number === undefined ? filter : { ...filter, number: toDigits(number) }
  return { goTo: `/console/search/${addresses.seal(JSON.stringify(normalized))}` }
}

export const searchPages: readonly Page[] = [
  {
    path: '/search',
    entry: { name: 'Search', needs: searchDecisionsEndpoint },
    get: showSearch,
    post: startSearch,
  },
  { path: '/search/:filter', get: showSearch },
]
