/**
 * People who asked not to be called again are not called, unless they gave written permission
 * after that (spec, "Internal DNC membership": a newer Permission EBR overrides an entry).
 *
 * Whether a permission is newer is known to whoever keeps both: only a scrub row of the entry's own
 * source lifts it. An opt-out that was recorded here is not lifted by a consent on a provider's file,
 * of which nobody knows whether it is the newer one. Each source that lists the number must lift.
 */
import { formatInstant } from '../../domain/clock.js'
import {
  type Answered,
  type Asked,
  type InternalDncStatus,
  type ScrubVerdict,
  when,
} from '../../domain/compliance.js'
import { type Check, eachAnswer, findingOf, type Judged } from './check.js'

const notListed: Judged = {
  verdict: 'pass',
  reason: 'permitted',
  detail: 'not on the internal do-not-call list',
}

export const internalDncCheck: Check = {
  name: 'internal-dnc',
  run: ({ askedAt, internalDnc, scrub }, meanwhile) =>
    when(internalDnc(), (asked) => {
      const subject = { check: 'internal-dnc', askedAt } as const
      if (!isListed(asked)) return findingOf(subject, asked, () => notListed)
      const findingWith = (row: Asked<ScrubVerdict> | undefined) =>
        findingOf(subject, asked, (entry) =>
          entry.value.onList ? judgeListed(entry, row && freshRowOf(entry.source, row)) : notListed,
        )
      // A scrub that is late must not make an unknown of a number that is known to be listed.
      meanwhile?.(findingWith(undefined))
      return when(scrub(), findingWith)
    }),
}

/** By any of those who were asked. */
function isListed(asked: Asked<InternalDncStatus>): boolean {
  return asked.answered && (asked.value.onList || asked.also?.some(isListed) === true)
}

/**
 * The row of that source. A stale one shows no permission: it may have been withdrawn since. What
 * comes along with a stale answer was kept as long as that.
 */
function freshRowOf(
  source: string,
  asked: Asked<ScrubVerdict>,
): Answered<ScrubVerdict> | undefined {
  if (!asked.answered || asked.staleBecause !== undefined) return undefined
  for (const row of eachAnswer(asked)) {
    if (row.answered && row.source === source && row.staleBecause === undefined) return row
  }
  return undefined
}

/**
 * Only a row that shows the newer permission lifts the entry. Without one the number is denied, not
 * unknown: that it is listed is known, and no policy on unknowns lets it pass.
 */
function judgeListed(
  entry: Answered<InternalDncStatus>,
  row: Answered<ScrubVerdict> | undefined,
): Judged {
  const { addedAt } = entry.value
  const since = addedAt === undefined ? '' : ` since ${formatInstant(addedAt)}`
  const listed = `on the internal do-not-call list${since}`
  if (row?.value.ebrType === 'P' && (row.value.letter === 'O' || row.value.letter === 'H')) {
    return {
      verdict: 'pass',
      reason: 'permitted',
      detail: `${listed}; a newer permission record overrides it`,
      asOf: Math.min(entry.asOf, row.asOf),
      holdsUntil: Math.min(entry.holdsUntil, row.holdsUntil),
    }
  }
  if (row?.value.ebrType === 'P' && row.value.letter === 'P') {
    const { optOut, detail } = row.value
    const why = optOut && detail !== undefined ? `; ${detail}` : ''
    if (optOut === 'not-lifted') {
      return { verdict: 'deny', reason: 'internal-dnc', detail: `${listed}${why}` }
    }
    const revoked = why || ', which is newer than the permission record'
    return { verdict: 'deny', reason: 'consent-revoked', detail: `${listed}${revoked}` }
  }
  return { verdict: 'deny', reason: 'internal-dnc', detail: listed }
}
