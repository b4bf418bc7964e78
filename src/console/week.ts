/** Draws the hours of a week: a bar a day over 24 hours, beside the same hours as text. */
import { type Html, html, nothing } from './html.js'

/** Hours of a day in local time, such as `08:00` and `20:00`; null without calls. */
export interface DayHours {
  readonly opensAt: string | null
  readonly closesAt: string | null
}

export interface WeekDay {
  readonly name: string
  readonly law: DayHours
  /** Drawn in front of the law. */
  readonly project?: DayHours | undefined
  readonly note?: Html | string | undefined
}

const closed = 'no calls'

/** Hours that other columns have are the ones that the bars show. */
export function renderWeek(
  days: readonly WeekDay[],
  { caption, lawName }: { readonly caption: string; readonly lawName: string },
): Html {
  const hasProject = days.some(({ project }) => project !== undefined)
  const hasNotes = days.some(({ note }) => note !== undefined)
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table class="week">
<caption>${caption}</caption>
<thead><tr><th scope="col">Day</th><th scope="col">${lawName}</th>${hasProject ? html`<th scope="col">Project</th>` : nothing}<td class="bars" aria-hidden="true"><span class="hours"><span>0</span><span>6</span><span>12</span><span>18</span><span>24</span></span></td>${hasNotes ? html`<th scope="col">Why</th>` : nothing}</tr></thead>
<tbody>${days.map(
    ({ name, law, project, note }) => html`<tr><th scope="row">${name}</th>
<td class="number">${formatHours(law)}</td>${hasProject ? html`<td class="number">${project ? formatHours(project) : 'as the law'}</td>` : nothing}
<td class="bars">${renderBar(law, project)}</td>${hasNotes ? html`<td>${note ?? nothing}</td>` : nothing}</tr>`,
  )}</tbody></table></div>`
}

function formatHours({ opensAt, closesAt }: DayHours): string {
  return opensAt === null || closesAt === null ? closed : `${opensAt} to ${closesAt}`
}

/** In minutes of the day. */
function renderBar(law: DayHours, project: DayHours | undefined): Html {
  return html`<svg class="bar" viewBox="0 0 1440 24" preserveAspectRatio="none" aria-hidden="true">
<rect class="day" width="1440" height="24"/>${renderSpan(law, project ? 'law' : 'open', 0)}${project ? renderSpan(project, 'open', 6) : nothing}
${[360, 720, 1080].map((x) => html`<line class="tick" x1="${x}" x2="${x}" y2="24"/>`)}</svg>`
}

function renderSpan({ opensAt, closesAt }: DayHours, name: string, inset: number): Html {
  if (opensAt === null || closesAt === null) return nothing
  const from = toMinutes(opensAt)
  return html`<rect class="${name}" x="${from}" y="${inset}" width="${toMinutes(closesAt) - from}" height="${24 - 2 * inset}"/>`
}

function toMinutes(text: string): number {
  const [hours = 0, minutes = 0] = text.split(':').map(Number)
  return hours * 60 + minutes
}
