/** Fetches the words of calls from the platform if no event contained them, since a lost event may be a lost opt-out. */
import type { Clock, Timers } from '../domain/time/clock.js'
import { formatInstant } from '../domain/time/dates.js'
import type { Logger } from '../observability/log.js'
import {
  describeFailure,
  type GateClient,
  maxEventLength,
  type PlatformCall,
} from './gate-client.js'
import { type CallFetching, isObject, type JsonObject } from './platforms/platform.js'
import type { Upstream } from './upstream.js'

export interface WordFetchingOptions {
  readonly fetching: CallFetching
  readonly readKey: string
  readonly gate: Pick<GateClient, 'listDueCalls' | 'recordCalls' | 'recordEvent'>
  readonly upstream: Upstream
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Logger
}

const roundMs = 60_000
/** Limits requests to the platform to about one a second. */
const maxCallsPerRound = 60
const maxAnswerBytes = 33_554_432

/** Fetches every minute; closing waits for the call that is being fetched. */
export function startFetching(options: WordFetchingOptions): { close(): Promise<void> } {
  let isClosed = false
  let cancel: () => void = () => undefined
  let running: Promise<void> = Promise.resolve()
  const asked = new Map<string, number>()
  const start = () => {
    running = runRound(options, asked, () => isClosed).then(() => {
      if (!isClosed) cancel = options.timers.after(roundMs, start)
    })
  }
  start()
  return {
    async close() {
      isClosed = true
      cancel()
      await running
      await options.upstream.close()
    },
  }
}

/** Never rejects: calls that fail are due again in the next round. */
async function runRound(
  options: WordFetchingOptions,
  asked: Map<string, number>,
  isClosed: () => boolean,
): Promise<void> {
  const { log } = options
  try {
    const due = await options.gate.listDueCalls()
    for (const call of takeTurns(due, asked)) {
      if (isClosed()) return
      asked.set(call.decisionId, options.timers.monotonicMs())
      const found = await fetchCall(call, options)
      log.info('the words of a call were fetched', { decisionId: call.decisionId, found })
    }
  } catch (cause) {
    const problem = cause instanceof PlatformFailure ? cause.message : describeFailure(cause)
    log.error('the words of calls cannot be fetched', { problem })
  }
}

/** Puts calls that were never tried first, so that calls in progress and failing ones do not block the others. */
function takeTurns(
  due: readonly PlatformCall[],
  asked: Map<string, number>,
): readonly PlatformCall[] {
  const ids = new Set(due.map(({ decisionId }) => decisionId))
  for (const id of asked.keys()) if (!ids.has(id)) asked.delete(id)
  const turnOf = ({ decisionId }: PlatformCall) => asked.get(decisionId) ?? 0
  return due.toSorted((one, other) => turnOf(one) - turnOf(other)).slice(0, maxCallsPerRound)
}

async function fetchCall(
  { decisionId, number, callIds = [] }: PlatformCall,
  options: WordFetchingOptions,
): Promise<'words' | 'nothing' | 'pending'> {
  const { fetching, gate, clock, readKey } = options
  const read = (path: string, body?: JsonObject) => readFromPlatform(path, body, options)
  const event = await fetching.fetch({ decisionId, number, callIds }, { read, readKey })
  if (event === 'pending') return event
  const receivedAt = clock.now()
  if (event !== undefined) {
    const query = `callgateDecision=${encodeURIComponent(decisionId)}`
    const body = event.slice(0, maxEventLength)
    await gate.recordEvent({ receivedAt, body, query, delivery: 'fetched' })
  }
  await gate.recordCalls([{ decisionId, number, fetchedAt: formatInstant(receivedAt) }])
  return event === undefined ? 'nothing' : 'words'
}

/** Returns `undefined` if the platform does not have the call. Throws for any other error, which ends the round. */
async function readFromPlatform(
  path: string,
  body: JsonObject | undefined,
  { upstream, fetching, readKey }: WordFetchingOptions,
): Promise<JsonObject | undefined> {
  const [name, value] = fetching.authorize(readKey)
  const sent = upstream.send({
    method: body ? 'POST' : 'GET',
    path,
    headers: [
      [name, [value]],
      ['accept', ['application/json']],
    ],
    body: body && { contentType: 'application/json', text: JSON.stringify(body) },
  })
  const answer = await sent.catch(() => {
    throw new PlatformFailure('the platform did not answer')
  })
  const { statusCode: status } = answer
  if (status !== 200 && status !== 201) {
    await answer.body.dump()
    if (status === 400 || status === 404 || status === 422) return undefined
    const advice = status === 401 || status === 403 ? '; check CALLGATE_PLATFORM_READ_KEY' : ''
    throw new PlatformFailure(`the platform answered with ${status}${advice}`)
  }
  return await readAnswer(answer.body)
}

async function readAnswer(body: AsyncIterable<Buffer>): Promise<JsonObject> {
  const parts: Buffer[] = []
  let size = 0
  try {
    for await (const part of body) {
      size += part.length
      if (size > maxAnswerBytes) break
      parts.push(part)
    }
    const answer: unknown = JSON.parse(Buffer.concat(parts).toString())
    return isObject(answer) ? answer : { items: answer }
  } catch {
    throw new PlatformFailure('the answer of the platform is not JSON, or is too long')
  }
}

class PlatformFailure extends Error {}
