/** Reads the request and the facts of a call back from its record. */
import type { CallKind, CallPurpose, CallRequest } from '../../domain/decision.js'
import type { Mandate } from '../../domain/mandate.js'
import { readCallerId } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { parseInstant } from '../../domain/time/dates.js'
import type { Facts, Times } from '../../judge/facts.js'
import type { DecisionDocument } from './decision-document.js'

/** Keeps only the caller ID and campaign of this call; a key can list thousands. */
export function narrowKey({ mandate, callerId, campaignId }: CallRequest): Mandate | undefined {
  if (mandate === undefined) return undefined
  const { projects, callerIds } = mandate
  const shown = readCallerId(callerId)
  const isShown = (number: string) => shown && 'number' in shown && shown.number === number
  const id = Number(campaignId?.trim() || Number.NaN)
  return {
    ...mandate,
    projects:
      projects === 'any'
        ? projects
        : { ...projects, campaignIds: projects.campaignIds.filter((one) => one === id) },
    callerIds: Array.isArray(callerIds) ? callerIds.filter(isShown) : callerIds,
  }
}

export function readFacts(document: DecisionDocument): Facts {
  const { accountNow, key, ...facts } = document.facts ?? {}
  return { ...facts, times: readTimes(document) }
}

function readTimes({ facts, decidedAt, judgedAt, whatIf }: DecisionDocument): Times {
  const now = instantOf(decidedAt)
  return { now, accountNow: whatIf ? (facts?.accountNow ?? now) : instantOf(judgedAt) }
}

export function readRequest(document: DecisionDocument): CallRequest {
  const { accountId, keyId, dialed, projectId, campaignId, postalCode, callerId } = document
  const { subject, personId, reference, trunk, channel, whatIf, judgedAt, facts } = document
  return {
    accountId,
    keyId,
    mandate: facts?.key,
    dialed,
    callKind: document.callKind as CallKind,
    purpose: document.purposeSetBy === 'request' ? (document.purpose as CallPurpose) : undefined,
    projectId,
    campaignId,
    postalCode,
    callerId,
    subject,
    personId,
    reference,
    at: whatIf ? instantOf(judgedAt) : undefined,
    trunk,
    channel,
    via: document.via as CallRequest['via'],
  }
}

/** Throws a `TypeError` if the text is not an instant. */
export function instantOf(text: string): Instant {
  // A what-if can have a five-digit year.
  const at = parseInstant(text) ?? Date.parse(text)
  if (Number.isNaN(at)) throw new TypeError(`'${text}' in a record is not an instant`)
  return at
}
