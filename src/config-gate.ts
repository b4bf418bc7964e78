/** The settings of the gate: its deadlines, what it lets pass, how long its answers hold. */
import { z } from 'zod'
import { milliseconds } from './config-values.js'

/** One rule per call kind, so each one's text names its kind. */
const stricter = (kind: string, byDefault: boolean) =>
  z
    .boolean()
    .default(byDefault)
    .describe(
      `For ${kind} calls a postal code adds to the places a number may be in instead of ` +
        'replacing them; a postal code of unknown place, such as of the armed forces, blocks',
    )

const strictestPlace = z
  .strictObject({
    manual: stricter('manual', false),
    autodialed: stricter('autodialed', true),
    ai: stricter('AI', true),
  })
  .prefault({})

export const gate = z.strictObject({
  account: z
    .string()
    .min(1)
    .default('main')
    .describe(
      'Account that calls from Asterisk are judged for, and `callgate check` when told none; a ' +
        'call over HTTP is judged for the account of its key',
    ),
  deadlineMs: milliseconds(10, 60_000)
    .optional()
    .describe(
      'Every decision is answered within this time of its arrival, or blocked as overloaded; what has ' +
        'not answered by nine tenths of it is unknown. Unset: 250, and 1500 with source.kind remote',
    ),
  maxPending: z
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(2_000)
    .describe('Decisions under way at once; one more is blocked as overloaded'),
  nonNanp: z
    .enum(['block', 'allow'])
    .default('block')
    .describe(
      'What becomes of extensions and numbers of other countries, which are never looked up',
    ),
  serviceCodes: z
    .array(z.string().regex(/^\d{2,10}$/, 'must be 2 to 10 digits'))
    .default([])
    .describe('More emergency and service numbers that always pass, beside 911, 933, 988 and N11'),
  recordedVoiceWindows: z
    .boolean()
    .default(true)
    .describe('AI and autodialed calls must also respect the state window for recorded voices'),
  projectMayWiden: z
    .boolean()
    .default(false)
    .describe('Whether a project may set calling hours wider than the law'),
  strictestPlace,
  allowValidMs: milliseconds(1_000, 3_600_000)
    .default(60_000)
    .describe('How long an allow may be acted on, at most'),
  blockValidMs: milliseconds(1_000, 86_400_000)
    .default(600_000)
    .describe('How long a block need not be asked again, at most'),
  cache: z
    .strictObject({
      maxEntries: z
        .number()
        .int()
        .min(0)
        .max(10_000_000)
        .default(100_000)
        .describe('Numbers whose answers are kept, per question'),
      allowMs: milliseconds(0, 3_600_000)
        .default(300_000)
        .describe('How long an answer that permits is kept, at most'),
      blockMs: milliseconds(0, 86_400_000)
        .default(3_600_000)
        .describe('How long an answer that forbids is kept, at most'),
    })
    .prefault({}),
})
