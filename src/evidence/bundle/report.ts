/** `report.html` of a bundle: what its records and rows say, in plain English, to be printed. */
import { formatDay, parseInstant } from '../../domain/time/dates.js'
import { getTimeZone, toLocalTime } from '../../domain/time/time-zones.js'
import type { DecisionDocument } from '../../gate/record/decision-document.js'
import { toReply } from '../../gate/record/describe-decision.js'
import { listRecordedPlaces } from '../../gate/record/read-record.js'
import { escapeHtml, formatPage } from './documents.js'
import {
  type BundleFacts,
  describeQuestion,
  describeRows,
  type StateLine,
  type StateSummary,
} from './facts.js'

/** What each file of `state/` has, for people. */
const stateTitles: Readonly<Record<string, string>> = {
  'consent-records': 'Relationships and permissions',
  consents: 'Consents',
  keys: 'Keys that asked, and their limits',
  lists: 'Lists that the decisions name',
  'opt-out-statements': 'What was said in opt-outs',
  'opt-outs': 'Opt-outs (internal do-not-call list)',
  'own-numbers': 'Own numbers that the calls showed',
  pauses: 'Pauses, and checks in shadow',
  projects: 'Projects and their registrations',
  reassigned: 'Answers about reassigned numbers',
  rules: 'Calling rules on the days of the calls',
  settings: 'Settings and rules files in use',
}

export function formatReport(facts: BundleFacts): string {
  const { question, origin, size, span, counts, reported, state } = facts
  const decided = (counts.decision ?? 0) + (counts.amendment ?? 0)
  const first =
    decided > reported.length
      ? ` The ${reported.length} decisions that follow are the first; records.txt has all records.`
      : ''
  const body = `<p>Asked: ${escapeHtml(describeQuestion(question))}. Log: ${escapeHtml(origin)}, ${size} records signed${
    span
      ? `; span: records
${span[0]} to ${span[1]}`
      : ''
  }.</p>
<p>It has ${counts.decision ?? 0} decisions, ${counts.amendment ?? 0} amendments, ${counts.outcome ?? 0} outcomes, ${counts.audit ?? 0} changes by
people and programs, ${counts.receipt ?? 0} receipts of opt-outs and ${counts.notice ?? 0} notices of erasures.${first}</p>
<h2>Decisions</h2>
${reported.map(formatDecision).join('\n')}
<h2>What they rest on</h2>
<p>A row is from the database, as it was when this was packed. "Stored by record" names the signed record that says who stored it and when.
That record does not have every word of the row: what it does not have, and every row without such a record, is <b>as the
database says today</b>, which is not proven. Times are in UTC.</p>
${state.hasDatabase ? '' : '<p><b>No database was there: this bundle has only what the records say.</b></p>'}
${Object.entries(state.files).map(formatStateFile).join('\n')}
<h2>What this shows</h2>
<p>That these records were in the log when its checkpoint was signed, with these words, in this order. What a record says
is what the program was told and computed then.</p>
<h2>What it does not show</h2>
<p>That a call was or was not placed; that nobody called without asking; that what the program was told was true; and,
without a witness or a time stamp, when the checkpoint was signed.</p>`
  return formatPage('Report', body)
}

function formatDecision(document: DecisionDocument): string {
  const { message, findings } = toReply(document)
  const rows = findings.map(({ check, verdict, detail, source, lists = [] }) => {
    const from = lists.map(({ name, version, asOf }) => `${name} ${version} (as of ${asOf})`)
    return formatCells([check, verdict, detail, [source, ...from].join('; ')])
  })
  const isErased = document.erased === true ? ' <b>A number was erased from this record.</b>' : ''
  const decided = `${escapeHtml(document.decidedAt)} (UTC)${formatLocalTimes(document)}`
  const call = document.callKind === 'ai' ? 'AI call' : `${document.callKind} call`
  return `<section><h3>${escapeHtml(document.decision)}, ${escapeHtml(call)}: ${escapeHtml(message)}</h3>
<p>${decided}, decision ${escapeHtml(document.id)}, number ${escapeHtml(document.number)}, account ${escapeHtml(document.accountId)}.${isErased}</p>
<table><tr><th>Check</th><th>Verdict</th><th>Why</th><th>Source</th></tr>${rows.join('')}</table></section>`
}

/** On the clocks of the places where the number may be, by its record; none if the record does not say where. */
function formatLocalTimes({ decidedAt, facts }: DecisionDocument): string {
  const at = parseInstant(decidedAt)
  const zones = new Set(listRecordedPlaces({ facts }).map(({ zone }) => zone))
  if (at === undefined || zones.size === 0) return ''
  const times = [...zones].map((zone) => {
    const { day, secondOfDay } = toLocalTime(zone, at)
    const parts = [secondOfDay / 3_600, (secondOfDay / 60) % 60, secondOfDay % 60]
    const clock = parts.map((part) => String(Math.floor(part)).padStart(2, '0')).join(':')
    return `${formatDay(day)} ${clock} ${getTimeZone(zone).formatOffset(at, 'short')} (${zone})`
  })
  return `; for the number ${escapeHtml(times.join(' or '))}`
}

const formatCells = (cells: readonly string[]): string =>
  `<tr>${cells.map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')}</tr>`

function formatStateFile([name, { rows, stored, shown }]: [string, StateSummary]): string {
  const title = `<h3>${escapeHtml(stateTitles[name] ?? name)}</h3>`
  if (rows === 0) return `${title}<p>None.</p>`
  const more = rows > shown.length ? ` The first ${shown.length}; state/${name}.jsonl has all.` : ''
  const lines = shown.map(({ storedBy, records, row }) => {
    const by = storedBy === null ? 'none: as the database says today' : `record ${storedBy}`
    return formatCells([by, records.join(', '), describeRow(row)])
  })
  return `${title}<p>${describeRows({ rows, stored })}.${more}</p>
<table><tr><th>Stored by record</th><th>Records about it</th><th>Row</th></tr>${lines.join('')}</table>`
}

const maxDescribed = 2_000

function describeRow(row: StateLine['row']): string {
  const members = Object.entries(row).filter(([, value]) => value !== null && value !== undefined)
  const text = members
    .map(([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join('; ')
  return text.length <= maxDescribed ? text : `${text.slice(0, maxDescribed)}...`
}
