/**
 * People who asked not to be called again are not called, unless they gave written permission
 * after that (spec, "Internal DNC membership": a newer Permission EBR overrides an entry).
 */
import { formatInstant, type Instant } from '../../domain/clock.js'
import type { Asked, ScrubVerdict } from '../../domain/compliance.js'
import { type Check, findingOf, type Judged, when } from './check.js'

const notListed: Judged = {
  verdict: 'pass',
  reason: 'permitted',
  detail: 'not on the internal do-not-call list',
}

export const internalDncCheck: Check = {
  name: 'internal-dnc',
  run: ({ askedAt, internalDnc, scrub }) =>
    when(internalDnc(), (asked) => {
      const subject = { check: 'internal-dnc', askedAt } as const
      if (!asked.answered || !asked.value.onList) return findingOf(subject, asked, () => notListed)
      return when(scrub(), (row) =>
        findingOf(subject, asked, ({ value }) => judgeListed(value.addedAt, row)),
      )
    }),
}

/** Only a scrub row that shows the newer permission lifts the entry; an unanswered one does not. */
function judgeListed(addedAt: Instant | undefined, row: Asked<ScrubVerdict>): Judged {
  const since = addedAt === undefined ? '' : ` since ${formatInstant(addedAt)}`
  const permission = row.answered && row.value.ebrType === 'P'
  if (permission && (row.value.letter === 'O' || row.value.letter === 'H')) {
    const detail = `on the internal do-not-call list${since}; a newer permission record overrides it`
    return { verdict: 'pass', reason: 'permitted', detail }
  }
  if (permission && row.value.letter === 'P') {
    const detail = `on the internal do-not-call list${since}, which is newer than the permission record`
    return { verdict: 'deny', reason: 'consent-revoked', detail }
  }
  return {
    verdict: 'deny',
    reason: 'internal-dnc',
    detail: `on the internal do-not-call list${since}`,
  }
}
