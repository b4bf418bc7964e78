/**
 * All that an account has about one number, put together from what services, lists and the journal know. Every part is read by
 * itself, so that one that fails leaves the others. Nothing is counted, and no provider is asked unless the request says so.
 */
import type { NumberBody, NumberParts, NumberRequest } from '../../api/records/number.js'
import type { Settings } from '../../config/settings.js'
import { type Caller, nameCaller, type Right } from '../../domain/caller.js'
import { callKinds } from '../../domain/decision.js'
import { parseDialString } from '../../domain/phone-number.js'
import type { ComplaintSource } from '../../domain/spam-labels.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { formatDay, formatInstant } from '../../domain/time/dates.js'
import { describeSaid, type Said } from '../../domain/words/words.js'
import { AppError, getErrorMessage, invalidRequest } from '../../errors.js'
import type { DecisionSearch } from '../../gate/journal/search/decision-search.js'
import { toReply } from '../../gate/record/describe-decision.js'
import type { ViewOf } from '../../service/account-view.js'
import { createReadLog } from '../../service/audit/read-log.js'
import type { ConsentHistories } from '../../service/consent/consent-history.js'
import { describeNoPlace, readMemberships } from '../../service/numbers/list-membership.js'
import {
  maxRows,
  type NumberQuestion,
  readAttempts,
  readChanges,
  readConsents,
  readOptOuts,
} from '../../service/numbers/number-history.js'
import { requireScope, type ScopeResolver } from '../../service/projects/project-scope.js'
import type { NumberRecords } from '../../service/reputation/number-records.js'
import { chooseByAccount } from '../../service/sandbox/sandbox.js'
import type { ThreadDatabase } from '../../storage/open-database.js'
import type { NumberQuestions } from './number-questions.js'

/** What is needed of the program. */
export interface NumberPageDeps {
  /** A reload replaces them. */
  readonly getSettings: () => Settings
  readonly clock: Clock
  readonly storage: ThreadDatabase
  readonly projects: ScopeResolver
  readonly viewOf: ViewOf<'clock' | 'numberingPlan' | 'lists'>
  readonly consentHistories: Pick<ConsentHistories, 'judge'>
  readonly monitor: Pick<NumberRecords, 'get'>
  readonly complaintsFor: (accountId: string) => ComplaintSource
  /** Logs nothing: the read of the page is one. */
  readonly search: DecisionSearch
  readonly questions: NumberQuestions
}

/** The decisions of a page. */
const maxDecisions = 20

interface Page extends NumberQuestion {
  readonly deps: NumberPageDeps
  readonly request: NumberRequest
  readonly providers: Providers
}

/** Names of what a part would ask that may charge for it; absent if nothing would be. */
interface Providers {
  readonly calls?: string | undefined
  readonly reassigned?: string | undefined
}

/**
 * Rejects with `invalid-request` for what is no number or an unknown project, and with `not-available` if the read cannot be recorded.
 * Nothing is looked up of an emergency or service code.
 */
export async function readNumber(
  deps: NumberPageDeps,
  caller: Caller,
  request: NumberRequest,
): Promise<NumberBody> {
  const { storage, clock, viewOf, projects } = deps
  const settings = deps.getSettings()
  const { accountId } = caller
  const asOf = formatInstant(viewOf(accountId).clock.now())
  const providers = findProviders(settings, accountId)
  const source = describeSource(settings, accountId, { providers, request })
  const dialed = parseDialString(request.number, new Set(settings.gate.serviceCodes))
  if (dialed.kind === 'service-code') {
    const serviceCode = 'calls to emergency and service codes are always allowed'
    return { number: dialed.code, asOf, serviceCode, source }
  }
  if (dialed.kind !== 'nanp') throw notANumber(request.number, dialed)
  const { number } = dialed
  const scope = await requireScope(projects, accountId, request, 'projectId')
  const page: Page = { deps, caller, request, number, scope, providers }
  const parts = await readParts(page)
  await createReadLog(storage, clock)(caller, {
    what: 'number.read',
    subject: { kind: 'number', id: number },
    rows: countRows(parts),
    purpose: request.reason,
  })
  return { number, asOf, source, parts }
}

function notANumber(
  text: string,
  dialed: { readonly kind: string; readonly says?: readonly Said[] },
) {
  const rules: Readonly<Record<string, string>> = {
    extension: 'is an internal extension; give a number of the North American plan',
    foreign: 'is a number of another country; give one of the North American plan',
  }
  const rule = rules[dialed.kind] ?? describeSaid(dialed.says ?? [])
  return invalidRequest([{ field: 'number', value: text, rule }])
}

