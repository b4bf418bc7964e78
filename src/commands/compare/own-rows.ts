/** This callgate's side of a comparison: the rows of the published API and the facts behind them. */
import type { BytesReply, Reply, StreamedReply } from '../../api/endpoint.js'
import type { Route } from '../../api/route.js'
import type { Callgate } from '../../app/callgate.js'
import { createOperatorCaller } from '../../domain/caller.js'
import type { Question, QuestionName } from '../../domain/compliance.js'
import type { ListedEbrRecord } from '../../domain/consent/consent-records.js'
import type { ListVersion } from '../../domain/number-set.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { NumberFacts } from '../../domain/place.js'
import { formatDay, formatInstant, toUtcDay } from '../../domain/time/dates.js'
import { describeSaid } from '../../domain/words/words.js'
import { AppError } from '../../errors.js'
import type { Fact, OwnFacts } from '../../judge/facts.js'
import { evaluateRow } from '../../judge/row.js'
import { chooseByAccount } from '../../service/sandbox/sandbox.js'
import { createServiceRoutes } from '../../service/service-routes.js'
import { type RawRow, rawRowQuestions } from '../../sources/remote/raw-row-client.js'

/** A row, or the reason why there is none. */
export type RowResult = { readonly row: RawRow } | { readonly missing: string }

type OwnRowsDeps = Pick<Callgate, 'service' | 'ownFacts' | 'viewOf' | 'data'>

export class OwnRows {
  readonly #callgate: OwnRowsDeps
  readonly #routes: readonly Route[]

  constructor(callgate: OwnRowsDeps) {
    this.#callgate = callgate
    this.#routes = createServiceRoutes(callgate.service, { wrappedRows: false })
  }

  /** The row that a client of this callgate would get for the request sent to the provider. */
  async ask(name: QuestionName, question: Question): Promise<RowResult> {
    const refusal = rawRowQuestions[name].findRefusal(question)
    if (refusal !== undefined) return { missing: refusal }
    const { method, path, wire } = rawRowQuestions[name].buildRequest([question])
    const route = this.#routes.find(
      ({ endpoint }) => endpoint.method === method && endpoint.paths.includes(path),
    )
    if (!route) throw new TypeError(`no route for ${method} ${path}`)
    try {
      const caller = createOperatorCaller(question.accountId)
      const reply = await route.handle(wire.json ?? wire.query ?? {}, {
        caller,
        jsonRequested: true,
      })
      const [row] = await readRows(reply)
      return row ? { row } : { missing: 'no row' }
    } catch (cause) {
      if (cause instanceof AppError) return { missing: cause.message }
      throw cause
    }
  }

  /** The lists, records, dates and rules behind the row, as text. */
  async describeFacts(name: QuestionName, question: Question): Promise<string> {
    const facts = await this.#findFacts(question)
    const texts = {
      scrub: () => this.#describeScrubFacts(question, facts),
      'internal-dnc': () => describeEntry(facts),
      litigator: () => describeLitigator(facts),
      'legal-time': () => this.#describeHours(question, facts),
    }
    return [...new Set(await texts[name]())].join('; ')
  }

  async #findFacts(question: Question): Promise<OwnFacts> {
    const { ownFacts } = this.#callgate
    const found = chooseByAccount(ownFacts)(question.accountId).find(question, maxWaitMs)
    return (await (found.later ?? found)).facts
  }

  #describeHours({ accountId, number, at }: Question, { hours }: OwnFacts): readonly string[] {
    const { clock, hours: callingHours } = this.#callgate.viewOf(accountId)
    return describeFact(hours, (overrides) => {
      const item = { phoneNumber: number, at, now: clock.now(), overrides }
      return [describeSaid(callingHours.checkTimeLegal(item).says)]
    })
  }

  /** The imported data behind the answers. */
  describeData(): string {
    const { lists, plan } = this.#callgate.data
    const prefixes = Object.entries(plan.coverage()).map(([country, { mode, asOf }]) =>
      mode === 'imported' && asOf !== undefined
        ? `${country} prefixes as of ${formatDay(toUtcDay(asOf))}`
        : `${country} prefixes ${mode === 'area-code' ? 'not imported (area codes only)' : mode}`,
    )
    const names = lists.all().map(listText)
    return [...prefixes, ...(names.length > 0 ? names : ['no imported lists'])].join(', ')
  }

  /** For a list of the sandbox only its version can be given. */
  #describeListing(list: ListVersion, number: PhoneNumber): string {
    const imported = this.#callgate.data.lists.get(list.name)
    if (imported?.version !== list.version) return `checked against ${listText(list)}`
    if (!imported.has(number)) return `not on ${listText(list)}`
    const day = imported.dayOf?.(number)
    return `on ${listText(list)}${day === undefined ? '' : `, listed ${formatDay(day)}`}`
  }

  async #describeScrubFacts(question: Question, facts: OwnFacts): Promise<readonly string[]> {
    const { service, viewOf } = this.#callgate
    const { accountId, number, projectId, campaignId } = question
    if (facts.permission === 'not-asked' || facts.permission.why !== undefined) {
      return describeFact(facts.permission, () => [])
    }
    const query = { numbers: [number], projectId, campaignId }
    const records = await service.ebrRecordList.list(createOperatorCaller(accountId), query)
    const { clock, law, hours, numberingPlan } = viewOf(accountId)
    const now = clock.now()
    const { row } = evaluateRow(
      { ...facts, facts: facts.permission.value, now, at: now },
      { law, windows: hours.windows },
    )
    const { says, lists = [] } = row
    return [
      ...(says.length === 0 ? [] : [describeSaid(says)]),
      ...describeEntry(facts),
      ...records.map(recordText),
      ...lists.map((list) => this.#describeListing(list, number)),
      ...planTexts(numberingPlan.lookup(number)),
    ]
  }
}

