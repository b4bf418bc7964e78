/**
 * Reads the JSON of Asterisk's events and channels into the shapes of the port. What lacks a field
 * is refused, never filled in.
 */
import { type Clock, parseInstant } from '../domain/clock.js'
import type { AsteriskChannel, DialEvent } from './asterisk-port.js'

/** The event types asked for; all others are left out by a filter in Asterisk. */
export const eventTypes = [
  'StasisStart',
  'StasisEnd',
  'CallBroadcast',
  'Dial',
  'ChannelDestroyed',
  'ApplicationReplaced',
] as const

export type AriEvent =
  | {
      readonly type: 'StasisStart'
      readonly channel: AsteriskChannel
      readonly args: readonly string[]
    }
  | { readonly type: 'StasisEnd'; readonly channelId: string }
  | { readonly type: 'CallBroadcast'; readonly channel: AsteriskChannel }
  | { readonly type: 'Dial'; readonly dial: DialEvent }
  | { readonly type: 'DialUnseen'; readonly dialString: string }
  | {
      readonly type: 'ChannelDestroyed'
      readonly channelId: string
      readonly cause: number
      readonly at: number
    }
  | { readonly type: 'ApplicationReplaced'; readonly application: string }

/** What Asterisk sent is not of the shape its API description gives; the message names the field. */
export class MalformedMessage extends Error {
  constructor(field: string, expected: string) {
    super(`${field} is not ${expected}`)
    this.name = 'MalformedMessage'
  }
}

/**
 * `undefined` for a type that nobody asked for; throws a {@link MalformedMessage} for one that
 * cannot be read. An event without a readable time has the clock's.
 */
export function readEvent(raw: unknown, clock: Clock): AriEvent | undefined {
  const event = recordOf(raw, 'event')
  const type = textAt(event, 'type')
  switch (type) {
    case 'StasisStart':
      return { type, channel: readChannel(event.channel, 'channel'), args: readArgs(event) }
    case 'StasisEnd':
      return { type, channelId: channelIdOf(event) }
    case 'CallBroadcast':
      return { type, channel: readChannel(event.channel, 'channel') }
    case 'Dial':
      return isDialUnseen(event)
        ? { type: 'DialUnseen', dialString: dialStringOf(event) }
        : { type, dial: readDial(event, clock) }
    case 'ChannelDestroyed':
      return {
        type,
        channelId: channelIdOf(event),
        cause: causeOf(event),
        at: timeOf(event, clock),
      }
    case 'ApplicationReplaced':
      return { type, application: textAt(event, 'application') }
    default:
      return undefined
  }
}

/** Throws a {@link MalformedMessage} naming the field below `name`. */
export function readChannel(raw: unknown, name: string): AsteriskChannel {
  const channel = recordOf(raw, name)
  const caller = recordOf(channel.caller, `${name}.caller`)
  return {
    id: textAt(channel, 'id', name),
    name: textAt(channel, 'name', name),
    callerNumber: textAt(caller, 'number', `${name}.caller`),
    variables: readVariables(channel.channelvars, `${name}.channelvars`),
    application: readApplication(channel.dialplan, `${name}.dialplan`),
  }
}

/** Asterisk leaves out a channel that it cannot write as JSON. */
const isDialUnseen = (event: JsonRecord): boolean =>
  event.peer === undefined && event.dialstatus === ''

const dialStringOf = (event: JsonRecord): string =>
  event.dialstring === undefined ? '' : textAt(event, 'dialstring')

function readDial(event: JsonRecord, clock: Clock): DialEvent {
  const caller = event.caller
  return {
    status: textAt(event, 'dialstatus'),
    dialString: dialStringOf(event),
    caller: caller === undefined ? undefined : readChannel(caller, 'caller'),
    peer: readChannel(event.peer, 'peer'),
    at: timeOf(event, clock),
  }
}

function readArgs(event: JsonRecord): readonly string[] {
  const args = event.args
  if (!Array.isArray(args)) throw new MalformedMessage('args', 'a list')
  return args.map((arg: unknown) => {
    if (typeof arg !== 'string') throw new MalformedMessage('args', 'a list of strings')
    return arg
  })
}

function readVariables(raw: unknown, name: string): Readonly<Record<string, string>> {
  if (raw === undefined) return {}
  const variables = recordOf(raw, name)
  return Object.fromEntries(
    Object.keys(variables).map((variable) => [variable, textAt(variables, variable, name)]),
  )
}

function readApplication(raw: unknown, name: string): AsteriskChannel['application'] {
  const dialplan = recordOf(raw, name)
  if (dialplan.app_name === undefined || dialplan.app_name === '') return undefined
  return { name: textAt(dialplan, 'app_name', name), data: textAt(dialplan, 'app_data', name) }
}

function channelIdOf(event: JsonRecord): string {
  return textAt(recordOf(event.channel, 'channel'), 'id', 'channel')
}

function causeOf(event: JsonRecord): number {
  const cause = event.cause
  if (typeof cause !== 'number') throw new MalformedMessage('cause', 'a number')
  return cause
}

/** Such as `2026-11-20T21:31:56.613+0000`. */
function timeOf(event: JsonRecord, clock: Clock): number {
  const timestamp = event.timestamp
  return (typeof timestamp === 'string' ? parseInstant(timestamp) : undefined) ?? clock.now()
}

type JsonRecord = Readonly<Record<string, unknown>>

function recordOf(raw: unknown, name: string): JsonRecord {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    throw new MalformedMessage(name, 'an object')
  }
  return raw as JsonRecord
}

function textAt(record: JsonRecord, field: string, holder?: string): string {
  const value = record[field]
  if (typeof value !== 'string') {
    throw new MalformedMessage(holder === undefined ? field : `${holder}.${field}`, 'a string')
  }
  return value
}