function describeSource(
  { source }: Settings,
  accountId: string,
  {
    providers: { calls },
    request: { askProvider },
  }: { readonly providers: Providers; readonly request: Pick<NumberRequest, 'askProvider'> },
): NumberBody['source'] {
  const kinds = { real: source.kind, sandbox: 'sandbox' } as const
  const kind = chooseByAccount<NumberBody['source']['kind']>(kinds)(accountId)
  if (calls === undefined) return { kind, note: `${judges[kind]} No provider is asked.` }
  const asked = askProvider
    ? `${calls}: asked for parts.now and parts.reassigned, as a decision would ask; not asked for anything else.`
    : `${calls}: not asked.`
  return { kind, note: `${judges[kind]} ${asked}` }
}

const judges = {
  embedded: 'This server judges the calls by what it has stored and imported.',
  remote:
    'A provider judges the calls, and what this server has stored and imported only restricts them. What the provider has on ' +
    'file about the number is not shown.',
  sandbox: 'This server judges the calls by the fixed facts of the sandbox and what was stored.',
} as const

function findProviders({ lookups, source }: Settings, accountId: string): Providers {
  const reassigned =
    lookups.baseUrl !== undefined && lookups.asksForCalls ? lookups.name : undefined
  const ofCalls = source.kind === 'remote' ? [source.provider, source.secondProvider] : []
  const names = ofCalls.flatMap(({ baseUrl, name }) => (baseUrl === undefined ? [] : [name]))
  if (reassigned !== undefined) names.push(reassigned)
  const real = { calls: names.length > 0 ? names.join(' and ') : undefined, reassigned }
  return chooseByAccount<Providers>({ real, sandbox: {} })(accountId)
}

async function readParts(page: Page): Promise<NumberParts> {
  const { deps } = page
  const read = {
    place: () => readPlace(page),
    optOuts: async () => ({
      ...(await readOptOuts(deps.storage.reads, page)),
      current: (await judge(page)).optOut,
    }),
    consents: async () => ({
      ...(await readConsents(deps.storage.reads, page)),
      current: (await judge(page)).current,
    }),
    attempts: () => readCounted(page),
    lists: () => {
      const { lists, numberingPlan } = deps.viewOf(page.caller.accountId)
      const facts = numberingPlan.lookup(page.number)
      return { lists: readMemberships(lists, page.number, { facts, user: page.scope }) }
    },
    reassigned: () => readReassigned(page),
    labels: () => readLabels(page),
    complaints: () => readComplaints(page),
    changes: () => {
      requireAuditRights(page.caller)
      return readChanges(deps.storage.reads, page)
    },
    decisions: () => readDecisions(page),
    now: () => readPreviews(page),
  } satisfies { readonly [Name in keyof NumberParts]: () => unknown }
  const names = Object.keys(read) as (keyof NumberParts)[]
  const parts = await Promise.all(
    names.map(async (name) => [name, await readPart(page, name, read[name])] as const),
  )
  return Object.fromEntries(parts) as NumberParts
}

/** A refusal says why in words for the caller; anything else is a fault of this server, whose words may be for nobody else. */
async function readPart(
  { deps: { questions } }: Page,
  part: string,
  read: () => unknown,
): Promise<object> {
  try {
    return { known: true, ...((await read()) as object) }
  } catch (cause) {
    if (cause instanceof AppError) return { known: false, because: cause.message }
    const text = cause instanceof Error ? cause.stack : undefined
    questions.reportUnreadPart({ part, cause: text ?? getErrorMessage(cause) })
    return { known: false, because: 'it could not be read; the log of the server says why' }
  }
}

function notKnown(because: string): AppError {
  return new AppError('not-available', because)
}

function requireRight(caller: Caller, right: Right): void {
  if (caller.limits.rights.has(right)) return
  throw notKnown(`${nameCaller(caller)} does not have the right '${right}'`)
}

/** As for reading the audit table itself. */
function requireAuditRights(caller: Caller): void {
  requireRight(caller, 'manage')
  if (caller.role === 'Administrator' && caller.limits.projects === 'any') return
  throw notKnown(
    `${nameCaller(caller)}: reading who did what needs role Administrator and no limit to projects`,
  )
}

function judge({ deps, caller, number, scope }: Page) {
  const { ebrProject, internalDncList } = scope
  const about = { number, ebrProject, internalDncList }
  return deps.consentHistories.judge(caller.accountId, about)
}

function readPlace({ deps, caller, number }: Page) {
  const facts = deps.viewOf(caller.accountId).numberingPlan.lookup(number)
  if (facts.status !== 'ok') {
    const none = { country: null, places: [], foundBy: null, locality: null, lineClass: null }
    return { ...none, assignedTo: null, ported: null, detail: describeNoPlace(facts) }
  }
  const { place, locality, carrier, lineClass, ported } = facts
  return {
    country: place.country,
    places: place.candidates,
    foundBy: place.source,
    detail: null,
    locality: locality === '' ? null : locality,
    lineClass,
    assignedTo: carrier ?? null,
    ported: ported
      ? { to: ported.to, on: ported.on === undefined ? null : formatDay(ported.on) }
      : null,
  }
}

