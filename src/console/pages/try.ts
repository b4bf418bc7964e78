/** Try a call: what the gate would say of the sandbox's fictional lines, for each kind of call and each hour. Needs no key. */
import { previewEndpoint } from '../../api/gate/preview.js'
import { type CallKind, callKinds } from '../../domain/decision.js'
import { formatDay, formatInstant, formatWithWeekday } from '../../domain/time/dates.js'
import { toInstant, toLocalTime } from '../../domain/time/time-zones.js'
import { AppError } from '../../errors.js'
import { yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'
import { formatNumber, kindNames, renderTable, renderVerdict } from '../format.js'
import { Form } from '../forms.js'
import { html, nothing } from '../html.js'
import type { Page, PageAnswer, PageRequest } from '../pages.js'
import { nameReason } from '../reasons.js'

const places: Readonly<Record<string, { readonly name: string; readonly zone: string }>> = {
  212: { name: 'New York', zone: 'America/New_York' },
  305: { name: 'Florida', zone: 'America/New_York' },
  312: { name: 'Illinois', zone: 'America/Chicago' },
  512: { name: 'Texas', zone: 'America/Chicago' },
  303: { name: 'Colorado', zone: 'America/Denver' },
  310: { name: 'California', zone: 'America/Los_Angeles' },
  206: { name: 'Washington', zone: 'America/Los_Angeles' },
  808: { name: 'Hawaii', zone: 'Pacific/Honolulu' },
  416: { name: 'Ontario', zone: 'America/Toronto' },
}

type Preview = Awaited<ReturnType<typeof preview>>[number]

async function preview(
  { api, caller }: PageRequest,
  call: { readonly numbers: readonly string[]; readonly callKind: CallKind; readonly at?: string },
) {
  await yieldToEventLoop()
  return (await api.call(caller, previewEndpoint, { body: call })).rows
}

async function showLines(request: PageRequest): Promise<PageAnswer> {
  const { query, sandboxLines, origin } = request
  const area = query.area ?? '212'
  const place = findPlace(area)
  const numbers = [...sandboxLines].map(([line]) => `${area}555${line}`)
  const byKind: (readonly Preview[])[] = []
  for (const callKind of callKinds) byKind.push(await preview(request, { numbers, callKind }))
  const rows = [...sandboxLines].map(([, about], index) => {
    const number = numbers[index] ?? ''
    return [
      html`<a href="/console/try/${number}"><span class="number">${formatNumber(number)}</span></a>`,
      about,
      ...byKind.map((rows) => renderShort(rows[index])),
    ]
  })
  const head = [
    'Number',
    'What it is',
    ...callKinds.map((kind) => capitalize(kindNames[kind] ?? kind)),
  ]
  const body = html`<p>May I dial this number now? callgate answers before each call leaves. These lines are fictional: nobody has them, and everything about them is fixed. Outside the calling hours of its place, a call is blocked: choose a number to see each hour of its day.</p>
<form method="get" action="/console/try" class="filters">
${new Form({ area }).field({ name: 'area', label: 'Place', choices: Object.entries(places).map(([code, { name }]) => [code, `${name} (${code})`] as const) })}
<p class="field"><button>Show</button></p></form>
${renderTable(`Now in ${place.name}: ${describeNow(request, place)}`, head, rows)}
<h2>The same from your dialer</h2>
<pre>curl -s ${origin}/v1/decisions -H "loginId: $KEY" -H 'content-type: application/json' \\
  -d '{"number": "${area}5550100", "callKind": "ai"}'</pre>
<p>The key of the sandbox is in <code>first-keys.txt</code> in the data folder. The answer says allow or block, why, and until when; each has a record, which <a href="/console/sign-in">signing in</a> shows.</p>`
  return { title: 'Try a call', body }
}

async function showDay(request: PageRequest): Promise<PageAnswer> {
  const { parameters, sandboxLines, clock } = request
  const [, area = '', line = ''] = /^(\d{3})555(\d{4})$/.exec(parameters.number ?? '') ?? []
  const about = sandboxLines.get(line)
  if (about === undefined) throw new AppError('not-found', 'The sandbox has no such line')
  const place = findPlace(area)
  const { name, zone } = place
  const number = `${area}555${line}`
  const { day } = toLocalTime(zone, clock.now())
  const rows: (readonly [string, ...ReturnType<typeof renderWhole>[]])[] = []
  for (let hour = 0; hour < 24; hour += 1) {
    const at = formatInstant(toInstant(zone, day, hour * 3_600, 'earlier'))
    const cells: ReturnType<typeof renderWhole>[] = []
    for (const callKind of callKinds) {
      const [row] = await preview(request, { numbers: [number], callKind, at })
      cells.push(renderWhole(row))
    }
    rows.push([`${String(hour).padStart(2, '0')}:00`, ...cells])
  }
  const head = ['Local time', ...callKinds.map((kind) => capitalize(kindNames[kind] ?? kind))]
  const body = html`<p>${capitalize(about)}, in ${name}. The local time there is ${describeNow(request, place)}.</p>
${renderTable(`${formatDay(day)}, hour by hour where the number is`, head, rows)}
<p><a href="/console/try?area=${area}">All lines</a></p>`
  return { title: `Try a call to ${formatNumber(number)}`, body }
}

/** `Mon 2026-11-23 12:00 (America/New_York)`: the local time that the rules are applied to. */
function describeNow({ clock }: PageRequest, { zone }: { readonly zone: string }): string {
  const { day, secondOfDay } = toLocalTime(zone, clock.now())
  return `${formatWithWeekday(day)} ${formatInstant(secondOfDay * 1_000).slice(11, 16)} (${zone})`
}

function findPlace(area: string) {
  const place = places[area]
  if (!place) throw new AppError('not-found', 'There is no such place; choose one of the list')
  return place
}

const renderShort = (row: Preview | undefined) =>
  row &&
  html`${renderVerdict(row.decision)}${row.decision === 'allow' ? nothing : html`<br>${nameReason(row.reason)}`}`

const renderWhole = (row: Preview | undefined) =>
  row &&
  html`${renderVerdict(row.decision)}<br>${row.decision === 'allow' ? (row.callingHours ?? row.message) : row.message}`

const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

export const tryPages = [
  { path: '/try', get: showLines },
  { path: '/try/:number', get: showDay },
] satisfies readonly Page[]
