/** Now: what is wrong, how many decisions there are and how long they take, and the decisions as they are recorded. */
import {
  type LiveBody,
  type LiveStep,
  liveEndpoint,
  liveStepSeconds,
} from '../../api/accounts/live.js'
import { type StatusBody, statusEndpoint } from '../../api/accounts/status.js'
import type { DecisionRecordBody } from '../../api/gate/decision-body.js'
import { searchDecisionsEndpoint } from '../../api/gate/decision-search.js'
import { streamDecisionsEndpoint } from '../../api/gate/decision-stream.js'
import { isOperator } from '../../domain/caller.js'
import { reasonCodes, reasons } from '../../domain/checks.js'
import { type AppError, invalidRequest } from '../../errors.js'
import { assets } from '../assets.js'
import { kindNames, renderDecisions, renderInstant, renderTable } from '../format.js'
import { Form } from '../forms.js'
import { type Html, html, nothing } from '../html.js'
import type { Page, PageAnswer, PageRequest } from '../pages.js'

const shownDecisions = 50

const verdictChoices = [
  ['', 'all'],
  ['block', 'Blocked'],
  ['allow', 'Allowed'],
] as const

const reasonNames = Object.fromEntries(reasonCodes.map((code) => [code, reasons[code].name]))

async function showNow(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, query } = request
  const { decision: given = '' } = query
  const decision = verdictChoices.find(([word]) => word === given)?.[0] ?? ''
  const rule = 'must be block or allow'
  const refusal =
    decision === given ? undefined : invalidRequest([{ field: 'decision', value: given, rule }])
  const filter = decision === '' ? {} : { decision }
  const page = await api.call(caller, searchDecisionsEndpoint, {
    query: { ...filter, limit: String(shownDecisions) },
  })
  if ('pages' in page) throw new Error('the search was to answer as JSON')
  const body = html`${await renderServer(request)}
${renderStream(page.decisions, decision, refusal)}
<script src="${assets.now.path}" defer></script>`
  return { title: 'Now', body, refusal }
}

async function renderServer({ api, caller }: PageRequest): Promise<Html> {
  if (!isOperator(caller) || !api.permits(caller, liveEndpoint)) return nothing
  const { readiness } = await api.call(caller, statusEndpoint)
  const live = await api.call(caller, liveEndpoint)
  return html`${renderChecks(readiness, live)}
${renderFigures(live.steps)}`
}

/** The words are those of `callgate doctor`. */
function renderChecks(checks: StatusBody['readiness'], { ungatedLegs }: LiveBody): Html {
  const wrong = checks.filter(({ fix }) => fix !== null)
  return html`<h2>What is wrong</h2>
${
  wrong.length === 0
    ? html`<p>Nothing: all ${checks.length} checks of this server pass.</p>`
    : renderTable(
        'What blocks calls now, or a part of them',
        ['About', 'Problem', 'What to do', 'Since'],
        wrong.map(({ name, detail, fix, since }) => [
          name,
          detail ?? 'not ready',
          fix,
          renderInstant(since),
        ]),
      )
}
${
  ungatedLegs > 0
    ? html`<p class="problem">Legs without a valid permit since the server began: ${ungatedLegs}.</p>`
    : nothing
}
<p class="note">All checks are on page <a href="/console/status">Status</a>; <code>callgate doctor</code> finds also what will be wrong soon.</p>`
}

const stepsPerMinute = 60 / liveStepSeconds

interface Minute {
  readonly at: string
  readonly seconds: number
  readonly allowed: number
  readonly blocked: number
  readonly p50Ms: number | null
  readonly p99Ms: number | null
}

/** Of the quantiles of its steps, a minute has the highest. Newest first. */
function toMinutes(steps: readonly LiveStep[]): readonly Minute[] {
  const minutes: Minute[] = []
  for (let end = steps.length; end > 0; end -= stepsPerMinute) {
    const part = steps.slice(Math.max(0, end - stepsPerMinute), end)
    const highest = (name: 'p50Ms' | 'p99Ms') =>
      part.reduce<number | null>((top, step) => {
        const value = step[name]
        return value === null ? top : Math.max(top ?? 0, value)
      }, null)
    const sum = (name: 'allowed' | 'blocked') => part.reduce((all, step) => all + step[name], 0)
    minutes.push({
      at: part.at(-1)?.at ?? '',
      seconds: part.length * liveStepSeconds,
      ...{ allowed: sum('allowed'), blocked: sum('blocked') },
      ...{ p50Ms: highest('p50Ms'), p99Ms: highest('p99Ms') },
    })
  }
  return minutes
}

