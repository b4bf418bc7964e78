/** All that an account has about one number, each part with whether it is known. */
import { z } from 'zod'
import { consentEvidence, ebrTypes } from '../../domain/compliance.js'
import {
  consentChannels,
  consentMethods,
  optOutChannels,
  optOutScopes,
} from '../../domain/consent/consent-records.js'
import { callKinds, callPurposes } from '../../domain/decision.js'
import { historicalScores, labelStatuses, scores } from '../../domain/reputation.js'
import { defineEndpoint, singleScope } from '../endpoint.js'
import { fields, optionalFlag, optionalId, optionalText } from '../fields.js'
import { decisionRecordSchema, instant } from '../gate/decision-body.js'
import { previewRowSchema } from '../gate/preview.js'

const text = z.string()
const nullableText = text.nullable()
const nullableInstant = instant.nullable()
const author = 'The id of the key, or `import:<source>`'
const more = z.boolean().describe('There are older ones, which are left out')

const notKnown = z.object({ known: z.literal(false), because: text }).meta({
  id: 'NotKnown',
  description: 'The part could not be read; that says nothing of what is in it',
})

function part<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.union([z.object({ known: z.literal(true), ...shape }), notKnown])
}

const place = part({
  country: z.enum(['US', 'CA']).nullable().describe('null if the number has no place'),
  places: z
    .array(z.object({ region: text, zone: text }))
    .readonly()
    .describe('Every place where it may be'),
  foundBy: z.enum(['prefix', 'area-code', 'postal-code']).nullable(),
  detail: nullableText.describe('Why it has no place'),
  locality: nullableText,
  lineClass: z.enum(['wireless', 'wireline', 'voip', 'unknown']).nullable(),
  assignedTo: z
    .object({ ocn: text, company: text })
    .nullable()
    .describe('The company to which the prefix was assigned, whatever was ported since'),
  ported: z
    .object({ to: z.enum(['wireless', 'wireline']), on: nullableText })
    .nullable()
    .describe('null if no usable list of ported numbers has it'),
})

const optOuts = part({
  current: z
    .object({ addedAt: instant, removedAt: nullableInstant })
    .nullable()
    .describe('On the list of the project of the request, with the fixed facts of the sandbox'),
  lists: z
    .array(
      z.object({
        list: text.describe('Code of the project whose internal list it is'),
        onList: z.boolean(),
        addedAt: instant,
        optedOutAt: instant.describe('The latest opt-out, also of a number that was on the list'),
        optedOutBy: nullableText.describe(`${author}; null for a fixed fact of the sandbox`),
        removedAt: nullableInstant,
      }),
    )
    .readonly(),
  moreLists: more,
  statements: z
    .array(
      z.object({
        receivedAt: instant,
        heardAt: instant.describe('When it took effect'),
        scope: z.enum(optOutScopes).describe('`everything`, or `project`: the list alone'),
        list: nullableText.describe('null if the key may not use that project'),
        channel: z.enum(optOutChannels),
        source: nullableText,
        said: nullableText,
        goods: nullableText,
        decisionId: nullableText,
        by: nullableText.describe(`${author}; null if the key may not use that project`),
        readBy: nullableText.describe('Who read words that were not understood'),
      }),
    )
    .readonly(),
  moreStatements: more,
})

const consents = part({
  current: z
    .object({
      type: z.enum(ebrTypes),
      consentId: nullableText,
      evidence: z.enum(consentEvidence).nullable(),
      isEffective: z.boolean(),
      expiresOn: nullableText,
      isRevoked: z.boolean(),
    })
    .nullable()
    .describe('The record in force for the project of the request'),
  consents: z
    .array(
      z.object({
        projectCode: text,
        id: text,
        givenAt: instant,
        endsOn: nullableText,
        seller: text,
        channel: z.enum(consentChannels),
        method: z.enum(consentMethods),
        evidence: z.enum(consentEvidence),
        wording: text,
        wordingSha256: text,
        page: nullableText,
        certificate: nullableText,
        personId: nullableText,
        purposes: z.array(z.enum(callPurposes)).nullable(),
        kinds: z.array(z.enum(callKinds)).nullable(),
        recordedAt: instant,
        recordedBy: text,
      }),
    )
    .readonly(),
  moreConsents: more,
  records: z
    .array(
      z.object({
        projectCode: text,
        type: z.enum(ebrTypes),
        dateOfLastContact: text,
        consentId: nullableText,
        evidence: z.enum(consentEvidence).nullable(),
        recordedAt: instant,
        recordedBy: text.describe(author),
        replacedAt: nullableInstant,
      }),
    )
    .readonly(),
  moreRecords: more,
})

export const attemptsShape = {
  last24Hours: z.int(),
  last7Days: z.int(),
  last31Days: z.int(),
  of: z
    .enum(['account', 'key'])
    .describe('Whose `latest` are: with a key limited to projects or kinds of call, its own'),
  latest: z
    .array(
      z.object({
        decisionId: nullableText.describe('null for one of another system'),
        ref: nullableText.describe('Of the other system'),
        at: instant,
        purpose: z.enum(callPurposes),
        subject: nullableText,
        personId: nullableText,
        reach: z
          .enum(['not-reached', 'rang', 'answered', 'conversation'])
          .nullable()
          .describe('null while it is not known; limits count it then'),
      }),
    )
    .readonly(),
  more,
}

