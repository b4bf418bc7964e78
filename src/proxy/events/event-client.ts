/** Passes on to the gate what was heard in a call. */
import type { CallKind } from '../../domain/mandate.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { CallEvent } from '../../platform-events/call-event.js'

export interface EventClientOptions {
  /** Of the gate, without a slash at the end. */
  readonly url: string
  /** Sent in a header and never shown. */
  readonly key: string
  readonly callKind: CallKind
  readonly projectId?: string | undefined
  readonly timeoutMs: number
}

/** The gate did not take it; the platform should send the event again. */
export class EventNotStored extends Error {}

const maxSaidLength = 500

export class EventClient {
  readonly #options: EventClientOptions

  constructor(options: EventClientOptions) {
    this.#options = options
  }

  /** False for a decision that the account of the key does not have. */
  async noteOutcome({ decisionId, callIds, outcome: found }: CallEvent): Promise<boolean> {
    if (decisionId === undefined || found === undefined) return false
    const { dialledAt, answeredAt, endedAt } = found
    const format = (at: Instant | undefined) => (at === undefined ? undefined : formatInstant(at))
    const times = [format(dialledAt), format(answeredAt), format(endedAt)]
    const outcome = {
      ...found,
      ...{ leg: callIds[0], dialledAt: times[0], answeredAt: times[1], endedAt: times[2] },
    }
    // Gates of older versions refuse what they do not know; only such calls need it.
    const isCounted = this.#options.callKind === 'autodialed' && outcome.state === 'answered'
    const report = isCounted ? { ...outcome, fromPlatform: true } : outcome
    return await this.#post(`/v1/decisions/${decisionId}/outcome`, report)
  }

  /**
   * By the number of the decision; without one, by the number in the event. False if there is neither.
   * Resolves when the opt-out is on disk at the gate.
   */
  async optOut(event: CallEvent, words: string): Promise<boolean> {
    const { decisionId, callIds, person: number = '' } = event
    const { projectId } = this.#options
    const said = words.trim().slice(0, maxSaidLength)
    const statement = { reference: callIds[0], said, source: 'transcript' }
    if (decisionId && (await this.#post('/v1/opt-outs', { decisionId, ...statement }))) return true
    if (!/^(?:\+?1)?\d{10}$/.test(number)) return false
    return await this.#post('/v1/opt-outs', { number, projectId, ...statement })
  }

  async #post(path: string, body: object): Promise<boolean> {
    const { url, key, timeoutMs } = this.#options
    let status: number
    try {
      const response = await fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', loginId: key },
        body: JSON.stringify(body),
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      })
      status = response.status
      await response.arrayBuffer()
    } catch {
      throw new EventNotStored('the gate cannot be reached')
    }
    if (status === 200) return true
    // 400: the decision is about a service code, or the like. 409: it is not about a call.
    if (status === 404 || status === 400 || status === 409) return false
    throw new EventNotStored(`the gate answered ${path} with ${status}`)
  }
}
