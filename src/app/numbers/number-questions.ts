/** What only the thread that decides can answer about a number: it has the caches, and the connections to providers. */
import { type CallKind, callKinds } from '../../domain/decision.js'
import type { ReassignedQuestion, ReassignedStatus } from '../../domain/lookups.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { type PreviewCall, previewDecision, toPreviewRow } from '../../gate/preview.js'
import { chooseByAccount } from '../../service/sandbox/sandbox.js'
import type { Callgate } from '../callgate.js'

interface NumberPreview {
  readonly call: Omit<PreviewCall, 'callKind'>
  readonly number: PhoneNumber
  readonly kinds: readonly CallKind[]
}

type PreviewedCall = ReturnType<typeof toPreviewRow> & { readonly callKind: CallKind }

export interface NumberQuestions {
  /** What decisions about each kind of call would say now. */
  previewNumber(preview: NumberPreview): Promise<readonly PreviewedCall[]>
  /** Asks a provider if there is one for calls, and its answer is not cached. */
  findReassignedStatus(question: ReassignedQuestion): Promise<Omit<ReassignedStatus, 'judged'>>
  /** Logs a fault of this server. */
  reportUnreadPart(failure: { readonly part: string; readonly cause: string }): void
}

export function createNumberQuestions({
  gate,
  factSources,
  runtime: { log },
}: Pick<Callgate, 'gate' | 'factSources' | 'runtime'>): NumberQuestions {
  return {
    previewNumber: ({ call, number, kinds }) =>
      Promise.all(
        callKinds
          .filter((kind) => kinds.includes(kind))
          .map(async (callKind) => {
            const judged = await previewDecision(gate, { ...call, callKind }, { dialed: number })
            return { ...toPreviewRow(judged), callKind }
          }),
      ),
    findReassignedStatus: async (question) =>
      await chooseByAccount(factSources.reassigned)(question.accountId).find(question),
    reportUnreadPart: ({ part, cause }) =>
      log.error('a part of what is known of a number could not be read', { part, cause }),
  }
}
