/**
 * The actions of the port, as operations of an Asterisk: each within its time limit, each failure an
 * `AriError`. Whether Asterisk is connected is asked for every action.
 */
import { AriError } from './ari-error.js'
import { AriHttpError } from './ari-http.js'
import type { AriClient, AriOperation } from './ari-library.js'
import type { AsteriskActions, DialplanPlace, HangupReason } from './asterisk-port.js'

export interface AriActionsOptions {
  readonly app: string
  readonly actionMs: number
  /** While the event socket is open. */
  client(): AriClient | undefined
}

type Parameters = Readonly<Record<string, unknown>>

const variableName = /^[A-Za-z_]\w*$/
/** Of these a 409 says that the channel has gone on in the dialplan, where it may be talking. */
const inStasisOnly: ReadonlySet<AriOperation> = new Set([
  'channels.setChannelVar',
  'channels.continueInDialplan',
])
const notSent: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTCONN'])
/** No comma, which parts the values; no quote and no backslash, which would hide one. */
const variableValue = /^[\w.:+-]*$/

export class AriActions implements AsteriskActions {
  readonly #options: AriActionsOptions

  constructor(options: AriActionsOptions) {
    this.#options = options
  }

  async setVariables(channelId: string, values: Readonly<Record<string, string>>): Promise<void> {
    const names = Object.keys(values)
    for (const [name, value] of Object.entries(values)) checkVariable(name, value)
    if (names.length === 0) return
    await this.#call('channels.setChannelVar', {
      channelId,
      // A function of the dialplan that sets one variable after the other.
      variable: names.length === 1 ? names[0] : `ARRAY(${names.join(',')})`,
      value: Object.values(values).join(','),
    })
  }

  async variable(channelId: string, name: string): Promise<string | undefined> {
    const operation = 'channels.getChannelVar'
    try {
      return readValue(await this.#run(operation, { channelId, variable: name }))
    } catch (error) {
      if (isAnswer(error, 404) && /variable/i.test(error.message)) return undefined
      throw asAriError(operation, error)
    }
  }

  async resume(channelId: string, place?: DialplanPlace): Promise<void> {
    await this.#call('channels.continueInDialplan', { channelId, ...place })
  }

  async hangup(channelId: string, reason: HangupReason): Promise<void> {
    await this.#call('channels.hangup', { channelId, reason })
  }

  async claim(channelId: string): Promise<boolean> {
    const operation = 'events.claimChannel'
    try {
      await this.#run(operation, { channelId, application: this.#options.app })
      return true
    } catch (error) {
      if (isAnswer(error, 409)) return false
      throw asAriError(operation, error)
    }
  }

  async #call(operation: AriOperation, parameters: Parameters): Promise<void> {
    try {
      await this.#run(operation, parameters)
    } catch (error) {
      throw asAriError(operation, error)
    }
  }

  async #run(operation: AriOperation, parameters: Parameters): Promise<unknown> {
    const client = this.#options.client()
    if (!client) throw new AriError('disconnected', operation, 'not connected')
    if (!client.has(operation)) {
      throw new AriError('refused', operation, 'this Asterisk has no such operation')
    }
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(), this.#options.actionMs)
    try {
      return await client.call(operation, parameters, limit.signal)
    } finally {
      clearTimeout(timer)
    }
  }
}

function checkVariable(name: string, value: string): void {
  const operation = 'channels.setChannelVar'
  if (!variableName.test(name)) {
    throw new AriError('refused', operation, `'${name}' is no name of a channel variable`)
  }
  if (!variableValue.test(value)) {
    const rule = 'may hold letters, digits and _ . : + - alone'
    throw new AriError('refused', operation, `${name} '${value.slice(0, 60)}': ${rule}`)
  }
}

function readValue(answer: unknown): string {
  const value: unknown =
    typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'value') : undefined
  if (typeof value !== 'string') throw new Error('the answer holds no value')
  return value
}

function isAnswer(error: unknown, status: number): error is AriHttpError {
  return error instanceof AriHttpError && error.status === status
}

/** The library rejects with our own error of a request, or with a plain string for a parameter. */
function asAriError(operation: AriOperation, error: unknown): AriError {
  if (error instanceof AriError) return error
  if (!(error instanceof AriHttpError)) {
    return new AriError(
      'refused',
      operation,
      error instanceof Error ? error.message : String(error),
    )
  }
  const hasLeft = error.status === 409 && inStasisOnly.has(operation)
  if (error.status === 404 || hasLeft) return new AriError('gone', operation, error.message)
  if (error.status !== undefined) return new AriError('refused', operation, error.message)
  const kind = notSent.has(error.code ?? '') ? 'disconnected' : 'timed-out'
  return new AriError(kind, operation, error.message)
}
