/** The settings of the gate: its deadlines, what it allows, how long its answers are valid. */
import { z } from 'zod'
import { consentEvidence } from '../domain/compliance.js'
import { callPurposes, maxIdLength } from '../domain/decision.js'
import { maxFrequencyHours } from '../domain/mandate.js'
import { day, milliseconds, reloadable, text, wholeNumber } from './values.js'

/** There is one setting per call kind, so each description names its kind. */
const strictestPlaceFlag = (kind: string, byDefault: boolean) =>
  z
    .boolean()
    .default(byDefault)
    .meta(reloadable)
    .describe(
      `For ${kind} calls a postal code adds to the possible places of a number instead of ` +
        'replacing them; a postal code whose place is unknown, such as a military one, blocks',
    )

const strictestPlace = z
  .strictObject({
    manual: strictestPlaceFlag('manual', false),
    autodialed: strictestPlaceFlag('autodialed', true),
    ai: strictestPlaceFlag('AI', true),
  })
  .prefault({})

export const gateSchema = z.strictObject({
  account: text
    .default('main')
    .describe(
      'Account used for calls from Asterisk, and for `callgate check` without --account; a ' +
        'decision over HTTP uses the account of its API key',
    ),
  deadlineMs: milliseconds(10, 60_000)
    .optional()
    .describe(
      'Every decision is answered within this time of its arrival, or blocked as overloaded; checks ' +
        'without an answer at nine tenths of it are unknown. Default: 250, or 1500 with source.kind remote or lookups.baseUrl',
    ),
  maxPending: wholeNumber(1, 100_000)
    .default(2_000)
    .meta(reloadable)
    .describe('Maximum decisions in progress; further ones are blocked as overloaded'),
  nonNanp: z
    .enum(['block', 'allow'])
    .default('block')
    .meta(reloadable)
    .describe('Verdict for extensions and numbers of other countries, which are never looked up'),
  serviceCodes: z
    .array(z.string().regex(/^\d{2,10}$/, 'must be 2 to 10 digits'))
    .default([])
    .describe(
      'More emergency and service numbers that are always allowed, besides 911, 933, 988 and N11',
    ),
  shadow: z
    .strictObject({
      all: z
        .boolean()
        .default(false)
        .meta(reloadable)
        .describe(
          'Put every check into shadow mode for every call: nothing that a check finds blocks',
        ),
      accounts: z
        .array(text)
        .default([])
        .meta(reloadable)
        .describe('Accounts for whose calls every check is in shadow mode'),
      trunks: z
        .array(text)
        .default([])
        .meta(reloadable)
        .describe(
          'Trunks of asterisk.trunks on which every check is in shadow mode, for calls whose ' +
            'dialplan names the trunk',
        ),
    })
    .prefault({}),
  houseLimits: z
    .array(
      z.strictObject({
        account: text.optional().describe('Only for calls of this account'),
        project: text.optional().describe('Only for calls of this project'),
        calls: wholeNumber(1, 1_000).describe('Calls to a person in the time'),
        seconds: wholeNumber(1, maxFrequencyHours * 3_600).describe('Elapsed time before the call'),
      }),
    )
    .default([])
    .meta(reloadable)
    .describe(
      'Own limits on how often a person is called, besides those of the law: a call is allowed if fewer ' +
        'were made in the seconds before it',
    ),
  subjects: z
    .array(
      z.strictObject({
        account: text.optional().describe('Only for calls of this account'),
        project: text.optional().describe('Only for calls of this project'),
        subjects: z
          .array(text.max(maxIdLength))
          .min(1, 'must not be empty')
          .describe('Words that calls may give as their subject'),
      }),
    )
    .default([])
    .meta(reloadable)
    .describe(
      'What calls may be about: some laws count only calls on the same subject. Another word is refused; calls ' +
        'without one count with all others',
    ),
  purposes: z
    .array(
      z.strictObject({
        account: text.optional().describe('Only for calls of this account'),
        project: text
          .optional()
          .describe('Only for calls that name this project, or of the Master Project'),
        campaign: wholeNumber(0, Number.MAX_SAFE_INTEGER)
          .optional()
          .describe('Only for calls that name this campaign'),
        purpose: z.enum(callPurposes).describe('What the calls are for'),
        requestsMay: z
          .array(z.enum(callPurposes))
          .default([])
          .describe('What else a request may say that its call is for'),
        setBy: text
          .max(100)
          .refine((name) => name !== 'request', 'must be the name of a person')
          .describe('Who decided this; recorded with each decision'),
      }),
    )
    .default([])
    .meta(reloadable)
    .describe(
      'What calls are for: the first row that fits a call decides. Without one it is telemarketing, and a request ' +
        'that says otherwise is refused. Needs source.kind embedded',
    ),
  exceptions: z
    .array(
      z.strictObject({
        id: text.describe('Its id in calling-rules.yaml, such as or-customer'),
        account: text.optional().describe('Only for calls of this account'),
        project: text.optional().describe('Only for calls that name this project'),
        decidedBy: text
          .max(100)
          .describe('Who has decided to use it; recorded with each decision that rests on it'),
        on: day.describe('When that was decided: the first day on which it is used, in UTC'),
      }),
    )
    .default([])
    .meta(reloadable)
    .describe(
      'Exceptions of the calling rules that are used: by them a relationship on file lifts the hours of a state, or how ' +
        'often it lets somebody be called. None is by default. Needs source.kind embedded',
    ),
  neighborCallerId: z
    .enum(['off', 'warn', 'block'])
    .default('warn')
    .meta(reloadable)
    .describe(
      'What becomes of a call that shows an own number which begins as that of the person called, while no presence ' +
        'there is recorded in the register; warn says so in the finding',
    ),
  neighborPrefix: z
    .enum(['area-code', 'exchange'])
    .default('area-code')
    .meta(reloadable)
    .describe(
      'What begins as that of the person called: the area code, or the area code and the exchange',
    ),
  recordedVoiceWindows: z
    .boolean()
    .default(true)
    .meta(reloadable)
    .describe('AI and autodialed calls must also respect the state window for recorded voices'),
  projectMayWiden: z
    .boolean()
    .default(false)
    .meta(reloadable)
    .describe('Whether a project may set calling hours wider than the law'),
  strictestPlace,
  aiConsentEvidence: z
    .enum(consentEvidence)
    .default('none')
    .meta(reloadable)
    .describe(
      'The least evidence of consent that an AI call needs: none (its record is enough), oral, recorded, written, ' +
        'certified. POST /v1/consents stores it; records of the ebr call have none',
    ),
  allowValidMs: milliseconds(1_000, 3_600_000)
    .default(60_000)
    .meta(reloadable)
    .describe('Maximum time an allow may be acted on'),
  blockValidMs: milliseconds(1_000, 86_400_000)
    .default(600_000)
    .meta(reloadable)
    .describe('Maximum time a block remains valid before it should be asked again'),
  cache: z
    .strictObject({
      maxEntries: wholeNumber(0, 10_000_000)
        .default(50_000)
        .describe('Maximum numbers in the cache of facts and answers; each takes 5 KB of memory'),
      allowMs: milliseconds(0, 3_600_000)
        .default(300_000)
        .describe(
          'Maximum time that facts about a number, or an answer of a provider that permits, are cached',
        ),
      blockMs: milliseconds(0, 86_400_000)
        .default(3_600_000)
        .describe('The same if a list of ours has the number, or the answer forbids'),
    })
    .prefault({}),
})
