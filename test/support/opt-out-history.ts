/** What the callers of several servers saw, and whether it keeps the promise about opt-outs and consents. */

/**
 * An opt-out, or the end of the consent that calls to a number need, forbids; a removal from the list, or a
 * consent, permits. Instants are by the one clock of the machine, in milliseconds.
 */
export interface SeenChange {
  readonly kind: 'forbid' | 'permit'
  readonly number: string
  readonly server: string
  /** The server is an edge, which passes it on when it can; until then it holds there alone. */
  readonly isAtEdge?: boolean
  readonly sentAt: number
  /**
   * When the caller had the answer, or knew that there would be none. Servers lock the account for a change, so a later one is stored
   * after this one.
   */
  readonly endedAt: number
  /** Else it is not known whether it was stored. */
  readonly isAcknowledged: boolean
}

export interface SeenDecision {
  readonly kind: 'decision'
  readonly number: string
  readonly server: string
  /** The allow cannot have left earlier. */
  readonly notBefore: number
  readonly receivedAt: number
  readonly isAllowed: boolean
}

/** How long after its acknowledgement a stop may still be missed. */
const promisedMs = 1_000

/** The allows that an opt-out or the end of a consent forbids which was acknowledged more than a second before they left. */
export function findForbiddenAllows(
  history: readonly (SeenChange | SeenDecision)[],
): readonly { readonly allow: SeenDecision; readonly stop: SeenChange }[] {
  const changes = history.filter((one) => one.kind !== 'decision')
  return history.flatMap((allow) => {
    if (allow.kind !== 'decision' || !allow.isAllowed) return []
    const ofNumber = changes.filter(({ number }) => number === allow.number)
    const stop = ofNumber.find(
      (stop) =>
        stop.kind === 'forbid' &&
        (!stop.isAtEdge || stop.server === allow.server) &&
        stop.isAcknowledged &&
        stop.endedAt + promisedMs <= allow.notBefore &&
        !ofNumber.some((one) => mayUndo(one, stop) && one.sentAt <= allow.receivedAt),
    )
    return stop ? [{ allow, stop }] : []
  })
}

/** The numbers that must be blocked in the end, whatever the order in which concurrent changes were stored. */
export function findForbidden(history: readonly (SeenChange | SeenDecision)[]): readonly string[] {
  const changes = history.filter((one) => one.kind !== 'decision')
  const stops = changes.filter(
    (stop) =>
      stop.kind === 'forbid' &&
      stop.isAcknowledged &&
      !changes.some((one) => one.number === stop.number && mayUndo(one, stop)),
  )
  return [...new Set(stops.map(({ number }) => number))]
}

/** Unless what permits had ended before the other was sent, whether or not it was stored. */
function mayUndo(one: SeenChange, stop: SeenChange): boolean {
  return one.kind === 'permit' && one.endedAt >= stop.sentAt
}
