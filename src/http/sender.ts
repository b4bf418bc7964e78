/** Who sends a deciding call: in which places its key may stand, and when it is looked up. */
import type { IncomingMessage } from 'node:http'
import type { Endpoint } from '../api/endpoint.js'
import {
  admitKeyInAddress,
  type Credential,
  callerOf,
  keyAmong,
  keyAsPassword,
  keyInHeaders,
} from './authenticate.js'
import type { BindTools } from './bind.js'
import { queryPairs } from './read-fields.js'

/** Throws a refusal for a key that is given twice. */
export type KeyInBody = () => Credential | undefined

type KeyPlaces = Pick<Endpoint<unknown, unknown>, 'keyAlsoIn' | 'keyAsPassword'>

/**
 * Looks a key in headers or address up while the body is read, which may hold an emergency call
 * whatever the key is.
 */
export function findSender(
  request: IncomingMessage,
  places: KeyPlaces,
  tools: Pick<BindTools, 'authenticate' | 'keysInAddress' | 'onKnown'>,
) {
  const lookUp = async (key: Credential | undefined) => {
    const caller = await callerOf(key, tools.authenticate)
    sender.isKnown = true
    tools.onKnown?.(request)
    return caller
  }
  const early = keyBeforeBody(request, places, tools).then((key) => key && lookUp(key))
  early.catch(() => undefined)
  const sender = {
    isKnown: false,
    callerWith: async (keyInBody: KeyInBody) => (await early) ?? (await lookUp(keyInBody())),
  }
  return sender
}

async function keyBeforeBody(
  request: IncomingMessage,
  places: KeyPlaces,
  { keysInAddress }: Pick<BindTools, 'keysInAddress'>,
): Promise<Credential | undefined> {
  const mayBeInAddress = places.keyAlsoIn.includes('query')
  const inAddress = mayBeInAddress ? keyAmong(queryPairs(request)) : undefined
  admitKeyInAddress(inAddress, keysInAddress)
  const inHeaders = keyInHeaders(request) ?? (places.keyAsPassword && keyAsPassword(request))
  return inHeaders || inAddress
}
