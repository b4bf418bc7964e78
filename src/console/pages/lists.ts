/** Lists: what is imported, how old it is, its versions, and the way back to an earlier one. */
import {
  type ListBody,
  type ListsBody,
  listsEndpoint,
  rollbackEndpoint,
} from '../../api/lists/lists.js'
import { isOperator, sandboxAccountId } from '../../domain/caller.js'
import { AppError } from '../../errors.js'
import { formatInteger, renderInstant, renderTerms } from '../format.js'
import { Form } from '../forms.js'
import { type Html, html, nothing } from '../html.js'
import { renderFormToken } from '../layout.js'
import type { Page, PageAnswer, PageRequest } from '../pages.js'

type DataRow = ListsBody['numbering'][number]

const stateTexts: Readonly<
  Record<DataRow['state'], readonly [sign: string, text: string, look: string]>
> = {
  fresh: ['✓', 'Fresh', 'pass'],
  'soon-stale': ['!', 'Expires soon', 'unknown'],
  stale: ['✕', 'Too old, not used', 'deny'],
  damaged: ['✕', 'Damaged, not used', 'deny'],
  'not-in-force': ['✕', 'Not used: another version is in force', 'deny'],
  unread: ['-', 'Used by no check', 'none'],
  'in-use': ['✓', 'In use', 'pass'],
}

async function showLists({ api, caller }: PageRequest): Promise<PageAnswer> {
  const { lists, numbering, facts, missing } = await api.call(caller, listsEndpoint)
  const body = html`${missing.length > 0 ? html`<p class="problem">Missing, so calls of this account are blocked: ${missing.join(', ')}.</p>` : nothing}
${caller.accountId === sandboxAccountId ? html`<p>The lists of the sandbox are built in.</p>` : nothing}
${renderTable('Lists', lists, (name) => html`<a href="${pathOf(name)}">${name}</a>`)}
${renderTable('Prefixes', numbering)}
${renderTable('Facts about numbers', facts)}`
  return { title: 'Lists', body }
}

const pathOf = (name: string) => `/console/lists/${encodeURIComponent(name)}`

function renderTable(
  caption: string,
  rows: readonly DataRow[],
  renderName: (name: string) => Html | string = (name) => name,
): Html {
  if (rows.length === 0) return html`<h2>${caption}</h2><p class="empty">None.</p>`
  return html`<h2>${caption}</h2><div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table>
<caption>Age in days since the date of the data, and how old it may be</caption>
<thead><tr><th scope="col">Name</th><th scope="col">State</th><th scope="col">Entries</th><th scope="col">As of</th><th scope="col">Age</th><th scope="col">Version</th></tr></thead>
<tbody>${rows.map(
    (row) => html`<tr><th scope="row">${renderName(row.name)}</th>
<td>${renderState(row)}${row.problem ? html`<br>${row.problem}` : nothing}</td>
<td class="number">${formatEntries(row)}</td>
<td>${row.asOf ? renderInstant(row.asOf) : nothing}</td>
<td>${renderAge(row)}</td>
<td>${row.version ? html`<code>${row.version}</code>` : nothing}</td></tr>`,
  )}</tbody></table></div>`
}

const formatEntries = ({ entries }: DataRow) => (entries === null ? '' : formatInteger(entries))

function renderState({ state }: DataRow): Html {
  const [sign, text, look] = stateTexts[state]
  return html`<span class="verdict ${look}"><span aria-hidden="true">${sign}</span> ${text}</span>`
}

/** A bar up to the maximum age. */
function renderAge({ ageDays, maxAgeDays, state }: DataRow): Html {
  if (ageDays === null) return nothing
  if (maxAgeDays === null) return html`${ageDays} days, no limit`
  const share = Math.min(100, Math.max(0, (100 * ageDays) / maxAgeDays))
  const look = state === 'fresh' ? 'open' : 'over'
  return html`${ageDays} of ${maxAgeDays} days<svg class="bar age" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true"><rect class="day" width="100" height="24"/><rect class="${look}" width="${share.toFixed(1)}" height="24"/></svg>`
}

async function showList(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, parameters } = request
  const { lists } = await api.call(caller, listsEndpoint)
  const list = lists.find(({ name }) => name === parameters.name)
  if (!list) throw new AppError('not-found', 'There is no such list, or it is none of this account')
  return { title: `List ${list.name}`, body: renderList(request, list) }
}

