/**
 * Parses Asterisk's JSON events and channels into the types of the port. A missing field is an error;
 * it is never filled in.
 */
import { z } from 'zod'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { parseInstant } from '../../domain/time/dates.js'
import type { AsteriskChannel, AsteriskEvents } from '../asterisk-port.js'

const noApplication = z.object({ app_name: z.literal('').optional() }).transform(() => undefined)
const application = z
  .object({ app_name: z.string(), app_data: z.string() })
  .transform(({ app_name: name, app_data: data }) => ({ name, data }))

const channelSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    caller: z.object({ number: z.string() }),
    channelvars: z.record(z.string(), z.string()).default({}),
    dialplan: z.union([noApplication, application]),
  })
  .transform(({ caller, channelvars, dialplan, ...channel }): AsteriskChannel => {
    const { number: callerNumber } = caller
    return { ...channel, callerNumber, variables: channelvars, application: dialplan }
  })

const channelId = z.object({ id: z.string() })
/** Such as `2026-11-20T21:31:56.613+0000`; `undefined` for anything else. */
const timestamp = z
  .unknown()
  .optional()
  .transform((text) => (typeof text === 'string' ? parseInstant(text) : undefined))

const eventSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('StasisStart'),
    channel: channelSchema,
    args: z.array(z.string()),
  }),
  z.object({ type: z.literal('StasisEnd'), channel: channelId }),
  z.object({ type: z.literal('CallBroadcast'), channel: channelSchema }),
  z
    .object({
      type: z.literal('Dial'),
      dialstatus: z.string(),
      dialstring: z.string().default(''),
      caller: channelSchema.optional(),
      peer: channelSchema.optional(),
      timestamp,
    })
    .refine(({ peer, dialstatus }) => peer !== undefined || dialstatus === '', 'has no peer'),
  z.object({
    type: z.literal('ChannelDestroyed'),
    channel: channelId,
    cause: z.number(),
    timestamp,
  }),
  z.object({ type: z.literal('ApplicationReplaced'), application: z.string() }),
])

export type AriEvent = z.output<typeof eventSchema>

/** The subscribed event types; a filter in Asterisk drops all others. */
export const subscribedEventTypes: readonly string[] = eventSchema.options.map(
  ({ shape }) => shape.type.value,
)

const typedSchema = z.object({ type: z.string() })

/** Returns `undefined` for a type without subscription. Throws for an invalid event. */
export function readEvent(raw: unknown): AriEvent | undefined {
  const { type } = typedSchema.parse(raw)
  return subscribedEventTypes.includes(type) ? eventSchema.parse(raw) : undefined
}

/** Throws for a channel that does not match the API description. */
export function readChannel(raw: unknown): AsteriskChannel {
  return channelSchema.parse(raw)
}

/** An event without a readable time gets the current time. */
export function dispatchEvent(event: AriEvent, events: AsteriskEvents, clock: Clock): void {
  const timeOf = (at: Instant | undefined) => at ?? clock.now()
  switch (event.type) {
    case 'StasisStart':
      events.onChannelEntered(event.channel, event.args)
      break
    case 'StasisEnd':
      events.onChannelLeft(event.channel.id)
      break
    case 'CallBroadcast':
      events.onChannelOffered(event.channel)
      break
    case 'Dial': {
      const { dialstatus: status, dialstring: dialString, caller, peer } = event
      // Asterisk omits the peer when it cannot write the channel as JSON.
      if (!peer) events.onUnseenDial(dialString)
      else events.onDial({ status, dialString, caller, peer, at: timeOf(event.timestamp) })
      break
    }
    case 'ChannelDestroyed':
      events.onChannelEnded(event.channel.id, event.cause, timeOf(event.timestamp))
      break
  }
}