/** Longer than the database of a server that answers takes. */
const maxWaitMs = 60_000

function describeEntry({ entry }: OwnFacts): readonly string[] {
  return describeFact(entry, (found) => [
    found?.removedAt === null
      ? `on the internal list since ${formatInstant(found.addedAt)}`
      : 'not on the internal list',
  ])
}

function describeLitigator({ litigator }: OwnFacts): readonly string[] {
  return describeFact(litigator, (found) => {
    if (found.status === 'not-covered') return [describeSaid(found.says)]
    const [list] = found.lists
    const on = found.status === 'listed' ? 'on' : 'not on'
    return [`${on} ${list ? listText(list) : 'the litigator list'}`]
  })
}

function describeFact<Value>(
  fact: Fact<Value> | 'not-asked',
  texts: (value: Value) => readonly string[],
): readonly string[] {
  if (fact === 'not-asked') return []
  return fact.why === undefined ? texts(fact.value) : [describeSaid(fact.why.says)]
}

async function readRows(reply: Reply | BytesReply | StreamedReply): Promise<readonly RawRow[]> {
  if ('json' in reply) return reply.json as readonly RawRow[]
  if ('text' in reply) return JSON.parse(reply.text)
  if ('bytes' in reply) return JSON.parse(reply.bytes.toString())
  let text = ''
  for await (const part of reply.parts) text += part
  return JSON.parse(text) as readonly RawRow[]
}

function listText({ name, version, asOf }: ListVersion): string {
  return `${name} ${version} as of ${formatDay(toUtcDay(asOf))}`
}

function recordText({ type, dateOfLastContact, recordedOn }: ListedEbrRecord): string {
  return `record ${type} of ${dateOfLastContact}, stored ${recordedOn}`
}

function planTexts(facts: NumberFacts): readonly string[] {
  switch (facts.status) {
    case 'toll-free':
      return ['toll-free number']
    case 'unknown-prefix':
      return [describeSaid(facts.says)]
    case 'ok': {
      const { place, carrier, originalClass } = facts
      const regions = [...new Set(place.candidates.map(({ region }) => region))].join(', ')
      const company = carrier ? `assigned to ${carrier.ocn} ${carrier.company}` : 'carrier unknown'
      return [`${regions} by ${place.source}`, `${company} (${originalClass})`]
    }
  }
}
