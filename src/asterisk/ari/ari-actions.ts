/**
 * Implements the actions of the port with ARI operations: each has a time limit, and each failure is
 * an `AriError`. The connection is checked for every action.
 */
import { getErrorMessage } from '../../errors.js'
import {
  AriError,
  type AsteriskActions,
  type DialplanLocation,
  type HangupReason,
} from '../asterisk-port.js'
import type { AriClient, AriOperation } from './ari-client.js'
import { AriHttpError } from './ari-http-client.js'

type Parameters = Readonly<Record<string, unknown>>

const variableName = /^[A-Za-z_]\w*$/
/** For these operations, 409 means that the channel has continued in the dialplan and may be in a call. */
const stasisOnlyOperations: ReadonlySet<AriOperation> = new Set([
  'channels.setChannelVar',
  'channels.continueInDialplan',
])
const notSentCodes: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTCONN'])
/** Excludes commas, which separate values, and quotes and backslashes, which would escape one. */
const variableValue = /^[\w.:+-]*$/

export abstract class AriActions implements AsteriskActions {
  readonly #app: string
  readonly #timeoutMs: number

  constructor(app: string, timeoutMs: number) {
    this.#app = app
    this.#timeoutMs = timeoutMs
  }

  /** The client, while the event socket is open. */
  protected abstract get client(): AriClient | undefined

  async setVariables(channelId: string, values: Readonly<Record<string, string>>): Promise<void> {
    const names = Object.keys(values)
    for (const [name, value] of Object.entries(values)) requireValidVariable(name, value)
    if (names.length === 0) return
    await this.#call('channels.setChannelVar', {
      channelId,
      // ARRAY() is a dialplan function that sets several variables.
      variable: names.length === 1 ? names[0] : `ARRAY(${names.join(',')})`,
      value: Object.values(values).join(','),
    })
  }

  async getVariable(channelId: string, name: string): Promise<string | undefined> {
    const operation = 'channels.getChannelVar'
    try {
      return readValue(await this.#run(operation, { channelId, variable: name }))
    } catch (error) {
      if (hasStatus(error, 404) && /variable/i.test(error.message)) return undefined
      throw toAriError(operation, error)
    }
  }

  async resume(channelId: string, place?: DialplanLocation): Promise<void> {
    await this.#call('channels.continueInDialplan', { channelId, ...place })
  }

  async hangup(channelId: string, reason: HangupReason): Promise<void> {
    await this.#call('channels.hangup', { channelId, reason })
  }

  async claim(channelId: string): Promise<boolean> {
    const operation = 'events.claimChannel'
    try {
      await this.#run(operation, { channelId, application: this.#app })
      return true
    } catch (error) {
      if (hasStatus(error, 409)) return false
      throw toAriError(operation, error)
    }
  }

  async #call(operation: AriOperation, parameters: Parameters): Promise<void> {
    try {
      await this.#run(operation, parameters)
    } catch (error) {
      throw toAriError(operation, error)
    }
  }

  async #run(operation: AriOperation, parameters: Parameters): Promise<unknown> {
    const { client } = this
    if (!client) throw new AriError('disconnected', operation, 'not connected')
    if (!client.has(operation)) {
      throw new AriError('refused', operation, 'this Asterisk does not support the operation')
    }
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(), this.#timeoutMs)
    try {
      return await client.call(operation, parameters, limit.signal)
    } finally {
      clearTimeout(timer)
    }
  }
}

function requireValidVariable(name: string, value: string): void {
  const operation = 'channels.setChannelVar'
  if (!variableName.test(name)) {
    throw new AriError('refused', operation, `'${name}' is not a valid channel variable name`)
  }
  if (!variableValue.test(value)) {
    const rule = 'may contain only letters, digits and _ . : + -'
    throw new AriError('refused', operation, `${name} '${value.slice(0, 60)}': ${rule}`)
  }
}

function readValue(answer: unknown): string {
  const value: unknown =
    typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'value') : undefined
  if (typeof value !== 'string') throw new Error('the answer has no value')
  return value
}

function hasStatus(error: unknown, status: number): error is AriHttpError {
  return error instanceof AriHttpError && error.status === status
}

/** What is not an answer of Asterisk, or the lack of one, is a request that was not sent. */
function toAriError(operation: AriOperation, error: unknown): AriError {
  if (error instanceof AriError) return error
  if (!(error instanceof AriHttpError)) {
    return new AriError('refused', operation, getErrorMessage(error))
  }
  const hasLeft = error.status === 409 && stasisOnlyOperations.has(operation)
  if (error.status === 404 || hasLeft) return new AriError('gone', operation, error.message)
  if (error.status !== undefined) return new AriError('refused', operation, error.message)
  const kind = notSentCodes.has(error.code ?? '') ? 'disconnected' : 'timed-out'
  return new AriError(kind, operation, error.message)
}
