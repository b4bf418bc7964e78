/** The endpoints of the signed journal: the proof of one decision, and the journal's newest head. */
import { z } from 'zod'
import { defineEndpoint } from '../endpoint.js'
import { fields } from '../fields.js'

export const decisionProofEndpoint = defineEndpoint({
  name: 'decision-proof',
  summary:
    'The proof that the latest record of a decision is in the signed journal, as a C2SP tlog-proof with the record in it. 503 with ' +
    'Retry-After until it is signed; 409 if this journal cannot prove it.',
  spec: 'none; callgate only',
  method: 'GET',
  paths: ['/v1/decisions/:id/proof'],
  accepts: ['query'],
  usesServiceThread: 'always',
  keyAlsoIn: [],
  rights: ['decide'],
  // The handler checks the key's limits after it has found the record.
  scopes: 'none',
  request: fields({ id: z.string().max(64, 'must not be longer than 64 characters') }),
  response: z.string(),
  encode: (text) => ({ text, contentType: 'text/plain; charset=utf-8' }),
  replyTypes: ['text/plain'],
  errors: 'problem',
})

const origin = z.string().describe('Name of the journal')
const size = z.int().describe('Number of its records that the head is about')
const at = z.string().meta({ format: 'date-time' })

const journalHead = z
  .object({
    origin,
    originHash: z
      .string()
      .describe(
        'SHA-256 of the name and a line feed, by which servers that share a database name it',
      ),
    verifierKey: z
      .string()
      .describe('That checks its signatures (C2SP signed-note). Note it elsewhere'),
    checkpoint: z.string().describe('The newest signed head, a C2SP checkpoint'),
    size,
    signedAt: at,
    ageSeconds: z.number().describe('Since then. Without new records nothing is signed'),
    cosigned: z
      .object({
        checkpoint: z.string().describe('With the signatures of the witnesses'),
        size,
        cosignatures: z
          .array(z.object({ witness: z.string(), at }))
          .readonly()
          .describe('Those that are right, by the witnesses of journal.witnesses'),
      })
      .nullable()
      .describe('The newest head that a witness has signed; null if none has'),
    formerOrigins: z
      .array(z.object({ origin, size, at, next: z.string() }))
      .readonly()
      .describe(
        'Names that the journal had, how many records it had then, and the name that came next',
      ),
  })
  .meta({ id: 'JournalHead' })

export type JournalHeadBody = z.output<typeof journalHead>

export const journalEndpoint = defineEndpoint({
  name: 'journal',
  summary: 'The name, the key and the newest signed head of the journal of this server.',
  spec: 'none; callgate only',
  method: 'GET',
  paths: ['/v1/journal'],
  accepts: ['query'],
  usesServiceThread: 'always',
  keyAlsoIn: [],
  rights: ['decide'],
  scopes: 'none',
  request: fields({}),
  response: journalHead,
  errors: 'problem',
})
