/** The look-ups of one number as they are put to a provider (spec, "Data enhancement lookups"). */
import {
  idPremium,
  realTimeDisconnect,
  resOrBusiness,
  wireIdentity,
  wireLineStatus,
  wireResOrBusiness,
} from '../../api/lookups.js'
import type { Question } from '../../domain/compliance.js'
import type { LineIdentity, LineStatusAnswer, ResOrBusiness } from '../../domain/lookups.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { BatchQuestion, OutgoingRequest } from './batch-question.js'
import type { LookupName } from './lookup-options.js'
import { plainText } from './odd-replies.js'
import { firstOfBatch, outgoing } from './outgoing-request.js'
import { type RowReading, readOnly } from './read-rows.js'

/** `undefined`: the provider has no fact. */
export type LookupQuestion<Fact> = BatchQuestion<Question, Fact | undefined, LookupName>

export function identityQuestion(): LookupQuestion<LineIdentity> {
  return single('identity', (phone) => outgoing(idPremium, { phone }), {
    schema: wireIdentity,
    numberOf: ({ phone }) => phone,
    understand: ({ phoneType, ocn, telcoName, on }) => {
      const isKnown = phoneType !== 'N' || ocn !== '' || telcoName !== ''
      return always(isKnown ? { phoneType, ocn, telcoName, on } : undefined)
    },
  })
}

/** Others' texts reach our own clients. */
const longestErrorText = 200

/** Every status is an answer; which of them another book may know better is not decided here. */
export function lineStatusQuestion(): LookupQuestion<LineStatusAnswer> {
  return single('line-status', (phone) => outgoing(realTimeDisconnect, { phone }), {
    schema: wireLineStatus,
    numberOf: ({ phone }) => phone,
    understand: ({ status, errorText }) =>
      always({ status, errorText: plainText(errorText, longestErrorText) }),
  })
}

export function resOrBusinessQuestion(): LookupQuestion<ResOrBusiness> {
  return single('res-or-business', (phone) => outgoing(resOrBusiness, { phone }), {
    schema: wireResOrBusiness,
    numberOf: ({ phone }) => phone,
    understand: (row) => always(row.resOrBusiness === 'U' ? undefined : row.resOrBusiness),
  })
}

function always<Value>(value: Value) {
  return { value, holdsUntil: Number.POSITIVE_INFINITY }
}

function single<Row, Fact>(
  name: LookupName,
  ask: (number: PhoneNumber) => OutgoingRequest,
  reading: RowReading<Question, Row, Fact | undefined>,
): LookupQuestion<Fact> {
  const group = ({ number }: Question) => number
  return {
    name,
    refusal: () => undefined,
    identity: ({ number }) => number,
    group,
    compose: (questions) => ask(firstOfBatch({ name, group }, questions).number),
    read: (reply, questions) => readOnly(reply, questions, reading),
  }
}
