/** Kill switches: pauses the calls of a key or of all AI agents, and lets them go on. */
import { endPauseEndpoint, listPausesEndpoint, pauseEndpoint } from '../../../api/accounts/keys.js'
import { AppError } from '../../../errors.js'
import { renderInstant } from '../../format.js'
import { Form } from '../../forms.js'
import { html, nothing } from '../../html.js'
import { renderFormToken } from '../../layout.js'
import type { Page, PageAnswer, PageRequest } from '../../pages.js'
import { findKey, mayManage, maySupervise, nameKey } from './key-parts.js'

export const pathOfPause = (subject: string): string =>
  `/console/keys/pauses/${encodeURIComponent(subject)}`

interface Paused {
  readonly subject: string
  /** As part of a sentence. */
  readonly name: string
  readonly effect: string
}

/** Throws `not-found` for what is not of the account. */
async function findPaused(request: PageRequest): Promise<Paused> {
  const { subject = '' } = request.parameters
  const { accountId } = request.caller
  const [kind, id = ''] = subject.split(/:(.*)/s)
  if (kind === 'key') {
    const name = `all calls of key ${nameKey(await findKey(request, id))}`
    return { subject, name, effect: 'Every call that the key asks for is blocked' }
  }
  const ai = 'Every AI call is blocked'
  if (subject === 'ai') {
    return { subject, name: 'all AI calls of this installation', effect: `${ai}, of all accounts` }
  }
  if (id === accountId && kind === 'ai') {
    return { subject, name: `all AI calls of account ${accountId}`, effect: ai }
  }
  if (id === accountId && kind === 'agents') {
    const name = `all keys of account ${accountId} for AI calls alone`
    return { subject, name, effect: 'Every call that such a key asks for is blocked' }
  }
  throw new AppError('not-found', `There is nothing ${subject} that could be paused`)
}

async function showPause(request: PageRequest): Promise<PageAnswer> {
  const { caller, form, formToken, refusal } = request
  const { subject, name, effect } = await findPaused(request)
  const fields = new Form(form, refusal)
  const body = html`<p>${effect} until somebody ends the pause, on every server within a second. Opt-outs are still accepted.</p>
<form method="post" action="${pathOfPause(subject)}">${renderFormToken(formToken)}
${fields.field({ name: 'reason', label: 'Why', hint: 'For those who see the blocked calls; at most 200 characters', required: true })}
<p class="actions"><button>Pause now</button>${maySupervise(caller) ? html`<a href="/console/keys">Do not pause</a>` : nothing}</p></form>`
  return { title: `Pause ${name}`, body }
}

async function pause(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, form } = request
  const { subject, name } = await findPaused(request)
  await api.call(caller, pauseEndpoint, { body: { subject, reason: form.reason ?? '' } })
  return { goTo: leadTo(subject), done: `Paused: ${name}.` }
}

const leadTo = (subject: string) =>
  subject.startsWith('key:') ? `/console/keys/${subject.slice(4)}` : '/console/keys'

async function showEnd(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, form, formToken, refusal } = request
  const { subject, name } = await findPaused(request)
  const { pauses } = await api.call(caller, listPausesEndpoint)
  const found = pauses.find((one) => one.subject === subject)
  const fields = new Form(form, refusal)
  const body = html`<p>${
    found
      ? html`Paused since ${renderInstant(found.pausedAt)} by ${found.pausedBy}: ${found.reason}`
      : 'Not paused.'
  }</p>
${
  found && mayManage(caller)
    ? html`<form method="post" action="${pathOfPause(subject)}/end">${renderFormToken(formToken)}
${fields.field({ name: 'reason', label: 'Why it may go on', hint: 'Kept in the audit' })}
<p class="actions"><button>End the pause</button><a href="${leadTo(subject)}">Leave it paused</a></p></form>`
    : nothing
}`
  return { title: `Let go on ${name}`, body }
}

async function end(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, form } = request
  const { subject, name } = await findPaused(request)
  await api.call(caller, endPauseEndpoint, { body: { subject, reason: form.reason } })
  return { goTo: leadTo(subject), done: `No longer paused: ${name}.` }
}

export const pausePages: readonly Page[] = [
  { path: '/keys/pauses/:subject', needs: pauseEndpoint, get: showPause, post: pause },
  { path: '/keys/pauses/:subject/end', needs: endPauseEndpoint, get: showEnd, post: end },
]