function renderFigures(steps: readonly LiveStep[]): Html {
  const minutes = toMinutes(steps)
  const toMs = (ms: number | null) => (ms === null ? '-' : `${ms.toFixed(ms < 10 ? 2 : 0)} ms`)
  const toRate = (count: number, { seconds }: Minute) => (count / seconds).toFixed(1)
  const toRows = (toCells: (minute: Minute) => readonly string[]) =>
    minutes.map((minute) => [renderInstant(minute.at), ...toCells(minute)])
  const charts = [
    {
      name: 'rate',
      title: 'Decisions a second',
      legend: 'Solid: allowed. Dashed: blocked.',
      head: ['Allowed a second', 'Blocked a second'],
      rows: toRows((minute) => [toRate(minute.allowed, minute), toRate(minute.blocked, minute)]),
    },
    {
      name: 'share',
      title: 'Blocked share in percent',
      legend: '',
      head: ['Blocked', 'Decisions', 'Share'],
      rows: toRows(({ allowed, blocked }) => {
        const all = allowed + blocked
        const share = all === 0 ? '-' : `${((100 * blocked) / all).toFixed(1)} %`
        return [String(blocked), String(all), share]
      }),
    },
    {
      name: 'latency',
      title: 'Time of a decision in ms',
      legend: 'Solid: 99 of 100 take no longer. Dashed: half take no longer.',
      head: ['p99', 'p50'],
      rows: toRows(({ p99Ms, p50Ms }) => [toMs(p99Ms), toMs(p50Ms)]),
    },
  ]
  return html`<h2>The last 15 minutes</h2>
<p class="note">All accounts of this server.</p>
<div class="charts">${charts.map(
    ({ name, title, legend, head, rows }) => html`<section aria-label="${title}">
<h3>${title}</h3>
<div class="chart" data-chart="${name}" data-figures="/console/now/figures" role="img" aria-label="Chart: ${title}; the table has its numbers"></div>
<p class="note">${legend}</p>
<details><summary>Show as table</summary>
${
  rows.length === 0
    ? html`<p class="empty">The server began less than ${liveStepSeconds} seconds ago.</p>`
    : renderTable(`${title}, by minutes that end then`, ['When', ...head], rows)
}
</details></section>`,
  )}</div>
<link rel="stylesheet" href="${assets.chartStyle.path}">
<script src="${assets.chartScript.path}" defer></script>`
}

function renderStream(
  decisions: readonly DecisionRecordBody[],
  decision: string,
  refusal?: AppError,
): Html {
  const query = decision === '' ? '' : `?decision=${decision}`
  return html`<h2>Decisions</h2>
<form method="get" action="/console/now" class="filters">
${new Form({ decision }, refusal).field({ name: 'decision', label: 'Verdict', choices: verdictChoices })}
<button>Show</button> <button type="button" class="quiet" data-pause hidden>Pause</button>
</form>
<p aria-live="polite" data-count>The last ${decisions.length} decisions. <a href="/console/now${query}">Refresh</a></p>
<div data-stream="/console/now/stream${query}" data-after="${decisions[0]?.id ?? ''}" data-kinds="${JSON.stringify(kindNames)}" data-reasons="${JSON.stringify(reasonNames)}">
${renderDecisions('Decisions, newest first', decisions)}
</div>`
}

export const nowPages: readonly Page[] = [
  { path: '/now', entry: { name: 'Now', needs: searchDecisionsEndpoint }, get: showNow },
  {
    path: '/now/stream',
    get: async ({ api, caller, query }) => ({
      file: await api.send(caller, streamDecisionsEndpoint, { query }),
    }),
  },
  {
    path: '/now/figures',
    get: async ({ api, caller }) => {
      const { steps } = await api.call(caller, liveEndpoint)
      return { file: { json: { steps, stepSeconds: liveStepSeconds } } }
    },
  },
]
