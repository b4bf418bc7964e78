/** Forms that make, change and revoke a key. */
import {
  changeKeyEndpoint,
  createKeyEndpoint,
  type KeyBody,
  revokeKeyEndpoint,
} from '../../../api/accounts/keys.js'
import { type Caller, nameCaller, rights, roles } from '../../../domain/caller.js'
import { approvalRules, callKinds } from '../../../domain/mandate.js'
import { AppError } from '../../../errors.js'
import { kindNames } from '../../format.js'
import { Form, type FormValues } from '../../forms.js'
import { type Html, html, nothing } from '../../html.js'
import { renderFormToken } from '../../layout.js'
import type { Page, PageAnswer, PageRequest } from '../../pages.js'
import { findKey, mayManage, nameKey, rightNames } from './key-parts.js'

async function showNew({ caller, form, formToken, refusal }: PageRequest): Promise<PageAnswer> {
  requireManager(caller)
  const fields = new Form(form, refusal)
  const body = html`<p>A key may do no more than you may. It is shown once, on the next page.</p>
<form method="post" action="/console/keys/new">${renderFormToken(formToken)}
${fields.field({ name: 'label', label: 'Label', hint: 'What it is for, such as ai-agent-1; no other key in force has it', required: true })}
${fields.field({ name: 'role', label: 'Role', hint: 'An Agent removes no opt-outs and approves no calls; a Supervisor does not change keys', choices: roles.map((role) => [role, role]) })}
${renderLimits(fields, caller)}
${renderReason(fields)}
<p class="field"><button>Make the key</button></p></form>`
  return { title: 'Make a key', body }
}

/** Refused by the endpoints as well, but nobody should fill in a form for nothing. */
function requireManager(caller: Caller): void {
  if (mayManage(caller)) return
  const rule = 'making and changing keys needs role Administrator and no limit to projects'
  throw new AppError('forbidden', `${nameCaller(caller)}: ${rule}`)
}

const renderReason = (fields: Form): Html =>
  fields.field({ name: 'reason', label: 'Why', hint: 'Kept in the audit' })

const countLabels = {
  attemptsPerHour: 'Most calls in an hour',
  attemptsPerDay: 'Most calls in 24 hours',
  attemptsPerNumberPerDay: 'Most calls to a number in 24 hours',
  coolDownSeconds: 'Seconds between two calls to a number',
  concurrent: 'Most calls in progress (each counts for two hours)',
} as const
const countNames = Object.keys(countLabels) as readonly (keyof typeof countLabels)[]

/** Offers what the caller may give, and what the key has that is changed. */
function renderLimits(fields: Form, { limits }: Caller, key?: KeyBody): Html {
  const offer = <Word>(
    words: readonly Word[],
    own: readonly Word[] | 'any',
    held: readonly Word[] = [],
  ) => words.filter((word) => own === 'any' || own.includes(word) || held.includes(word))
  const heldKinds = key && (key.kinds ?? callKinds)
  return html`${fields.boxes({ name: 'rights', label: 'What it may do', choices: offer(rights, [...limits.rights], key?.rights).map((right) => [right, rightNames[right]]) })}
${fields.boxes({ name: 'kinds', label: 'Calls it may ask for', choices: offer(callKinds, limits.callKinds, heldKinds).map((kind) => [kind, kindNames[kind] ?? kind]) })}
<h2>Limits</h2><p>What is left empty is not limited, or as for the key you are signed in with. Lists have commas between.</p>
${fields.field({ name: 'projects', label: 'Projects', hint: 'Only these and their campaigns' })}
${fields.field({ name: 'campaigns', label: 'Campaigns', hint: 'By their numbers' })}
${fields.field({ name: 'callerIds', label: 'Caller IDs', hint: 'Only calls that show one of these numbers; valid: any valid number, but there must be one' })}
${fields.field({ name: 'regions', label: 'States and provinces', hint: 'Only calls to these, such as NY, NJ' })}
${countNames.map((name) => fields.field({ name, label: countLabels[name], type: 'count' }))}
${fields.field({ name: 'approval', label: 'Approval by a person', choices: [['', 'not needed'], ...approvalRules.map((rule): [string, string] => [rule, rule === 'always' ? 'for every call' : 'for the first call to a number in seven days'])] })}
${fields.field({ name: 'notBefore', label: 'In force from (UTC)', type: 'datetime-local' })}
${fields.field({ name: 'expires', label: 'Expires (UTC)', type: 'datetime-local' })}`
}

const listNames = ['projects', 'campaigns', 'callerIds', 'regions'] as const
const instantNames = ['notBefore', 'expires'] as const

/** The limits of the API by what a form has sent; `empty` stands for a field without a value. */
function toLimits(form: FormValues, empty: null | undefined): Record<string, unknown> {
  const words = (name: string) => (form[name] ?? '').split(/[\s,;]+/).filter((one) => one !== '')
  const toNumber = (text: string) => (/^\d{1,9}$/.test(text) ? Number(text) : text)
  const lists = listNames.map((name): [string, unknown] => {
    const given = words(name)
    if (name === 'callerIds' && given.join() === 'valid') return [name, 'valid']
    if (given.length === 0) return [name, empty]
    return [name, name === 'campaigns' ? given.map(toNumber) : given]
  })
  const counts = countNames.map((name): [string, unknown] => {
    const text = (form[name] ?? '').trim()
    return [name, text === '' ? empty : toNumber(text)]
  })
  const instants = instantNames.map((name): [string, unknown] => {
    const text = form[name] ?? ''
    return [name, text === '' ? empty : `${text}${text.length === 16 ? ':00Z' : ''}`]
  })
  return {
    ...{ rights: words('rights'), kinds: words('kinds'), approval: form.approval || empty },
    ...Object.fromEntries([...lists, ...counts, ...instants]),
  }
}

