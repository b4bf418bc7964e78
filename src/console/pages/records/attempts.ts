/**
 * Attempts: how often a number may be called, how often it was, and when it may be called again; and calls of other systems. The
 * number is sent by POST, so that no address shows it.
 */
import {
  type AttemptLimitsBody,
  attemptLimitsEndpoint,
  importAttemptsEndpoint,
} from '../../../api/gate/attempts.js'
import { callKinds, callPurposes } from '../../../domain/decision.js'
import { AppError } from '../../../errors.js'
import {
  formatDuration,
  formatNumber,
  kindNames,
  renderInstant,
  renderTable,
} from '../../format.js'
import { Form, type FormValues, readSought, toDigits, toInstantText } from '../../forms.js'
import { type Html, html, nothing } from '../../html.js'
import { renderFormToken, renderSections } from '../../layout.js'
import type { Page, PageAnswer, PageRequest } from '../../pages.js'
import { numberPath, renderAttempts } from './number.js'

const title = 'Attempts'
const path = '/console/attempts'
const sections = [
  { path, name: 'How often' },
  { path: `${path}/new`, name: 'Add one of another system' },
]

const asked = ['number', 'kind', 'purpose', 'projectId', 'personId', 'reason'] as const

const kindChoices = callKinds.map((kind) => [kind, kindNames[kind] ?? kind] as const)
const purposeChoices = callPurposes.map((one) => [one, one.replaceAll('-', ' ')] as const)

function renderForm({ formToken }: PageRequest, values: FormValues, refusal?: AppError): Html {
  const fields = new Form(values, refusal)
  return html`<form method="post" action="${path}" class="filters">${renderFormToken(formToken)}
${fields.field({ name: 'number', label: 'Number', type: 'tel', hint: 'The limits of all places if empty' })}
${fields.field({ name: 'kind', label: 'Kind of call', choices: kindChoices })}
${fields.field({ name: 'purpose', label: 'For', choices: purposeChoices })}
${fields.field({ name: 'projectId', label: 'Project', hint: 'Master Project if empty' })}
${fields.field({ name: 'personId', label: 'Person', hint: 'Your name for them: calls to their other numbers count' })}
${fields.field({ name: 'reason', label: 'What for', hint: 'Kept with the record of who read it' })}
<p class="field"><button>Show</button></p></form>`
}

async function start({ form, addresses }: PageRequest): Promise<PageAnswer> {
  const { number = '', ...values } = readSought(form, asked)
  const sought = { number: toDigits(number), ...values }
  return { goTo: `${path}/${addresses.seal(JSON.stringify(sought))}` }
}

async function showLimits(request: PageRequest): Promise<PageAnswer> {
  const { addresses, parameters, form, refusal: refused } = request
  if (refused) {
    const body = html`${renderHead(request, path)}${renderForm(request, form, refused)}`
    return { title, body }
  }
  const sealed = parameters.asked
  const opened = sealed === undefined ? '{}' : addresses.open(sealed)
  if (opened === undefined)
    throw new AppError('not-found', 'There is no such page; enter the number again')
  const values = JSON.parse(opened) as FormValues
  const { api, caller } = request
  const query = Object.fromEntries(Object.entries(values).filter(([, text]) => text !== ''))
  try {
    const answer = await api.call(caller, attemptLimitsEndpoint, { query })
    const heading = answer.number === null ? title : `${title}: ${formatNumber(answer.number)}`
    const body = html`${renderHead(request, path)}${renderForm(request, values)}${renderAnswer(request, answer)}`
    return { title: heading, body }
  } catch (refusal) {
    if (!(refusal instanceof AppError)) throw refusal
    // A key that is limited to projects must name one first.
    if (
      sealed === undefined &&
      refusal.kind === 'forbidden' &&
      api.permits(caller, attemptLimitsEndpoint)
    )
      return { title, body: html`${renderHead(request, path)}${renderForm(request, values)}` }
    if (refusal.problems.length === 0) throw refusal
    return {
      title,
      body: html`${renderHead(request, path)}${renderForm(request, values, refusal)}`,
      refusal,
    }
  }
}

function renderHead({ api, caller }: PageRequest, here: string): Html {
  if (!api.permits(caller, importAttemptsEndpoint)) return nothing
  const shown = api.permits(caller, attemptLimitsEndpoint)
    ? sections
    : sections.filter(({ path: one }) => one !== path)
  return renderSections(title, shown, here)
}

function renderAnswer(request: PageRequest, answer: AttemptLimitsBody): Html {
  const { number, limits, freeAt, attempts, enforced, asOf } = answer
  const state = enforced
    ? nothing
    : html`<p class="note">The limits are in shadow mode for this account: a limit that is reached is recorded, but blocks no call.</p>`
  const table =
    limits.length === 0
      ? html`<p class="empty">No limit applies to such a call.</p>`
      : renderTable(
          number === null
            ? 'Limits of all places; which ones apply depends on the number'
            : 'Limits where the number may be',
          [...(number === null ? [] : ['Counted', 'Free again']), 'At most', 'Of', 'Rule'],
          limits.map((limit) => renderLimit(limit, number !== null)),
        )
  const free =
    number === null || limits.length === 0
      ? nothing
      : freeAt === null
        ? html`<p>✓ By these limits it may be called now.</p>`
        : html`<p>✕ By these limits it may be called again from ${renderInstant(freeAt)}.</p>`
  const seen =
    number === null || attempts === null
      ? nothing
      : html`<section aria-labelledby="latest"><h2 id="latest">Attempts to ${formatNumber(number)}</h2>${renderAttempts(attempts)}
${attempts.of === 'key' ? html`<p class="note">Of the attempts, only those of your key are listed; the counts are those of the account.</p>` : nothing}
<p><a href="${numberPath(request, number)}">All about the number, and what else may block a call</a></p></section>`
  return html`<section aria-labelledby="limits"><h2 id="limits">Limits</h2>${state}${free}${table}
<p class="note">As of ${renderInstant(asOf)}. Not included: exceptions in the laws, limits of keys, and other reasons to block a call.${number === null ? ' Limits that count whole days are shown with one day more, since the days depend on the time zone.' : nothing}</p></section>${seen}`
}

