/** How the console writes numbers, instants and words of the API. */
import type { DecisionRecordBody } from '../api/gate/decision-body.js'
import { formatWithWeekday, parseDay } from '../domain/time/dates.js'
import { type Html, html, nothing } from './html.js'
import { renderReason } from './reasons.js'

/** `(212) 555-0106`; anything but ten digits as it is. */
export function formatNumber(number: string): string {
  return number.replace(/^(\d{3})(\d{3})(\d{4})$/, '($1) $2-$3')
}

/** `1,234,567`. */
export function formatInteger(count: number): string {
  return count.toLocaleString('en')
}

/** An instant of the API, such as `2026-11-23T17:00:00.000Z`, to the second; the full text for programs. */
export function renderInstant(text: string): Html {
  const shown = text.replace('T', ' ').replace(/(?:\.\d+)?Z$/, ' UTC')
  return html`<time datetime="${text}">${shown}</time>`
}

/** A text of the API, whose instants are as on the rest of a page. */
export function formatTimes(text: string): string {
  return text.replace(/(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z/g, '$1 $2 UTC')
}

/** `Mon 2026-11-23` of a date of the API. */
export function formatDate(text: string): string {
  const day = parseDay(text)
  return day === undefined ? text : formatWithWeekday(day)
}

/** `1 number`, `1,204 numbers`. */
export function formatCount(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}

const steps = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

/** `3 hours`: rounded down to the largest unit that fits. */
export function formatDuration(ms: number): string {
  for (const [unit, length] of steps) {
    const count = Math.floor(ms / length)
    if (count > 0) return formatCount(count, unit)
  }
  return 'less than a second'
}

/** By a word and a sign as well as by a color. */
export function renderVerdict(decision: string): Html {
  const sign = { allow: '✓', pass: '✓', block: '✕', deny: '✕' }[decision] ?? '?'
  const word = {
    allow: 'Allowed',
    block: 'Blocked',
    pass: 'Pass',
    deny: 'Deny',
    unknown: 'Not known',
  }[decision]
  return html`<span class="verdict ${decision}"><span aria-hidden="true">${sign}</span> ${word ?? decision}</span>`
}

export const kindNames: Readonly<Record<string, string>> = {
  manual: 'manual call',
  autodialed: 'autodialed call',
  ai: 'AI call',
}

/** By the `type` of an EBR record (specification, EBR record). */
export const relationshipNames: Readonly<Record<string, string>> = {
  S: 'sale',
  I: 'inquiry',
  P: 'permission',
  T: 'trial',
}

/** Rows whose value is absent are left out. */
export function renderTerms(
  rows: readonly (readonly [string, Html | string | undefined | null])[],
): Html {
  return html`${rows.map(([name, value]) =>
    value === undefined || value === null || value === ''
      ? nothing
      : html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}`
}

type Cell = Html | string | number | null | undefined

/** A table that may be wider than a narrow window. The first cell of a row names it. */
export function renderTable(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table>
<caption>${caption}</caption>
<thead><tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.map(
    ([name, ...cells]) =>
      html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`,
  )}</tbody></table></div>`
}

/** One row for each decision, which links to why. */
export function renderDecisions(caption: string, decisions: readonly DecisionRecordBody[]): Html {
  const head = ['When', 'Verdict', 'Number', 'Reason', 'Kind', 'Project']
  const rows = decisions.map(
    ({ id, decidedAt, decision, number, reason, message, callKind, projectId }) => [
      html`<a href="/console/decisions/${id}">${renderInstant(decidedAt)}</a>`,
      renderVerdict(decision),
      html`<span class="number">${formatNumber(number)}</span>`,
      renderReason(reason, formatTimes(message)),
      kindNames[callKind] ?? callKind,
      projectId,
    ],
  )
  return renderTable(caption, head, rows)
}