async function create({ api, caller, form }: PageRequest): Promise<PageAnswer> {
  const { kinds, ...limits } = toLimits(form, undefined)
  const { limits: own } = caller
  const most = own.callKinds === 'any' ? callKinds.length : own.callKinds.length
  const { id, key } = await api.call(caller, createKeyEndpoint, {
    body: {
      ...{ label: form.label, role: form.role, reason: form.reason, ...limits },
      // All that it may have is no limit.
      ...((kinds as readonly string[]).length !== most && { kinds }),
    },
  })
  const body = html`<section class="summary allow" aria-labelledby="value"><h2 id="value">The key is shown this once</h2>
<p><code class="secret">${key}</code></p>
<p>Copy it to where it is used, such as the settings of a dialer, as <code>loginId</code>. It is stored hashed, and nobody can show it again: if it is lost, revoke it and make another.</p></section>
<p class="actions"><a class="button" href="/console/keys/${id}">What it may do</a><a href="/console/keys">All keys</a></p>`
  return { title: `Key ${form.label} is made`, body }
}

/** What the form of a key shows, by the names of its fields. */
function toForm(key: KeyBody): FormValues {
  const { callerIds } = key
  const texts: Readonly<Record<string, string | undefined>> = {
    rights: key.rights.join(','),
    kinds: (key.kinds ?? callKinds).join(','),
    projects: key.projects?.join(', '),
    campaigns: key.campaigns?.join(', '),
    callerIds: typeof callerIds === 'string' ? callerIds : callerIds?.join(', '),
    regions: key.regions?.join(', '),
    ...Object.fromEntries(countNames.map((name) => [name, key[name]?.toString()])),
    approval: key.approval,
    ...Object.fromEntries(instantNames.map((name) => [name, key[name]?.slice(0, 16)])),
  }
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text ?? '']))
}

async function showChange(request: PageRequest): Promise<PageAnswer> {
  const { caller, form, formToken, refusal, parameters } = request
  requireManager(caller)
  const key = await findKey(request, parameters.id ?? '')
  // Boxes that are not checked are not sent.
  const values = refusal ? { rights: '', kinds: '', ...form } : toForm(key)
  const fields = new Form(values, refusal)
  const body = html`<form method="post" action="/console/keys/${key.id}/change">${renderFormToken(formToken)}
<input type="hidden" name="version" value="${form.version ?? String(key.version)}">
${renderLimits(fields, caller, key)}
${renderReason(fields)}
<p class="actions"><button>Change the limits</button><a href="/console/keys/${key.id}">Leave them</a></p></form>`
  return { title: `Change what ${nameKey(key)} may do`, body }
}

async function change(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, form, parameters } = request
  const key = await findKey(request, parameters.id ?? '')
  const shown = toForm(key)
  const sent = Object.entries(toLimits(form, null)).filter(
    ([name]) => (form[name] ?? '') !== shown[name],
  )
  const limits = Object.fromEntries(sent)
  // All there are is no limit.
  if ((limits.kinds as readonly string[] | undefined)?.length === callKinds.length)
    limits.kinds = null
  const body = { ...limits, version: Number(form.version), reason: form.reason }
  const { version } = await api.call(caller, changeKeyEndpoint, {
    parameters: { id: key.id },
    body,
  })
  const done = `The limits of ${nameKey(key)} are changed. This is version ${version} of them.`
  return { goTo: `/console/keys/${key.id}`, done }
}

async function showRevoke(request: PageRequest): Promise<PageAnswer> {
  const { caller, form, formToken, refusal, parameters } = request
  requireManager(caller)
  const key = await findKey(request, parameters.id ?? '')
  const body = html`<p>The key and its access tokens are refused from then on, and cannot be brought back. Decisions that were made with it stay.</p>
${key.id === caller.keyId ? html`<p><b>It is the key you are signed in with: you will be signed out.</b></p>` : nothing}
<form method="post" action="/console/keys/${key.id}/revoke">${renderFormToken(formToken)}
${renderReason(new Form(form, refusal))}
<p class="actions"><button>Revoke the key</button><a href="/console/keys/${key.id}">Leave it</a></p></form>`
  return { title: `Revoke ${nameKey(key)}`, body }
}

async function revoke(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, form, parameters } = request
  const key = await findKey(request, parameters.id ?? '')
  await api.call(caller, revokeKeyEndpoint, {
    parameters: { id: key.id },
    body: { reason: form.reason },
  })
  return { goTo: '/console/keys', done: `${nameKey(key)} is revoked.` }
}

export const keyFormPages: readonly Page[] = [
  { path: '/keys/new', needs: createKeyEndpoint, get: showNew, post: create },
  { path: '/keys/:id/change', needs: changeKeyEndpoint, get: showChange, post: change },
  { path: '/keys/:id/revoke', needs: revokeKeyEndpoint, get: showRevoke, post: revoke },
]