function renderLimit(limit: AttemptLimitsBody['limits'][number], hasNumber: boolean) {
  const { calls, counted, freeAt, per, citation, id, liftedByPermission } = limit
  const period = limit.days
    ? `${limit.days.count} days (${limit.days.zone})`
    : formatPeriod(limit.seconds ?? 0)
  const own = [`${counted} of ${calls}`, freeAt === null ? 'now' : renderInstant(freeAt)]
  return [
    ...(hasNumber ? own : []),
    `${calls} in ${period}`,
    `${countedNames[limit.counts]}, by ${per}`,
    html`${id === 'house' ? 'Your own limit' : citation}${liftedByPermission ? html`<br><span class="note">A permission on file lifts it</span>` : nothing}`,
  ]
}

const countedNames = {
  all: 'all calls and texts',
  connected: 'those that rang or more',
  completed: 'those answered',
  conversation: 'conversations',
} as const

/** In hours as the laws say, or in days of 24 hours where it is a whole number above one. */
function formatPeriod(seconds: number): string {
  if (seconds % 3_600 !== 0) return formatDuration(seconds * 1_000)
  const hours = seconds / 3_600
  return hours > 48 && hours % 24 === 0
    ? `${hours / 24} days`
    : `${hours} hour${hours === 1 ? '' : 's'}`
}

async function showNew(request: PageRequest): Promise<PageAnswer> {
  const { form, formToken, refusal } = request
  const fields = new Form(form, refusal)
  const body = html`${renderHead(request, `${path}/new`)}
<p>A call or text that another system has placed counts towards the limits of the account, as if it had been allowed here. It cannot be taken back.</p>
<form method="post" action="${path}/new">${renderFormToken(formToken)}
${fields.field({ name: 'number', label: 'Number', type: 'tel', hint: 'Ten digits', required: true })}
${fields.field({ name: 'at', label: 'When (UTC)', type: 'datetime-local', hint: 'When it was dialed or sent, in the last 31 days', required: true })}
${fields.field({ name: 'ref', label: 'Reference', hint: 'Its id in the other system: with it, the same one is counted once', required: true })}
${fields.field({
  name: 'channel',
  label: 'Channel',
  choices: [
    ['call', 'call'],
    ['text', 'text'],
  ],
})}
${fields.field({
  name: 'answered',
  label: 'Reached',
  hint: 'Limits count what is not known',
  choices: [
    ['', 'not known'],
    ['true', 'answered'],
    ['false', 'not answered'],
  ],
})}
${fields.field({ name: 'purpose', label: 'For', choices: purposeChoices })}
${fields.field({ name: 'subject', label: 'Subject', hint: 'One of the settings; counts for every subject if empty' })}
${fields.field({ name: 'personId', label: 'Person', hint: 'Your name for them' })}
<p class="field"><button>Add</button></p></form>`
  return { title: 'Add an attempt of another system', body }
}

async function addAttempt({ api, caller, form, addresses }: PageRequest): Promise<PageAnswer> {
  const { number = '', at = '', ref = '', channel, answered, purpose, subject, personId } = form
  const attempt = {
    ...{ number: toDigits(number), at: toInstantText(at), ref, channel },
    ...(answered && { answered: { true: true, false: false }[answered] ?? answered }),
    ...(purpose && { purpose }),
    ...(subject && { subject }),
    ...(personId && { personId }),
  }
  try {
    await api.call(caller, importAttemptsEndpoint, { body: { attempts: [attempt] } })
  } catch (refusal) {
    if (!(refusal instanceof AppError)) throw refusal
    // Its fields are those of the form.
    const problems = refusal.problems.map(({ field, ...rest }) => ({
      ...rest,
      field: field.replace(/^attempts\[0\]\.?/, ''),
    }))
    throw new AppError(refusal.kind, refusal.message, { problems })
  }
  const done = `Counted: ${channel === 'text' ? 'a text' : 'a call'} to ${formatNumber(attempt.number)}.`
  const values = { number: attempt.number, purpose: purpose ?? '', personId: personId ?? '' }
  // A key that is limited to projects must name one to see the limits.
  const maySee = api.permits(caller, attemptLimitsEndpoint) && caller.limits.projects === 'any'
  if (!maySee) return { goTo: `${path}/new`, done }
  return { goTo: `${path}/${addresses.seal(JSON.stringify(values))}`, done }
}

export const attemptsPages: readonly Page[] = [
  {
    path: '/attempts',
    entry: { name: title, needs: attemptLimitsEndpoint },
    get: showLimits,
    post: start,
  },
  { path: '/attempts/new', needs: importAttemptsEndpoint, get: showNew, post: addAttempt },
  { path: '/attempts/:asked', get: showLimits },
]