async function readCounted(page: Page) {
  const { storage, clock } = page.deps
  if (storage.traits.isCopy) throw notKnown('this is an edge; its center counts the calls')
  return await readAttempts(storage.reads, page, clock.now())
}

async function readReassigned(page: Page) {
  const { deps, caller, number, request, providers } = page
  const { accountId } = caller
  const { since } = await judge(page)
  if (since === undefined) {
    throw notKnown(
      'there is no consent or other record in force, about whose day it could be asked',
    )
  }
  requireAsked(providers.reassigned, request)
  const found = await deps.questions.findReassignedStatus({ accountId, number, since })
  const { result, says, report, askedAt, releasedOn } = found
  if (result === 'not-configured') {
    throw notKnown('there is neither a file nor a provider that knows of reassigned numbers')
  }
  if (result === 'not-asked') throw new TypeError('a day was given')
  return {
    since: formatDay(since),
    result,
    detail: says ? describeSaid([says]) : null,
    source: found.source,
    askedAt: askedAt === undefined ? null : formatInstant(askedAt),
    releasedOn: releasedOn === undefined ? null : formatDay(releasedOn),
    hasSafeHarbor: report?.hasSafeHarbor ?? null,
  }
}

function requireAsked(provider: string | undefined, { askProvider }: NumberRequest): void {
  if (provider === undefined || askProvider) return
  throw notKnown(
    `${provider} would have to be asked, which may cost something, so it was not; to ask it, add askProvider=true`,
  )
}

async function readLabels({ deps, caller, number }: Page) {
  const [found] = await deps.monitor.get(caller, { numbers: [number] })
  if (!found?.scores) return { monitored: null }
  const { currScore: current, maxScore: highest, historicalScore: historical } = found.scores
  return { monitored: { current, highest, historical, labels: found.scores.labels } }
}

async function readComplaints({ deps, caller, number }: Page) {
  const found = await deps.complaintsFor(caller.accountId).complaints([number])
  const complaints = found.get(number) ?? []
  return {
    complaints: complaints
      .slice(0, maxRows)
      .map(({ id, createdDate, subject, recordedMessageOrRobocall }) => ({
        ...{ id, createdDate, subject, recordedMessageOrRobocall },
      })),
    more: complaints.length > maxRows,
  }
}

async function readDecisions({ deps, caller, number }: Page) {
  requireRight(caller, 'decide')
  const page = await deps.search.search({ caller, filter: { number }, limit: maxDecisions })
  const { searchedBackTo, completeUntil, removedBefore, next } = page
  const toText = (at: Instant | undefined) => (at === undefined ? undefined : formatInstant(at))
  return {
    decisions: page.decisions.map((document) => {
      const { id, decidedAt, decision, reason, message, callKind, purpose } = toReply(document)
      const { projectId, via, keyId, outcome } = document
      return {
        ...{ id, decidedAt, decision, reason, message, callKind, purpose },
        ...{ projectId, via, keyId, outcome },
      }
    }),
    next,
    searchedBackTo: toText(searchedBackTo),
    completeUntil: formatInstant(completeUntil),
    removedBefore: toText(removedBefore),
  }
}

async function readPreviews({ deps, caller, number, request, providers }: Page) {
  requireRight(caller, 'decide')
  requireAsked(providers.calls, request)
  const { accountId, keyId, limits } = caller
  const { projectId, campaignId } = request
  const kinds = callKinds.filter(
    (kind) => limits.callKinds === 'any' || limits.callKinds.includes(kind),
  )
  const call = { accountId, keyId, projectId, campaignId, via: 'http' } as const
  const decisions = await deps.questions.previewNumber({ call, number, kinds })
  return {
    decisions: decisions.map(({ dialed: _, number: __, postalCode: ___, ...row }) => row),
    notAllowedToAsk: callKinds.filter((kind) => !kinds.includes(kind)),
  }
}

/** Of records about the number; what lists say and a preview are not. */
function countRows({ optOuts, consents, attempts, changes, decisions }: NumberParts): number {
  return [
    optOuts.known ? optOuts.lists.length + optOuts.statements.length : 0,
    consents.known ? consents.consents.length + consents.records.length : 0,
    attempts.known ? attempts.latest.length : 0,
    changes.known ? changes.changes.length : 0,
    decisions.known ? decisions.decisions.length : 0,
  ].reduce((sum, count) => sum + count, 0)
}
