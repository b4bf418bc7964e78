/**
 * Derives from disconnects whether a number has been reassigned since consent was given (spec,
 * "Reassigned-number result"; FCC public notice DA 21-1649). Pure.
 */
import { createHash } from 'node:crypto'
import type { ReassignedAnswer, ReassignedFlag } from '../../domain/lookups.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { formatDay, toLocalDay } from '../../domain/time/dates.js'

/** The data of one source about a number. */
export interface DisconnectRecord {
  /** Day of the latest permanent disconnect; `undefined` when there was none. */
  readonly latestOn: LocalDay | undefined
}

/** Reassigned if there was a disconnect on the day of the consent or later; `null` without data. */
export function deriveReassigned(
  record: DisconnectRecord | undefined,
  consentOn: LocalDay,
): ReassignedFlag {
  if (!record) return null
  return record.latestOn !== undefined && record.latestOn >= consentOn
}

/** If any source says reassigned, it is; otherwise if any says not reassigned, it is not. */
export function combineReassigned(one: ReassignedFlag, other: ReassignedFlag): ReassignedFlag {
  if (one === true || other === true) return true
  return one ?? other
}

/** The safe harbor requires that the national database says no and no other source says yes. */
export function createReassignedAnswer(
  national: ReassignedFlag,
  own: ReassignedFlag,
): ReassignedAnswer {
  return { national, own, hasSafeHarbor: national === false && own !== true }
}

export const noReassignedData = createReassignedAnswer(null, null)

/** The national database holds the permanent disconnects from this day on (DA 21-1649). */
export const nationalDataSince: LocalDay = toLocalDay(2021, 1, 27) ?? 0

/**
 * If the consent is older than the national database, a disconnect may have happened before the
 * database starts. Its "not reassigned" then becomes `null`, without a safe harbor.
 */
export function limitToDatabasePeriod<Answer extends ReassignedAnswer>(
  answer: Answer,
  consentOn: LocalDay,
): Answer {
  if (consentOn >= nationalDataSince || answer.national !== false) return answer
  return { ...answer, national: null, hasSafeHarbor: false }
}

/**
 * Combines two answers to the same question: the number is reassigned if either says so. The safe
 * harbor is that of the first answer with national data.
 */
export function combineReassignedAnswers(
  first: ReassignedAnswer,
  second: ReassignedAnswer,
): ReassignedAnswer {
  const national = combineReassigned(first.national, second.national)
  const own = combineReassigned(first.own, second.own)
  const { hasSafeHarbor } = first.national !== null || first.hasSafeHarbor ? first : second
  return {
    national,
    own,
    hasSafeHarbor: hasSafeHarbor && combineReassigned(national, own) !== true,
  }
}

const outcomes: readonly ReassignedFlag[] = [true, false, null]

/** Test data that depends only on the number and the day. */
export function createSandboxAnswer(number: PhoneNumber, consentOn: LocalDay): ReassignedAnswer {
  const digest = createHash('sha256')
    .update(`${number} ${formatDay(consentOn)}`)
    .digest()
  const draw = (at: number): ReassignedFlag =>
    outcomes[digest.readUInt32BE(at) % outcomes.length] ?? null
  return createReassignedAnswer(draw(0), draw(4))
}
