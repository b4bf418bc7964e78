/** Sends each question to the source of its account: the sandbox has another than the rest. */
import type { Compliance } from '../domain/compliance.js'

/** Answers of one account never come from another's source. */
export function byAccount(choose: (accountId: string) => Compliance): Compliance {
  return {
    scrub: (question) => choose(question.accountId).scrub(question),
    internalDnc: (question) => choose(question.accountId).internalDnc(question),
    litigator: (question) => choose(question.accountId).litigator(question),
    legalTime: (question) => choose(question.accountId).legalTime(question),
  }
}
