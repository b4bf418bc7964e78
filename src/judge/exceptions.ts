/** Exceptions of the law that an operator has decided to use: a relationship on file lifts hours or the number of calls. */
import type { CallRequest } from '../domain/decision.js'
import type { AppliedException, LiftedRule, Relationship } from '../domain/mandate.js'
import type { Instant } from '../domain/time/clock.js'
import { formatDay, msPerDay } from '../domain/time/dates.js'
import type { Said } from '../domain/words/words.js'
import type { Law } from './law.js'
import { type ExceptionInUse, isInScope } from './scope.js'

/** Finds the exceptions that a relationship meets in a call at an instant. */
export type FindExceptions = (
  lifted: LiftedRule,
  relationship: Relationship,
) => readonly AppliedException[]

/** `undefined` if none is in use for the call. */
export function prepareExceptions(
  request: CallRequest,
  {
    settings,
    law: { exceptions },
  }: {
    readonly settings: { readonly exceptions: readonly ExceptionInUse[] }
    readonly law: Pick<Law, 'exceptions'>
  },
  at: Instant,
): FindExceptions | undefined {
  if (settings.exceptions.length === 0) return undefined
  const inUse = settings.exceptions.filter(
    (row) => row.on * msPerDay <= at && isInScope(request, row) === true,
  )
  if (inUse.length === 0) return undefined
  return (lifted, relationship) =>
    exceptions.find(lifted, relationship, at).flatMap(({ id, region, citation }) => {
      const by = inUse.find((row) => row.id === id)?.decidedBy
      return by === undefined ? [] : [{ id, region, citation, decidedBy: by, relationship }]
    })
}

export function sayExceptions(applied: readonly AppliedException[]): readonly Said[] {
  return applied.map(({ id, citation, decidedBy, relationship: { type: record, contactOn } }) => {
    const params = { id, citation, record, on: formatDay(contactOn), decidedBy }
    return { code: 'exception', params }
  })
}
