/**
 * What disconnects say of a number that somebody consented to be called on: whether it has changed
 * hands since (spec, "Reassigned-number result"; FCC public notice DA 21-1649). Pure.
 */
import { createHash } from 'node:crypto'
import { formatDay, type LocalDay, localDay } from '../../domain/clock.js'
import type { Reassigned, ReassignedAnswer } from '../../domain/lookups.js'
import type { PhoneNumber } from '../../domain/phone-number.js'

/** What one body of data keeps of a number it has data on. */
export interface DisconnectRecord {
  /** Day of the latest permanent disconnect; `undefined` when there was none. */
  readonly latestOn: LocalDay | undefined
}

/**
 * A disconnect on the day of the consent or later is a yes, one before it or none a no, and no data
 * no answer.
 */
export function saysReassigned(
  record: DisconnectRecord | undefined,
  consentOn: LocalDay,
): Reassigned {
  if (!record) return null
  return record.latestOn !== undefined && record.latestOn >= consentOn
}

/** A yes of anybody is a yes; else a no of anybody a no. */
export function eitherOf(one: Reassigned, other: Reassigned): Reassigned {
  if (one === true || other === true) return true
  return one ?? other
}

/** A harbour is there for who relied on a no of the national database and knows of no yes. */
export function answerOf(national: Reassigned, own: Reassigned): ReassignedAnswer {
  return { national, own, hasSafeHarbor: national === false && own !== true }
}

/** The national database holds the permanent disconnects from this day on (DA 21-1649). */
export const nationalDataSince: LocalDay = localDay(2021, 1, 27) ?? 0

/**
 * Of a consent that is older than the national database it can only know a yes: it has not heard of
 * a disconnect between the two days. Its no is no answer then, and there is no harbour.
 */
export function asFarAsKnown(answer: ReassignedAnswer, consentOn: LocalDay): ReassignedAnswer {
  if (consentOn >= nationalDataSince || answer.national !== false) return answer
  return { national: null, own: answer.own, hasSafeHarbor: false }
}

/**
 * Two answers to one question as one. A disconnect that one of them knows of has happened, whatever
 * the other has not heard; the harbour is told by the first that has national data.
 */
export function joined(first: ReassignedAnswer, second: ReassignedAnswer): ReassignedAnswer {
  const national = eitherOf(first.national, second.national)
  const own = eitherOf(first.own, second.own)
  const { hasSafeHarbor } = first.national !== null || first.hasSafeHarbor ? first : second
  return { national, own, hasSafeHarbor: hasSafeHarbor && eitherOf(national, own) !== true }
}

const outcomes: readonly Reassigned[] = [true, false, null]

/** Test data: the same for the same number and day, and otherwise without meaning. */
export function sandboxAnswer(number: PhoneNumber, consentOn: LocalDay): ReassignedAnswer {
  const digest = createHash('sha256')
    .update(`${number} ${formatDay(consentOn)}`)
    .digest()
  const draw = (at: number): Reassigned =>
    outcomes[digest.readUInt32BE(at) % outcomes.length] ?? null
  return answerOf(draw(0), draw(4))
}
