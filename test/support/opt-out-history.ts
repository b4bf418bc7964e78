/** What the callers of several servers saw, and whether it keeps the promise about opt-outs. */

/** An opt-out or its removal. Instants are by the one clock of the machine, in milliseconds. */
export interface ListChange {
  readonly kind: 'add' | 'remove'
  readonly number: string
  readonly server: string
  /** The server is an edge, which passes it on when it can; until then it holds there alone. */
  readonly isAtEdge?: boolean
  readonly sentAt: number
  /** Infinity if it is not known whether it was stored, or when. */
  readonly acknowledgedAt: number
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

/** How long after its acknowledgement an opt-out may still be missed. */
const promisedMs = 1_000

/** The allows that an opt-out forbids which was acknowledged more than a second before they left. */
export function findForbiddenAllows(
  history: readonly (ListChange | SeenDecision)[],
): readonly { readonly allow: SeenDecision; readonly optOut: ListChange }[] {
  const changes = history.filter((one) => one.kind !== 'decision')
  return history.flatMap((allow) => {
    if (allow.kind !== 'decision' || !allow.isAllowed) return []
    const ofNumber = changes.filter(({ number }) => number === allow.number)
    const optOut = ofNumber.find(
      (add) =>
        add.kind === 'add' &&
        (!add.isAtEdge || add.server === allow.server) &&
        add.acknowledgedAt + promisedMs <= allow.notBefore &&
        !ofNumber.some((one) => mayUndo(one, add) && one.sentAt <= allow.receivedAt),
    )
    return optOut ? [{ allow, optOut }] : []
  })
}

/** The numbers that must be on the list, whatever the order in which concurrent changes were stored. */
export function findOptedOut(history: readonly (ListChange | SeenDecision)[]): readonly string[] {
  const changes = history.filter((one) => one.kind !== 'decision')
  const added = changes.filter(
    (add) =>
      add.kind === 'add' &&
      Number.isFinite(add.acknowledgedAt) &&
      !changes.some((one) => one.number === add.number && mayUndo(one, add)),
  )
  return [...new Set(added.map(({ number }) => number))]
}

/** Unless the removal had ended before the opt-out was sent. */
function mayUndo(one: ListChange, add: ListChange): boolean {
  return one.kind === 'remove' && one.acknowledgedAt >= add.sentAt
}
