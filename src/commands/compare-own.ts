/** This callgate's side of a comparison: the rows the published API answers, and the facts behind them. */
import type { LongReply, Reply } from '../api/endpoint.js'
import type { Route } from '../api/route.js'
import type { Callgate } from '../compose.js'
import { operator } from '../domain/caller.js'
import { formatDay, formatInstant } from '../domain/clock.js'
import type { Asked, QuestionName } from '../domain/compliance.js'
import type { ConsentRecord } from '../domain/consent-records.js'
import type { ListVersion } from '../domain/number-set.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import type { NumberFacts } from '../domain/place.js'
import { AppError } from '../errors.js'
import { serviceRoutes } from '../service/service-routes.js'
import { type RowQuestion, rowQuestions, type WireRow } from '../sources/remote/provider-rows.js'

/** A row, or why there is none. */
export type RowAnswer = { readonly row: WireRow } | { readonly missing: string }

type Own = Pick<Callgate, 'service' | 'own' | 'data'>

export class OwnRows {
  readonly #callgate: Own
  readonly #routes: readonly Route[]

  constructor(callgate: Own) {
    this.#callgate = callgate
    this.#routes = serviceRoutes(callgate.service, { wrappedRows: false })
  }

  /** The row a client of this callgate gets for the request that the provider was sent. */
  async ask(name: QuestionName, question: RowQuestion): Promise<RowAnswer> {
    const refusal = rowQuestions[name].refusal(question)
    if (refusal !== undefined) return { missing: refusal }
    const { method, path, wire } = rowQuestions[name].compose([question])
    const route = this.#routes.find(
      ({ endpoint }) => endpoint.method === method && endpoint.paths.includes(path),
    )
    if (!route) throw new TypeError(`nothing answers ${method} ${path}`)
    try {
      const caller = operator(question.accountId)
      const answered = await route.answer(wire.json ?? wire.query ?? {}, {
        caller,
        jsonRequested: true,
      })
      const reply = typeof answered === 'function' ? answered() : answered
      const [row] = await rowsOf(reply)
      return row ? { row } : { missing: 'no row' }
    } catch (cause) {
      if (cause instanceof AppError) return { missing: cause.message }
      throw cause
    }
  }

  /** Lists, records, dates and rules that the row rests on, for people. */
  async facts(name: QuestionName, question: RowQuestion): Promise<string> {
    const { own } = this.#callgate
    const texts = {
      scrub: () => this.#scrubFacts(question),
      'internal-dnc': async () =>
        factsOf(await own.internalDnc(question), ({ onList, addedAt }) => [
          onList ? `on the internal list${since(addedAt)}` : 'not on the internal list',
        ]),
      litigator: async () =>
        factsOf(await own.litigator(question), ({ isLitigator, list }) => [
          `${isLitigator ? 'on' : 'not on'} ${list ? listText(list) : 'the litigator list'}`,
        ]),
      'legal-time': async () => factsOf(await own.legalTime(question), ({ rule }) => [rule]),
    }
    return [...new Set(await texts[name]())].join('; ')
  }

  /** The imported data the answers rest on. */
  data(): string {
    const { lists, plan } = this.#callgate.data
    const prefixes = Object.entries(plan.coverage()).map(([country, { mode, asOf }]) =>
      mode === 'imported' && asOf !== undefined
        ? `${country} prefixes as of ${dayOf(asOf)}`
        : `${country} prefixes ${mode === 'area-code' ? 'not imported (area codes alone)' : mode}`,
    )
    const names = lists.all().map(listText)
    return [...prefixes, ...(names.length > 0 ? names : ['no imported lists'])].join(', ')
  }

  /** The sandbox has lists of its own, whose content is told by the row alone. */
  #standingOn(list: ListVersion, number: PhoneNumber): string {
    const imported = this.#callgate.data.lists.get(list.name)
    if (imported?.version !== list.version) return `judged by ${listText(list)}`
    if (!imported.has(number)) return `not on ${listText(list)}`
    const day = imported.dayOf?.(number)
    return `on ${listText(list)}${day === undefined ? '' : `, listed ${formatDay(day)}`}`
  }

  async #scrubFacts(question: RowQuestion): Promise<readonly string[]> {
    const { own, data, service } = this.#callgate
    const { accountId, number, projectId, campaignId } = question
    const asked = await own.scrub(question)
    if (!asked.answered) return [asked.detail]
    const named = { numbers: [number], projectId, campaignId }
    const records = await service.consentRecords.list(operator(accountId), named)
    const plan = data.sandbox.numberFacts(accountId, number) ?? data.plan.lookup(number)
    const { detail, lists = [] } = asked.value
    return [
      ...(detail === undefined ? [] : [detail]),
      ...records.map(recordText),
      ...lists.map((list) => this.#standingOn(list, number)),
      ...planTexts(plan),
    ]
  }
}

function factsOf<Value>(
  asked: Asked<Value>,
  texts: (value: Value) => readonly string[],
): readonly string[] {
  return asked.answered ? texts(asked.value) : [asked.detail]
}

async function rowsOf(reply: Reply | LongReply): Promise<readonly WireRow[]> {
  if ('json' in reply) return reply.json as readonly WireRow[]
  if (!('parts' in reply)) throw new TypeError('the answer here is not JSON')
  let text = ''
  for await (const part of reply.parts) text += part
  return JSON.parse(text) as readonly WireRow[]
}

function since(at: number | undefined): string {
  return at === undefined ? '' : ` since ${formatInstant(at)}`
}

function dayOf(at: number): string {
  return formatInstant(at).slice(0, 10)
}

function listText({ name, version, asOf }: ListVersion): string {
  return `${name} ${version} as of ${dayOf(asOf)}`
}

function recordText({ type, dateOfLastContact, recordedOn }: ConsentRecord): string {
  return `record ${type} of ${dateOfLastContact}, stored ${recordedOn}`
}

function planTexts(facts: NumberFacts): readonly string[] {
  switch (facts.status) {
    case 'toll-free':
      return ['toll-free number']
    case 'unknown-prefix':
      return [facts.detail]
    case 'ok': {
      const { place, carrier, originalClass } = facts
      const regions = [...new Set(place.candidates.map(({ region }) => region))].join(', ')
      const company = carrier ? `assigned to ${carrier.ocn} ${carrier.company}` : 'carrier unknown'
      return [`${regions} by ${place.source}`, `${company} (${originalClass})`]
    }
  }
}
