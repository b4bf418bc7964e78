/** Projects: their registrations, and their calling hours in front of those of the law. */
import {
  type ProjectsBody,
  projectHoursEndpoint,
  projectsEndpoint,
} from '../../api/accounts/project-hours.js'
import { rulesEndpoint } from '../../api/calling-hours/rules.js'
import { getWeekday, parseDay } from '../../domain/time/dates.js'
import { AppError, type FieldProblem, invalidRequest } from '../../errors.js'
import { formatDate, renderInstant, renderTerms } from '../format.js'
import { Form } from '../forms.js'
import { type Html, html, nothing } from '../html.js'
import { renderFormToken } from '../layout.js'
import type { Page, PageAnswer, PageRequest } from '../pages.js'
import { type DayHours, renderWeek } from '../week.js'

type Project = ProjectsBody['projects'][number]
type Hours = Project['hours'][number]

const pathOf = (code: string) => `/console/projects/${encodeURIComponent(code)}`

async function showProjects({ api, caller }: PageRequest): Promise<PageAnswer> {
  const { projects } = await api.call(caller, projectsEndpoint)
  const body = html`<div class="scroll" tabindex="0" role="region" aria-label="Projects"><table>
<caption>The projects of the account that your key may use</caption>
<thead><tr><th scope="col">Code</th><th scope="col">Name</th><th scope="col">State</th><th scope="col">Federal registry</th><th scope="col">States</th><th scope="col">Own hours</th></tr></thead>
<tbody>${projects.map(
    (
      project,
    ) => html`<tr><th scope="row"><a href="${pathOf(project.code)}">${project.code}</a>${project.isMaster ? ' (Master Project)' : nothing}</th>
<td>${project.name}</td><td>${project.status}</td><td>${project.ftcStatus ?? 'no id'}</td>
<td>${project.registrations.map(({ state, status }) => `${state} ${status}`).join(', ')}</td><td>${[...new Set(project.hours.map(({ region }) => region))].join(', ')}</td></tr>`,
  )}</tbody></table></div>`
  return { title: 'Projects', body }
}

async function showProject(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, parameters } = request
  const { projects } = await api.call(caller, projectsEndpoint)
  const project = projects.find(({ code }) => code === parameters.code)
  if (!project) {
    throw new AppError('not-found', 'There is no such project, or your key may not use it')
  }
  const { name, status, ftcStatus, registrations, createdAt } = project
  const { regions } = await api.call(caller, rulesEndpoint)
  const refusal = findWrongWeek(request, regions)
  const body = html`<dl>${renderTerms([
    ['Name', name],
    ['State', status],
    ['Federal registry', ftcStatus ?? 'no id'],
    ['Made', renderInstant(createdAt)],
  ])}</dl>
<section aria-labelledby="registrations"><h2 id="registrations">Registrations of states</h2>
${registrations.length === 0 ? html`<p>None.</p>` : html`<ul>${registrations.map(({ state, status: of, submittedAt }) => html`<li>${state}: ${of}${submittedAt ? html`, submitted ${renderInstant(submittedAt)}` : nothing}</li>`)}</ul>`}</section>
<section aria-labelledby="hours"><h2 id="hours">Hours of its own</h2>${renderHours(project)}</section>
${await renderLaw(request, project, { regions, refusal })}
${renderChange(request, project)}`
  return { title: `Project ${project.code}`, body, refusal }
}

interface NamedRegion {
  readonly region: string
  readonly name: string
}

/** What is wrong with the week that the address asks for. */
function findWrongWeek(
  { query: { weekOf = '', weekDay = '' } }: PageRequest,
  regions: readonly NamedRegion[],
): AppError | undefined {
  const problems: FieldProblem[] = []
  if (weekOf !== '' && !regions.some(({ region }) => region === weekOf)) {
    problems.push({ field: 'weekOf', value: weekOf, rule: 'is no state or province with rules' })
  }
  if (weekDay !== '' && parseDay(weekDay) === undefined) {
    problems.push({ field: 'weekDay', value: weekDay, rule: 'must be a day such as 2027-01-31' })
  }
  return problems.length === 0 ? undefined : invalidRequest(problems)
}

