/** Keys: those of the account, what they may do, and what is paused. */
import {
  type KeyBody,
  listKeysEndpoint,
  listPausesEndpoint,
  type PauseBody,
} from '../../../api/accounts/keys.js'
import { type Caller, mainAccountId } from '../../../domain/caller.js'
import { renderInstant, renderTerms } from '../../format.js'
import { type Html, html, nothing } from '../../html.js'
import type { Page, PageAnswer, PageRequest } from '../../pages.js'
import { keyFormPages } from './key-forms.js'
import { findKey, listLimits, mayManage, renderRights } from './key-parts.js'
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
  const renderRow = ({ subject, name, may }: (typeof rows)[number]) => {
    const pause = pauses.find((one) => one.subject === subject)
    const path = pathOfPause(subject)
    return html`<tr><th scope="row">${name}</th>
<td>${pause ? html`<b class="verdict block">✕ Paused</b> ${describePause(pause)}` : 'Not paused'}</td>
<td>${pause ? (may && mayManage(caller) ? html`<a href="${path}/end">End the pause</a>` : nothing) : may ? html`<a href="${path}">Pause</a>` : nothing}</td></tr>`
  }
  const caption = 'What can be paused at once; opt-outs are still accepted meanwhile'
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table><caption>${caption}</caption>
<thead><tr><th scope="col">What</th><th scope="col">State</th><th scope="col">Change</th></tr></thead>
<tbody>${rows.map(renderRow)}</tbody></table></div>`
}

function describePause({ pausedAt, pausedBy, reason }: Omit<PauseBody, 'subject'>): Html {
  return html`since ${renderInstant(pausedAt)} by ${pausedBy}: ${reason}`
}

function renderKeys(keys: readonly KeyBody[]): Html {
  if (keys.length === 0) return html`<p class="empty">There is no key.</p>`
  const caption = 'The keys of the account, the newest first'
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table><caption>${caption}</caption>
<thead><tr><th scope="col">Label</th><th scope="col">State</th><th scope="col">Role</th><th scope="col">Rights</th><th scope="col">Limits</th><th scope="col">Made</th></tr></thead>
<tbody>${keys.map(
    (
      key,
    ) => html`<tr><th scope="row"><a href="/console/keys/${key.id}">${key.label || key.id}</a></th>
<td>${stateNames[key.state]}</td><td>${key.role}</td><td>${renderRights(key.rights)}</td>
<td>${listLimits(key).map(([name, value]) => html`${name}: ${value}<br>`)}</td><td>${renderInstant(key.createdAt)}</td></tr>`,
  )}</tbody></table></div>`
}

async function showKey(request: PageRequest): Promise<PageAnswer> {
  const { caller, addresses } = request
  const key = await findKey(request, request.parameters.id ?? '')
  const { id, label, state, pause } = key
  const path = `/console/keys/${id}`
  const pausePath = pathOfPause(`key:${id}`)
  const about = addresses.seal(JSON.stringify({ subject: id }))
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
    ['Version of its limits', String(key.version)],
    ['Revoked', key.revokedAt && renderInstant(key.revokedAt)],
  ])}</dl>
${state === 'revoked' ? nothing : html`<p class="actions">${actions}</p>`}
<p><a href="/console/audit/${about}">Who made and changed it</a></p>`
  return { title: label === '' ? `Key ${id}` : `Key ${label}`, body }
}

export const keyPages: readonly Page[] = [
  { path: '/keys', entry: { name: 'Keys', needs: listKeysEndpoint }, get: showKeys },
  ...keyFormPages,
  ...pausePages,
  { path: '/keys/:id', get: showKey },
]
