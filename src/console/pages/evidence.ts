/** Evidence: bundles about a number or a period, for people who trust neither the operator nor us. */

import { journalEndpoint } from '../../api/gate/evidence.js'
import {
  askBundleEndpoint,
  type BundleBody,
  bundleFileEndpoint,
  deleteBundleEndpoint,
  listBundlesEndpoint,
  readBundleEndpoint,
} from '../../api/gate/evidence-bundles.js'
import { AppError } from '../../errors.js'
import { formatInteger, formatNumber, renderInstant, renderTable, renderTerms } from '../format.js'
import { Form, toDigits, toInstantText } from '../forms.js'
import { type Html, html, nothing } from '../html.js'
import { renderFormToken } from '../layout.js'
import type { Page, PageAnswer, PageRequest } from '../pages.js'
import { maySupervise } from './keys/key-parts.js'

const stateNames: Readonly<Record<BundleBody['state'], string>> = {
  waiting: '… Waiting',
  packing: '… Being packed',
  done: '✓ Done',
  failed: '✕ Failed',
  interrupted: '✕ Interrupted',
}

/** Leads to the form for a bundle about a number; nothing if it is not ten digits, or the visitor may ask for none. */
export function renderEvidenceLink({ addresses, api, caller }: PageRequest, number: string): Html {
  const mayAsk = api.permits(caller, askBundleEndpoint) && maySupervise(caller)
  if (!/^\d{10}$/.test(number) || !mayAsk) return nothing
  return html`<p><a href="/console/evidence/about/${addresses.seal(number)}">Ask for evidence about ${formatNumber(number)}</a>: all decisions and records about the number in one file.</p>`
}

async function showAbout(request: PageRequest): Promise<PageAnswer> {
  const number = request.addresses.open(request.parameters.number ?? '')
  if (number === undefined)
    throw new AppError('not-found', 'There is no such page; enter the number on page Evidence')
  return await showBundles({ ...request, form: { number } })
}

async function showBundles(request: PageRequest): Promise<PageAnswer> {
  const { bundles } = await request.api.call(request.caller, listBundlesEndpoint)
  const body = html`<p>A bundle is a zip file with all decisions of this server about a number or a period, and the consents, opt-outs, lists and rules that they rest on. Whoever gets it can check that nothing in it was changed, without trusting this server.
It is kept for three days. With several servers, ask for one on each: each has only its own decisions.</p>
${renderAskForm(request)}
<section aria-labelledby="bundles"><h2 id="bundles">Bundles</h2>
${bundles.length === 0 ? html`<p class="empty">No bundle was asked for on this server in the last three days.</p>` : renderBundles(bundles)}
${bundles.some(isGoingOn) ? html`<p><a href="/console/evidence">Look again</a> in a few seconds to see whether it is done.</p>` : nothing}</section>`
  return { title: 'Evidence', body }
}

const isGoingOn = ({ state }: BundleBody) => state === 'waiting' || state === 'packing'

function renderAskForm({ form, formToken, refusal }: PageRequest): Html {
  const fields = new Form(form, refusal)
  return html`<section aria-labelledby="ask"><h2 id="ask">Ask for a bundle</h2>
<form method="post" action="/console/evidence" class="filters">${renderFormToken(formToken)}
${fields.field({ name: 'number', label: 'Number', type: 'tel', hint: 'Ten digits; empty for all of a period' })}
${fields.field({ name: 'from', label: 'From (UTC)', type: 'datetime-local' })}
${fields.field({ name: 'to', label: 'Before (UTC)', type: 'datetime-local' })}
${fields.field({ name: 'reason', label: 'What for', hint: 'Kept in the audit', required: true })}
<p class="field"><button>Ask for it</button></p></form></section>`
}

function renderBundles(bundles: readonly BundleBody[]): Html {
  const head = ['Asked', 'About', 'State', 'By, and what for', 'Size']
  const rows = bundles.map((bundle) => [
    html`<a href="/console/evidence/${bundle.id}">${renderInstant(bundle.askedAt)}</a>`,
    describeQuestion(bundle),
    html`${describeState(bundle)}${bundle.state === 'done' ? html`<br><a href="/console/evidence/${bundle.id}/file">Download</a>` : nothing}`,
    html`${bundle.askedBy}<br>${bundle.reason}`,
    bundle.bytes === null ? nothing : `${formatInteger(bundle.bytes)} bytes`,
  ])
  return renderTable('The bundles that this server was asked for, newest first', head, rows)
}

function describeQuestion({ number, from, to }: BundleBody): Html {
  const about =
    number === null ? nothing : html`<span class="number">${formatNumber(number)}</span> `
  return html`${about}${from === null ? nothing : html`from ${renderInstant(from)} `}${to === null ? nothing : html`before ${renderInstant(to)}`}`
}

const describeState = ({ state, percent }: BundleBody) =>
  `${stateNames[state]}${percent === null ? '' : `: ${percent} % of the journal searched`}`