function renderList(request: PageRequest, list: ListBody): Html {
  const { usableUntil, importedAt, inForce, versions } = list
  return html`<dl>${renderTerms([
    ['State', renderState(list)],
    ['Problem', list.problem],
    ['Entries', formatEntries(list)],
    ['As of', list.asOf && renderInstant(list.asOf)],
    ['Age', renderAge(list)],
    ['Used until', usableUntil && renderInstant(usableUntil)],
    ['Imported', importedAt && renderInstant(importedAt)],
    ['Version', list.version],
    ['In force on all servers', inForce],
  ])}</dl>
${
  versions === null
    ? html`<p class="note">It is a list of another account, which this account may use.</p>`
    : html`<section aria-labelledby="versions"><h2 id="versions">Versions</h2>${renderVersions(versions)}</section>
${renderRollback(request, versions)}`
}`
}

type Versions = NonNullable<ListBody['versions']>

function renderVersions(versions: Versions): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Versions of the list"><table>
<caption>The one in use first, then those that are kept</caption>
<thead><tr><th scope="col">Version</th><th scope="col">State</th><th scope="col">Entries</th><th scope="col">As of</th><th scope="col">Imported</th><th scope="col">By</th><th scope="col">From</th></tr></thead>
<tbody>${versions.map(
    ({ version, inUse, entries, asOf, importedAt, importedBy, feed }) => html`<tr>
<th scope="row"><code>${version}</code></th><td>${inUse ? html`<b>in use</b>` : 'kept'}</td><td class="number">${formatInteger(entries)}</td>
<td>${renderInstant(asOf)}</td><td>${renderInstant(importedAt)}</td><td>${importedBy ?? 'not recorded'}</td><td>import ${feed}</td></tr>`,
  )}</tbody></table></div>`
}

function renderRollback(
  { api, caller, form, formToken, parameters, refusal }: PageRequest,
  versions: Versions,
): Html {
  const kept = versions.filter(({ inUse }) => !inUse)
  if (!isOperator(caller) || !api.permits(caller, rollbackEndpoint)) return nothing
  if (kept.length === 0) return html`<p>No earlier version is kept.</p>`
  const fields = new Form(form, refusal)
  return html`<section aria-labelledby="rollback"><h2 id="rollback">Go back to an earlier version</h2>
<p>It is checked completely first. The version that it replaces is kept, so this can be undone.</p>
<form method="post" action="${pathOf(parameters.name ?? '')}">${renderFormToken(formToken)}
${fields.field({ name: 'version', label: 'Version', choices: kept.map(({ version, asOf, entries }) => [version, `${version}, as of ${asOf.slice(0, 10)}, ${formatInteger(entries)} entries`] as const) })}
${fields.field({ name: 'reason', label: 'Why', required: true, hint: 'For the audit table' })}
<p class="field"><button>Go back</button></p></form></section>`
}

/** The same refusal; it names the field if no such version is kept. */
async function nameVersion(
  { api, caller, parameters, form: { version = '' } }: PageRequest,
  refusal: unknown,
): Promise<unknown> {
  if (!(refusal instanceof AppError) || refusal.kind !== 'conflict') return refusal
  const { lists } = await api.call(caller, listsEndpoint)
  const { versions } = lists.find(({ name }) => name === parameters.name) ?? {}
  if (versions?.some((one) => one.version === version)) return refusal
  const problems = [{ field: 'version', value: version, rule: 'is not kept' }]
  return new AppError(refusal.kind, refusal.message, { problems })
}

async function goBack(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, parameters, form } = request
  const { name = '' } = parameters
  const { version = '', reason } = form
  const done = await api
    .call(caller, rollbackEndpoint, { parameters: { name }, body: { version, reason } })
    .catch(async (refusal: unknown) => {
      throw await nameVersion(request, refusal)
    })
  return {
    goTo: pathOf(name),
    done: `Version ${done.version} of ${done.name} is in use again${done.replaced === null ? '' : `; version ${done.replaced} is kept`}. Calls are decided by it within seconds.`,
  }
}

export const listsPages: readonly Page[] = [
  { path: '/lists', entry: { name: 'Lists', needs: listsEndpoint }, get: showLists },
  { path: '/lists/:name', get: showList, post: goBack },
]
