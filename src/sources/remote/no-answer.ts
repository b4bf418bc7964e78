/** Why questions to a provider are not answered, in the words that findings show. */
import type { Unanswered } from '../../domain/compliance.js'

export type NoAnswer = Pick<Unanswered, 'why' | 'detail'>

export const closing: NoAnswer = { why: 'source-failed', detail: 'closing' }

/** A fault of our own that was thrown: nothing may reach who asks. */
export function thrown(cause: unknown): NoAnswer {
  return { why: 'source-failed', detail: cause instanceof Error ? cause.message : String(cause) }
}

export function circuitOpen(failure: string): NoAnswer {
  return { why: 'circuit-open', detail: `left alone for a while after: ${failure}` }
}

export function rateLimited(waitMs: number): NoAnswer {
  const seconds = Math.ceil(waitMs / 1000)
  return { why: 'rate-limited', detail: `no request may be sent for ${seconds} s` }
}

export function overloaded(queued: number): NoAnswer {
  return { why: 'overloaded', detail: `${queued} questions wait already` }
}

export function late(isSent: boolean, limitMs: number): NoAnswer {
  const what = isSent ? 'no answer' : 'could not be asked'
  return { why: 'deadline', detail: `${what} within ${limitMs} ms` }
}