async function showBundle(request: PageRequest): Promise<PageAnswer> {
  const { api, caller, parameters } = request
  const bundle = await api.call(caller, readBundleEndpoint, {
    parameters: { id: parameters.id ?? '' },
  })
  const { id, state, bytes, decisions, records } = bundle
  const body = html`<dl>${renderTerms([
    ['State', describeState(bundle)],
    ['What went wrong', bundle.problem && `${bundle.problem}.`],
    ['About', describeQuestion(bundle)],
    ['What for', bundle.reason],
    ['Asked by', bundle.askedBy],
    ['Asked', renderInstant(bundle.askedAt)],
    [
      'Packed',
      bundle.state === 'done' && bundle.endedAt ? renderInstant(bundle.endedAt) : undefined,
    ],
    ['Will be deleted', renderInstant(bundle.deletedAt)],
    ['Decisions', decisions === null ? undefined : formatInteger(decisions)],
    ['Records', records === null ? undefined : formatInteger(records)],
    ['Journal', bundle.origin],
    ['Size', bytes === null ? undefined : `${formatInteger(bytes)} bytes`],
    ['SHA-256', bundle.sha256 === null ? undefined : html`<code>${bundle.sha256}</code>`],
    ['Left out', bundle.leftOut && leftOutTexts[bundle.leftOut]],
  ])}</dl>
${isGoingOn(bundle) ? html`<p>It is not done yet. <a href="/console/evidence/${id}">Look again</a> in a few seconds.</p>` : nothing}
${state === 'done' ? await renderFile(request, bundle) : nothing}
${renderDeleteForm(request, bundle)}`
  return { title: 'An evidence bundle', body }
}

const leftOutTexts: Readonly<Record<NonNullable<BundleBody['leftOut']>, string>> = {
  settings: 'The settings of the server, which only an Administrator of account main may see.',
  others:
    'The settings of the server, and when records of other accounts were written. The records of this account can still be checked.',
}

async function renderFile({ api, caller }: PageRequest, { id }: BundleBody): Promise<Html> {
  const { verifierKey } = await api.call(caller, journalEndpoint)
  return html`<section aria-labelledby="file"><h2 id="file">The file</h2>
<p><a class="button" href="/console/evidence/${id}/file" download>Download evidence-${id}.zip</a></p>
<p>How to check it: unpack it, and run this in its folder. That needs Node 18 or newer and no network. Without a signed head that was kept elsewhere, such as by a witness, the result is NOT PROVEN.</p>
<pre>node verify.mjs --key ${verifierKey} --head FILE</pre>
<p class="note">Send the key (the text after <code>--key</code>) and signed heads separately from the bundle, preferably before there is a dispute. README.txt in the bundle explains the rest.</p></section>`
}

function renderDeleteForm({ form, formToken, refusal }: PageRequest, bundle: BundleBody): Html {
  const { id } = bundle
  const [title, button] = isGoingOn(bundle)
    ? ['Cancel it', 'Cancel this bundle']
    : ['Delete it', 'Delete this bundle']
  return html`<section aria-labelledby="delete"><h2 id="delete">${title}</h2>
<form method="post" action="/console/evidence/${id}">${renderFormToken(formToken)}
${new Form(form, refusal).field({ name: 'reason', label: 'Why', hint: 'Kept in the audit', required: true })}
<p class="actions"><button class="quiet">${button}</button></p></form></section>`
}

async function askForBundle({ api, caller, form }: PageRequest): Promise<PageAnswer> {
  const { number = '', from = '', to = '', reason } = form
  const body = {
    number: number.trim() === '' ? undefined : toDigits(number),
    ...{ from: toInstantText(from) || undefined, to: toInstantText(to) || undefined, reason },
  }
  const { id } = await api.call(caller, askBundleEndpoint, { body })
  return { goTo: `/console/evidence/${id}`, done: 'The bundle was asked for; its state is below.' }
}

async function sendFile({ api, caller, parameters }: PageRequest): Promise<PageAnswer> {
  return { file: await api.send(caller, bundleFileEndpoint, { parameters }) }
}

async function deleteBundle({ api, caller, parameters, form }: PageRequest): Promise<PageAnswer> {
  const { id = '' } = parameters
  const { reason } = form
  await api.call(caller, deleteBundleEndpoint, { parameters: { id }, body: { reason } })
  return { goTo: '/console/evidence', done: 'The bundle was deleted.' }
}

export const evidencePages: readonly Page[] = [
  {
    path: '/evidence',
    entry: { name: 'Evidence', needs: listBundlesEndpoint, isFor: maySupervise },
    get: showBundles,
    post: askForBundle,
  },
  { path: '/evidence/about/:number', get: showAbout },
  { path: '/evidence/:id', get: showBundle, post: deleteBundle },
  { path: '/evidence/:id/file', get: sendFile },
]
