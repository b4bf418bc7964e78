/** What a bundle is about. Runs in the verifier, with Node alone. */
import type { DecisionDocument } from '../../gate/record/decision-document.js'

export interface Question {
  readonly accountId?: string | undefined
  /** Ten digits. */
  readonly number?: string | undefined
  /** Of the record: from `from` on, before `to`; milliseconds. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** Of decisions. */
  readonly ids?: readonly string[] | undefined
  readonly without?: LeftOut | undefined
}

/**
 * What is not for everybody who may have the records of an account: the settings of the server; or, besides these, all that is of the
 * server and of other accounts: when their records were written, and who has imported lists that all use.
 */
export type LeftOut = 'settings' | 'others'

/** Whether a decision is of the account, the number and the ids of a question, whatever its time. */
export function isAsked(
  document: Pick<DecisionDocument, 'accountId' | 'number' | 'id'>,
  { accountId, number, ids }: Question,
): boolean {
  if (accountId !== undefined && document.accountId !== accountId) return false
  if (number !== undefined && document.number !== number) return false
  return ids === undefined || ids.includes(document.id)
}
