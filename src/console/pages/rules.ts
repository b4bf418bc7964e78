/** Rules: when a region may be called, by which rules, and what differs on another day. */
import {
  type RegionRulesBody,
  type RulesBody,
  rulesEndpoint,
} from '../../api/calling-hours/rules.js'
import { callKinds } from '../../domain/decision.js'
import { AppError } from '../../errors.js'
import { formatDate, kindNames, renderInstant } from '../format.js'
import { Form, type FormValues } from '../forms.js'
import { type Html, html, nothing } from '../html.js'
import type { Page, PageAnswer, PageRequest } from '../pages.js'
import { renderWeek } from '../week.js'

const title = 'Rules'

async function showRules({ api, caller, query }: PageRequest): Promise<PageAnswer> {
  const { region = '', kind = '', date = '', compareDate = '' } = query
  const asked = { region, kind, date, compareDate }
  try {
    const rules = await api.call(caller, rulesEndpoint, { query: asked })
    const values = { ...asked, date: rules.date, kind: rules.kind }
    const shown = rules.chosen ? renderRegion(rules, rules.chosen) : renderRegions(rules)
    return { title, body: html`${renderForm(rules, values)}${shown}` }
  } catch (refusal) {
    if (!(refusal instanceof AppError) || refusal.problems.length === 0) throw refusal
    const rules = await api.call(caller, rulesEndpoint, {})
    return { title, body: renderForm(rules, asked, refusal), refusal }
  }
}

function renderForm({ regions }: RulesBody, values: FormValues, refusal?: AppError): Html {
  const form = new Form(values, refusal)
  const names = regions
    .map(({ region, name }) => [region, name] as const)
    .sort(([, one], [, other]) => one.localeCompare(other))
  return html`<form method="get" action="/console/rules" class="filters">
${form.field({ name: 'region', label: 'State or province', choices: [['', 'all'], ...names] })}
${form.field({ name: 'kind', label: 'Kind of call', choices: callKinds.map((kind) => [kind, kindNames[kind] ?? kind] as const) })}
${form.field({ name: 'date', label: 'Local day', type: 'date', hint: 'Today if empty' })}
${form.field({ name: 'compareDate', label: 'Compare with', type: 'date', hint: 'Another day, if you like' })}
<p class="field"><button>Show</button></p>
</form>`
}

function renderRegions({ regions, date, kind }: RulesBody): Html {
  const caption = `Local hours on ${formatDate(date)}, ${kindNames[kind] ?? kind}`
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table>
<caption>${caption}</caption>
<thead><tr><th scope="col">Region</th><th scope="col">Hours</th><th scope="col">Closed by</th></tr></thead>
<tbody>${regions.map(
    ({ region, name, hours, closedBy }) =>
      html`<tr><th scope="row"><a href="/console/rules?region=${region}&amp;kind=${kind}&amp;date=${date}">${name}</a></th>
<td class="number">${hours === 'none' ? 'no calls' : hours.replace('-', ' to ')}</td><td>${closedBy ?? nothing}</td></tr>`,
  )}</tbody></table></div>`
}

function renderRegion({ date, kind, asOf }: RulesBody, region: RegionRulesBody): Html {
  const { name, country, week, emergencies, rules, closedDays, next, compared } = region
  const kindName = kindNames[kind] ?? kind
  const days = week.map(({ rule, closedBy, ...hours }) => ({
    name: formatDate(hours.date),
    law: hours,
    note: closedBy === null ? rule : html`<b>${closedBy}</b><br>${rule}`,
  }))
  return html`<section aria-labelledby="week"><h2 id="week">${name}, ${country}: the week of ${formatDate(date)}</h2>
${renderWeek(days, { caption: `When a telemarketing call may be placed (${kindName}), local time`, lawName: 'Hours' })}
${emergencies.map(
  (one) =>
    html`<p class="problem">No calls during ${one.name}, from ${renderInstant(one.from)} ${one.until === null ? 'until an end that is not known' : html`until ${renderInstant(one.until)}`}${one.postalPrefixes.length > 0 ? `, postal codes that begin with ${one.postalPrefixes.join(', ')}` : ''}.</p>`,
)}
</section>
${compared ? html`<section aria-labelledby="compared"><h2 id="compared">What differs on ${formatDate(compared.date)}</h2>${renderChanges(compared.changes, { before: formatDate(date), after: formatDate(compared.date) })}</section>` : nothing}
<section aria-labelledby="rules"><h2 id="rules">What holds on ${formatDate(date)}</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Rules in force"><table>
<caption>All rules in force there, of every kind of call. Collected on ${formatDate(asOf)}; the column Known by says how sure each is.</caption>
<thead><tr><th scope="col">Rule</th><th scope="col">Value</th><th scope="col">Source</th><th scope="col">Known by</th><th scope="col">Holds</th></tr></thead>
<tbody>${rules.map(
    ({
      rule,
      value,
      citation,
      confidence,
      from,
      until,
    }) => html`<tr><th scope="row"><code>${rule}</code></th>
<td>${value}</td><td>${citation}</td><td>${confidence ?? nothing}</td><td>${formatRange(from, until)}</td></tr>`,
  )}</tbody></table></div>
</section>
<section aria-labelledby="closed"><h2 id="closed">Days of ${date.slice(0, 4)} without calls</h2>
${closedDays.length === 0 ? html`<p>None.</p>` : html`<ul>${closedDays.map((one) => html`<li>${formatDate(one.date)}: ${one.name}</li>`)}</ul>`}
</section>
<section aria-labelledby="next"><h2 id="next">Next change</h2>
${next ? renderChanges(next.changes, { before: 'Until then', after: `From ${formatDate(next.date)}` }) : html`<p>None is known.</p>`}
</section>`
}

type Changes = NonNullable<RegionRulesBody['compared']>['changes']

function renderChanges(
  changes: Changes,
  { before, after }: { readonly before: string; readonly after: string },
): Html {
  if (changes.length === 0) return html`<p>Nothing: the same rules hold on both days.</p>`
  const caption = `${before} compared with ${after}`
  const renderSide = (row: Changes[number]['before']) =>
    row === null ? 'no such rule' : html`${row.value}<br><span class="note">${row.citation}</span>`
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table>
<caption>${caption}</caption>
<thead><tr><th scope="col">Rule</th><th scope="col">${before}</th><th scope="col">${after}</th></tr></thead>
<tbody>${changes.map(
    ({ rule, before: old, after: next }) =>
      html`<tr><th scope="row"><code>${rule}</code></th><td>${renderSide(old)}</td><td>${renderSide(next)}</td></tr>`,
  )}</tbody></table></div>`
}

function formatRange(from: string | null, until: string | null): string {
  const parts = [
    ...(from === null ? [] : [`from ${from}`]),
    ...(until === null ? [] : [`until ${until}`]),
  ]
  return parts.join(' ') || 'always'
}

export const rulesPages: readonly Page[] = [
  { path: '/rules', entry: { name: title, needs: rulesEndpoint }, get: showRules },
]
