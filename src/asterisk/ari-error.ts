/** The one error of every action on an Asterisk. */

/**
 * `gone`: no such channel any more, or not in our application any more (there may be another use of
 * it now, so it is let alone); `refused`: Asterisk answered and did not do it; `timed-out`: no
 * answer within the limit, so it may or may not have been done; `disconnected`: not tried.
 */
export type AriErrorKind = 'gone' | 'refused' | 'timed-out' | 'disconnected'

export class AriError extends Error {
  readonly kind: AriErrorKind
  readonly action: string

  constructor(kind: AriErrorKind, action: string, detail: string) {
    super(`${action}: ${detail}`)
    this.name = 'AriError'
    this.kind = kind
    this.action = action
  }
}
