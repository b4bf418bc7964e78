/** Status: what state the server is in, and by which settings. */
import { type StatusBody, statusEndpoint } from '../../api/accounts/status.js'
import { isOperator } from '../../domain/caller.js'
import { formatInteger, renderInstant, renderTerms } from '../format.js'
import { type Html, html, nothing } from '../html.js'
import type { Page, PageAnswer, PageRequest } from '../pages.js'

async function showStatus({ api, caller }: PageRequest): Promise<PageAnswer> {
  const status = await api.call(caller, statusEndpoint)
  const { version, host, ready, readiness, jobs, database, servers, settings } = status
  const body = html`<section class="summary ${ready ? 'allow' : 'block'}"><p class="big">${renderState(ready, ready ? 'Ready' : 'Not ready')}</p>
<dl>${renderTerms([
    ['Version', version],
    ['Server', host],
    ['Database', database.engine === 'postgres' ? 'PostgreSQL' : 'SQLite'],
    ['Leader', database.isLeader === null ? undefined : database.isLeader ? 'yes' : 'no'],
    [
      'Changes of others known until',
      database.changesKnownUntil && renderInstant(database.changesKnownUntil),
    ],
    ['Problem', database.problem],
  ])}</dl></section>
<h2>Readiness</h2>${renderReadiness(readiness)}
<h2>Background jobs</h2>${renderJobs(jobs)}
${servers.length === 0 ? nothing : html`<h2>Servers and edges</h2>${renderServers(servers)}`}
<h2>Settings in force</h2>${renderSettings(settings)}`
  return { title: 'Status', body }
}

function renderState(isGood: boolean, text: string): Html {
  return html`<span class="verdict ${isGood ? 'pass' : 'deny'}"><span aria-hidden="true">${isGood ? '✓' : '✕'}</span> ${text}</span>`
}

function renderTable(caption: string, head: readonly string[], rows: readonly Html[]): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table>
<caption>${caption}</caption>
<thead><tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table></div>`
}

const whenOrNever = (at: string | null) => (at === null ? 'not yet' : renderInstant(at))

function renderReadiness(checks: StatusBody['readiness']): Html {
  return renderTable(
    'What must hold for calls to be decided',
    ['Check', 'State', 'Since', 'Says'],
    checks.map(
      ({ name, ready, since, detail }) => html`<tr><th scope="row">${name}</th>
<td>${renderState(ready, ready ? 'Ready' : 'Not ready')}</td><td>${renderInstant(since)}</td><td>${detail ?? nothing}</td></tr>`,
    ),
  )
}

function renderJobs(jobs: StatusBody['jobs']): Html {
  return renderTable(
    'Of this server, with the end of the last run',
    ['Job', 'Now', 'Last run ended', 'Last run'],
    jobs.map(
      ({ name, isRunning, lastEndedAt, hasFailed }) => html`<tr><th scope="row">${name}</th>
<td>${isRunning ? 'running' : 'waiting'}</td><td>${whenOrNever(lastEndedAt)}</td><td>${hasFailed === null ? nothing : renderState(!hasFailed, hasFailed ? 'Failed, tried again' : 'Done')}</td></tr>`,
    ),
  )
}

function renderServers(servers: StatusBody['servers']): Html {
  return renderTable(
    'Whose decisions are in the database, and how far',
    ['Journal', 'Kind', 'Last seen', 'Records', 'Complete until'],
    servers.map(
      ({
        journal,
        account,
        lastSeenAt,
        copiedRecords,
        copiedUntil,
      }) => html`<tr><th scope="row"><code>${journal}</code></th>
<td>${account === null ? 'server' : `edge of account ${account}`}</td><td>${renderInstant(lastSeenAt)}</td><td class="number">${formatInteger(copiedRecords)}</td><td>${whenOrNever(copiedUntil)}</td></tr>`,
    ),
  )
}

const originTexts = { variable: 'variable', file: 'settings file', default: 'default' } as const

function renderSettings(settings: StatusBody['settings']): Html {
  const isSet = ({ origin }: StatusBody['settings'][number]) => origin !== 'default'
  const renderRows = (rows: StatusBody['settings']) =>
    rows.map(
      ({ name, value, origin, variable }) => html`<tr><th scope="row"><code>${name}</code></th>
<td><code>${value}</code></td><td>${originTexts[origin]}${origin === 'variable' ? html` <code>${variable}</code>` : nothing}</td></tr>`,
    )
  const head = ['Setting', 'Value', 'From']
  return html`${renderTable('Set by the operator; secrets are hidden', head, renderRows(settings.filter(isSet)))}
<details><summary>All others, which are as by default</summary>
${renderTable('Settings that are as by default', head, renderRows(settings.filter((one) => !isSet(one))))}
</details>`
}

export const statusPages: readonly Page[] = [
  {
    path: '/status',
    entry: { name: 'Status', needs: statusEndpoint, isFor: isOperator },
    get: showStatus,
  },
]
