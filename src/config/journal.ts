/** The settings of who keeps the signed heads of the journal. */
import { z } from 'zod'
import { NoteError, parseVerifierKey } from '../transparency/signed-note.js'
import { httpUrl, text } from './values.js'

const witnessKey = z.string().superRefine((key, context) => {
  const rule = 'must be the verifier key that callgate witness prints, such as name+1a2b3c4d+BE...'
  try {
    if (parseVerifierKey(key).type === 'cosigner') return
    context.addIssue(`${rule}; it is the key of a journal`)
  } catch (cause) {
    if (!(cause instanceof NoteError)) throw cause
    context.addIssue(rule)
  }
})

export const witnessesSchema = z
  .array(
    z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('witness'), url: httpUrl, key: witnessKey }),
      z.strictObject({ kind: z.literal('file'), path: text }),
      z.strictObject({
        kind: z.literal('timestamp'),
        url: httpUrl,
        every: z.enum(['hourly', 'daily']).default('daily'),
      }),
      z.strictObject({ kind: z.literal('webhook'), url: httpUrl }),
    ]),
  )
  .max(16)
  .default([])
  .describe(
    'Who keeps the signed heads of the journal outside its folder (docs/witnesses.md), each with kind: witness with url ' +
      'and key (callgate witness, or another C2SP witness), file with path (on another volume), timestamp with url and ' +
      'every: hourly or daily (RFC 3161), webhook with url',
  )
