/** The lookups of one number (spec, "Data enhancement lookups"). */
import {
  idPremium,
  realTimeDisconnect,
  resOrBusiness,
  wireIdentity,
  wireLineStatus,
  wireResOrBusiness,
} from '../../../api/lookups/line-lookups.js'
import type { WireObject } from '../../../api/wire-object.js'
import type { Question } from '../../../domain/compliance.js'
import type { LineIdentity, LineStatusAnswer, ResOrBusiness } from '../../../domain/lookups.js'
import type { PhoneNumber } from '../../../domain/phone-number.js'
import { withoutExpiry } from '../batch-question.js'
import { toPlainText } from '../client/reply-diagnostics.js'
import {
  createEndpointRequest,
  defineQuestion,
  type RequestedEndpoint,
} from '../questions/define-question.js'
import { parseSingleRow } from '../questions/parse-rows.js'
import type { LookupName } from './lookup-options.js'

interface LineQuestion<Row, Fact> {
  readonly endpoint: RequestedEndpoint<{ readonly phone: PhoneNumber }>
  readonly row: WireObject<Row>
  /** Converts a row to a fact; `undefined` if the provider has none. */
  readonly toFact: (row: Row) => Fact | undefined
}

function defineLineQuestion<Row extends { readonly phone: string }, Fact>(
  name: LookupName,
  { endpoint, row, toFact }: LineQuestion<Row, Fact>,
) {
  return defineQuestion<Question, Fact | undefined, LookupName>({
    name,
    group: ({ number }) => [number],
    item: () => [],
    buildRequest: ({ number }) => createEndpointRequest(endpoint, { phone: number }),
    parseReply: (reply, questions) =>
      parseSingleRow(reply, questions, {
        schema: row.schema,
        getNumber: ({ phone }) => phone,
        interpret: (found) => withoutExpiry(toFact(found)),
      }),
  })
}

export const identityQuestion = defineLineQuestion('identity', {
  endpoint: idPremium,
  row: wireIdentity,
  toFact({ phoneType, ocn, telcoName, on }): LineIdentity | undefined {
    const isKnown = phoneType !== 'N' || ocn !== '' || telcoName !== ''
    return isKnown ? { phoneType, ocn, telcoName, on } : undefined
  },
})

/** Limits the provider's text, which is passed to our own clients. */
const maxErrorTextLength = 200

/** Every status is an answer; another source may still be asked about some of them. */
export const lineStatusQuestion = defineLineQuestion('line-status', {
  endpoint: realTimeDisconnect,
  row: wireLineStatus,
  toFact: ({ status, errorText }): LineStatusAnswer => ({
    status,
    errorText: toPlainText(errorText, maxErrorTextLength),
  }),
})

export const resOrBusinessQuestion = defineLineQuestion('res-or-business', {
  endpoint: resOrBusiness,
  row: wireResOrBusiness,
  toFact: ({ resOrBusiness: found }): ResOrBusiness | undefined =>
    found === 'U' ? undefined : found,
})