const attempts = part(attemptsShape)

const lists = part({
  lists: z
    .array(
      z.object({
        name: text,
        result: z
          .enum(['listed', 'clear', 'not-known', 'no-list'])
          .describe('not-known: the list cannot say; no-list: there is none, and none is needed'),
        version: nullableText,
        asOf: nullableInstant,
        listedOn: nullableText,
        because: nullableText.describe('Why it is not known'),
      }),
    )
    .readonly(),
})

const reassigned = part({
  since: text.describe('The day about which it was asked: that of the record in force'),
  result: z.enum(['yes', 'disconnected', 'no', 'no-data', 'not-covered', 'unreachable']),
  detail: nullableText,
  source: text,
  askedAt: nullableInstant,
  releasedOn: nullableText.describe('Of the national database'),
  hasSafeHarbor: z.boolean().nullable(),
})

const complaints = part({
  complaints: z
    .array(
      z.object({ id: text, createdDate: text, subject: text, recordedMessageOrRobocall: text }),
    )
    .readonly(),
  more,
})

const label = z.enum(labelStatuses)
const labels = part({
  monitored: z
    .object({
      current: z.enum(scores),
      highest: z.enum(scores).describe('Of the last 15 days'),
      historical: z.enum(historicalScores),
      labels: z.object({
        CarrierA: label,
        CarrierB: label,
        CarrierC: label,
        AppA: label,
        AppB: label,
      }),
    })
    .nullable()
    .describe('null if the account does not monitor the number'),
})

const changes = part({
  changes: z
    .array(
      z.object({
        at: instant,
        who: text,
        door: text,
        action: text,
        before: z.unknown(),
        after: z.unknown(),
        reason: nullableText,
      }),
    )
    .readonly(),
  more,
})

const decisions = part({
  decisions: z
    .array(
      decisionRecordSchema
        .pick({
          id: true,
          decidedAt: true,
          decision: true,
          reason: true,
          message: true,
          callKind: true,
          purpose: true,
          projectId: true,
          via: true,
          keyId: true,
          outcome: true,
        })
        .meta({ id: 'DecisionOfNumber' }),
    )
    .readonly(),
  next: text.optional().describe('Where the next page begins; absent if there are no more'),
  searchedBackTo: instant.optional(),
  completeUntil: instant.describe('Of decisions recorded before this instant, none is missing'),
  removedBefore: instant.optional().describe('Decisions from before this instant were removed'),
})

const now = part({
  decisions: z
    .array(
      previewRowSchema
        .pick({
          decision: true,
          reason: true,
          message: true,
          nextAllowedAt: true,
          nextAllowedAtLatest: true,
          callingHours: true,
        })
        .extend({ callKind: z.enum(callKinds) }),
    )
    .readonly(),
  notAllowedToAsk: z
    .array(z.enum(callKinds))
    .readonly()
    .describe('Kinds of call that the key may not request decisions for'),
})

const response = z.object({
  number: text.describe('Ten digits, or a service code'),
  asOf: instant,
  serviceCode: text
    .optional()
    .describe('Of an emergency or service code, about which nothing is looked up: why it passes'),
  source: z
    .object({ kind: z.enum(['embedded', 'remote', 'sandbox']), note: text })
    .describe('Who judges the calls of the account, and what was asked for this answer'),
  parts: z
    .object({
      place,
      optOuts,
      consents,
      attempts,
      lists,
      reassigned,
      labels,
      complaints,
      changes,
      decisions,
      now,
    })
    .optional()
    .describe('Absent for a service code'),
})

export type NumberBody = z.output<typeof response>
export type NumberParts = NonNullable<NumberBody['parts']>

export const numberEndpoint = defineEndpoint({
  name: 'number',
  summary:
    'All that the account has about one number, newest first and at most 20 of each, and what decisions about it would say now. ' +
    'The read is recorded. A part that is not known says why.',
  spec: 'the gate',
  method: 'GET',
  paths: ['/v1/numbers/:number'],
  accepts: ['query'],
  // It searches the journal.
  usesServiceThread: 'always',
  keyAlsoIn: [],
  rights: ['look-up'],
  scopes: singleScope,
  rateClass: 'ebr',
  countNumbers: () => 1,
  request: fields({
    number: text
      .max(128, 'must not be longer than 128 characters')
      .describe('Ten digits, or any other form of a number that may be dialed'),
    projectId: optionalId.describe('Whose calls are judged; the Master Project if absent'),
    campaignId: optionalId,
    askProvider: optionalFlag.describe(
      'Also ask providers, which may charge for it; without it none is asked',
    ),
    reason: optionalText(200).describe(
      'What the page is read for; kept with the record of the read',
    ),
  }),
  response,
  errors: 'problem',
})

export type NumberRequest = z.output<typeof numberEndpoint.request>