function renderHours({ hours }: Project): Html {
  if (hours.length === 0) return html`<p>None: the hours of the law hold alone.</p>`
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Hours by region"><table>
<caption>Local time of the person called; the law holds as well unless the operator lets projects widen it</caption>
<thead><tr><th scope="col">Region</th><th scope="col">Monday to Friday</th><th scope="col">Saturday</th><th scope="col">Sunday</th><th scope="col">Holds</th></tr></thead>
<tbody>${hours.map(
    ({
      region,
      monFri,
      sat,
      sun,
      effectiveFrom,
      effectiveUntil,
    }) => html`<tr><th scope="row">${region}</th>
<td class="number">${monFri}</td><td class="number">${sat}</td><td class="number">${sun}</td><td>${effectiveFrom ? `from ${effectiveFrom} ` : nothing}${effectiveUntil ? `until ${effectiveUntil}` : nothing}</td></tr>`,
  )}</tbody></table></div>`
}

/** The week of a region by the law, with the hours of the project in front. */
async function renderLaw(
  { api, caller, query }: PageRequest,
  project: Project,
  {
    regions,
    refusal,
  }: { readonly regions: readonly NamedRegion[]; readonly refusal: AppError | undefined },
): Promise<Html> {
  const [first] = project.hours
  const { weekOf: region = first?.region ?? '', weekDay: date = '' } = query
  const form = new Form({ weekOf: region, weekDay: date }, refusal)
  const names = regions.map((one) => [one.region, one.name] as const)
  const rules =
    region === '' || refusal
      ? undefined
      : await api.call(caller, rulesEndpoint, { query: { region, date } })
  return html`<section aria-labelledby="week"><h2 id="week">The law and the project</h2>
<form method="get" action="${pathOf(project.code)}" class="filters">
${form.field({ name: 'weekOf', label: 'Show the week of', choices: [['', 'none'], ...names] })}
${form.field({ name: 'weekDay', label: 'Local day', type: 'date', hint: 'Today if empty' })}
<p class="field"><button>Show</button></p></form>
${
  rules?.chosen
    ? renderWeek(
        rules.chosen.week.map((day) => ({
          name: formatDate(day.date),
          law: day,
          project: findHours(project.hours, region, day.date),
          note: day.closedBy ?? undefined,
        })),
        {
          caption: `${rules.chosen.name}, local time: the law in gray, the project in front`,
          lawName: 'Law',
        },
      )
    : nothing
}</section>`
}

/** Of a local day; `undefined` where the project has none. */
function findHours(all: readonly Hours[], region: string, date: string): DayHours | undefined {
  const row = all.find(
    ({ region: of, effectiveFrom, effectiveUntil }) =>
      of === region &&
      (effectiveFrom === null || effectiveFrom <= date) &&
      (effectiveUntil === null || date <= effectiveUntil),
  )
  if (!row) return undefined
  const weekday = getWeekday(parseDay(date) ?? 0)
  const text = weekday === 0 ? row.sun : weekday === 6 ? row.sat : row.monFri
  const [opensAt = null, closesAt = null] = text === 'none' ? [] : text.split('-')
  return { opensAt, closesAt }
}

function renderChange(
  { api, caller, form, formToken, refusal }: PageRequest,
  { code, status }: Project,
): Html {
  if (!api.permits(caller, projectHoursEndpoint)) return nothing
  if (status === 'inactive') return html`<p>The hours of an inactive project cannot be changed.</p>`
  const fields = new Form(form, refusal)
  const hint = 'Such as 09:00-20:00, or none'
  return html`<section aria-labelledby="change"><h2 id="change">Change the hours of a region</h2>
<form method="post" action="${pathOf(code)}">${renderFormToken(formToken)}
${fields.field({ name: 'region', label: 'State or province', hint: 'Two letters', required: true })}
${fields.field({ name: 'monFri', label: 'Monday to Friday', hint })}
${fields.field({ name: 'sat', label: 'Saturday', hint })}
${fields.field({ name: 'sun', label: 'Sunday', hint })}
${fields.field({ name: 'effectiveFrom', label: 'First day', type: 'date', hint: 'Of all times if empty; replaces those from the same day' })}
${fields.field({ name: 'effectiveUntil', label: 'Last day', type: 'date' })}
${fields.field({
  name: 'remove',
  label: 'What to do',
  choices: [
    ['0', 'set these hours'],
    ['1', 'remove all hours of the region'],
  ],
})}
${fields.field({ name: 'reason', label: 'Why', hint: 'For the audit table' })}
<p class="field"><button>Change</button></p></form></section>`
}

async function changeHours({ api, caller, parameters, form }: PageRequest): Promise<PageAnswer> {
  const { code = '' } = parameters
  const { region = '', monFri, sat, sun, effectiveFrom, effectiveUntil } = form
  const { remove, reason } = form
  const hours = { monFri, sat, sun, effectiveFrom, effectiveUntil }
  await api.call(caller, projectHoursEndpoint, {
    parameters: { code },
    body: { region, ...hours, remove, reason },
  })
  const what = remove === '1' ? 'removed' : 'set'
  return {
    goTo: pathOf(code),
    done: `The hours of ${code} in ${region.toUpperCase()} are ${what}.`,
  }
}

export const projectsPages: readonly Page[] = [
  { path: '/projects', entry: { name: 'Projects', needs: projectsEndpoint }, get: showProjects },
  { path: '/projects/:code', get: showProject, post: changeHours },
]
