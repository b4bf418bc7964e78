/** Keys: those of the account, what they may do, and what is paused. */
import {
  type KeyBody,
  listKeysEndpoint,
  listPausesEndpoint,
  type PauseBody,
} from '../../../api/accounts/keys.js'
import { searchDecisionsEndpoint } from '../../../api/gate/decision-search.js'
import { type Caller, mainAccountId } from '../../../domain/caller.js'
import { renderInstant, renderTable, renderTerms } from '../../format.js'
import { type Html, html, nothing } from '../../html.js'
import type { Page, PageAnswer, PageRequest } from '../../pages.js'
import { keyFormPages } from './key-forms.js'
import { findKey, listLimits, mayManage, maySupervise, nameKey, renderRights } from './key-parts.js'
import { pathOfPause, pausePages } from './pauses.js'

const stateNames: Readonly<Record<KeyBody['state'], string>> = {
  'in-force': '✓ In force',
  paused: '✕ Paused',
  'not-yet': 'Not yet in force',
  expired: '✕ Expired',
  unreadable: '✕ Refused: this version cannot read its limits',
  revoked: '✕ Revoked',
}

async function showKeys(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, query } = request
  const isAll = query.revoked === 'true'
  const { keys } = await api.call(caller, listKeysEndpoint, {
    query: { revoked: isAll ? 'true' : 'false' },
  })
  const { pauses } = await api.call(caller, listPausesEndpoint)
  const body = html`<section aria-labelledby="stop"><h2 id="stop">Stop AI calls</h2>
${renderSwitches(caller, pauses)}</section>
<section aria-labelledby="all"><h2 id="all">Keys of account ${caller.accountId}</h2>
<p class="actions">${mayManage(caller) ? html`<a class="button" href="/console/keys/new">Make a key</a>` : nothing}
${isAll ? html`<a href="/console/keys">Without those that are revoked</a>` : html`<a href="/console/keys?revoked=true">Also those that are revoked</a>`}</p>
${renderKeys(keys)}</section>`
  return { title: 'Keys', body }
}

/** The wide ones; a single key is paused on its own page. */
function renderSwitches(caller: Caller, pauses: readonly PauseBody[]): Html {
  const { accountId } = caller
  const agents = `agents:${accountId}`
  const rows = [
    { subject: 'ai', name: 'All AI calls of this installation', may: accountId === mainAccountId },
    { subject: `ai:${accountId}`, name: `All AI calls of account ${accountId}`, may: true },
    // Ordered at the command line; it is shown so that somebody can end it.
    { subject: agents, name: `All keys of account ${accountId} for AI calls alone`, may: true },
  ].filter(({ subject: one }) => one !== agents || pauses.some(({ subject }) => subject === agents))
  const head = ['What', 'State', 'Change']
  const caption = 'What can be paused at once; opt-outs are still accepted meanwhile'
  return renderTable(
    caption,
    head,
    rows.map(({ subject, name, may }) => {
      const pause = pauses.find((one) => one.subject === subject)
      const path = pathOfPause(subject)
      if (!pause) return [name, 'Not paused', may ? html`<a href="${path}">Pause</a>` : nothing]
      const mayEnd = may && mayManage(caller)
      return [
        name,
        html`<b class="verdict block">✕ Paused</b> ${describePause(pause)}`,
        mayEnd ? html`<a href="${path}/end">End the pause</a>` : nothing,
      ]
    }),
  )
}

function describePause({ pausedAt, pausedBy, reason }: Omit<PauseBody, 'subject'>): Html {
  return html`since ${renderInstant(pausedAt)} by ${pausedBy}: ${reason}`
}

function renderKeys(keys: readonly KeyBody[]): Html {
  if (keys.length === 0) return html`<p class="empty">There is no key.</p>`
  const head = ['Label', 'State', 'Role', 'Rights', 'Limits', 'Made', 'Last use']
  const rows = keys.map((key) => [
    html`<a href="/console/keys/${key.id}">${nameKey(key)}</a>`,
    stateNames[key.state],
    key.role,
    renderRights(key.rights),
    html`${listLimits(key).map(([name, value]) => html`${name}: ${value}<br>`)}`,
    renderInstant(key.createdAt),
    key.lastUsedAt === undefined ? 'none known' : renderInstant(key.lastUsedAt),
  ])
  return renderTable('The keys of the account, the newest first', head, rows)
}

async function showKey(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, addresses } = request
  const key = await findKey(request, request.parameters.id ?? '')
  const { id, label, state, pause } = key
  const path = `/console/keys/${id}`
  const pausePath = pathOfPause(`key:${id}`)
  const seal = (filter: object) => addresses.seal(JSON.stringify(filter))
  const actions = [
    mayManage(caller) && html`<a class="button" href="${path}/change">Change limits</a>`,
    !pause && html`<a class="button" href="${pausePath}">Pause</a>`,
    pause && mayManage(caller) && html`<a class="button" href="${pausePath}/end">End the pause</a>`,
    mayManage(caller) && html`<a class="button" href="${path}/revoke">Revoke</a>`,
  ].map((action) => action || nothing)
  const body = html`<dl>${renderTerms([
    ['Id', id === caller.keyId ? `${id}, with which you are signed in` : id],
    ['State', stateNames[state]],
    ['Paused', pause && describePause(pause)],
    ['Role', key.role],
    ['Rights', renderRights(key.rights)],
    ...listLimits(key),
    ['Made', renderInstant(key.createdAt)],
    ['Last use', key.lastUsedAt === undefined ? 'none known' : renderInstant(key.lastUsedAt)],
    ['Version of its limits', String(key.version)],
    ['Revoked', key.revokedAt && renderInstant(key.revokedAt)],
  ])}</dl>
${state === 'revoked' ? nothing : html`<p class="actions">${actions}</p>`}
<ul>
${api.permits(caller, searchDecisionsEndpoint) ? html`<li><a href="/console/search/${seal({ key: id })}">Its decisions, the newest first</a></li>` : nothing}
${
  mayManage(caller)
    ? html`<li><a href="/console/audit/${seal({ who: `key:${id}` })}">What else was done with it</a></li>
<li><a href="/console/audit/${seal({ subject: id })}">Who made and changed it</a></li>`
    : nothing
}
</ul>`
  return { title: label === '' ? `Key ${id}` : `Key ${label}`, body }
}

export const keyPages: readonly Page[] = [
  {
    path: '/keys',
    entry: { name: 'Keys', needs: listKeysEndpoint, isFor: maySupervise },
    get: showKeys,
  },
  ...keyFormPages,
  ...pausePages,
  { path: '/keys/:id', get: showKey },
]
