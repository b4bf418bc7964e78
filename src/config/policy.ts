/** The policy settings of each check, and what an operator has decided about opt-outs, each with a name. */
import { z } from 'zod'
import { type CheckName, type CheckSetting, checks } from '../domain/checks.js'
import { addProblem, day, instant, milliseconds, reloadable, text } from './values.js'

const checkFields = (check: string) => ({
  mode: z
    .enum(['enforce', 'shadow'])
    .default('enforce')
    .meta(reloadable)
    .describe(`In shadow mode the ${check} check is recorded and counted but blocks nothing`),
  onUnknown: z
    .enum(['block', 'allow'])
    .default('block')
    .meta(reloadable)
    .describe('Verdict for a call when this check cannot be answered'),
  reason: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .optional()
    .meta(reloadable)
    .describe(
      'Why unknown is allowed; required for onUnknown allow, and recorded in every such decision',
    ),
  until: instant('2026-12-01T00:00:00Z')
    .optional()
    .meta(reloadable)
    .describe('When unknown blocks again; required for onUnknown allow'),
})

const staleForMs = milliseconds(0, 604_800_000)
  .default(0)
  .describe(
    'How long after its maximum age a cached answer may still permit while its source does not ' +
      'answer, but never past the end of its own validity. One that forbids is used for as long as it is cached',
  )

interface UnknownSettings {
  readonly onUnknown: 'block' | 'allow'
  readonly reason?: string | undefined
  readonly until?: number | undefined
}

function requireException(
  { onUnknown, ...exception }: UnknownSettings,
  context: z.RefinementCtx,
): void {
  if (onUnknown === 'block') return
  for (const name of ['reason', 'until'] as const) {
    if (exception[name] !== undefined) continue
    addProblem(context, [name], 'is required to allow unknown')
  }
}

const checkPolicy = ({ about, judges }: (typeof checks)[CheckName]) =>
  z
    .strictObject({
      ...checkFields(about),
      // Its type is for both.
      ...((judges === 'answer' ? { staleForMs } : {}) as unknown as {
        staleForMs: z.ZodOptional<typeof staleForMs>
      }),
    })
    .superRefine(requireException)
    .prefault({})

export const policySchema = z.strictObject(
  Object.fromEntries(
    Object.values(checks).map((check) => [check.setting, checkPolicy(check)]),
  ) as Record<CheckSetting, ReturnType<typeof checkPolicy>>,
)

const by = text.max(100).describe('Who has decided it')

export const optOutsSchema = z.strictObject({
  sellers: z
    .array(
      z.strictObject({
        account: text.describe('Account of the project'),
        project: text.describe('Code of the project'),
        seller: text.max(200).describe('The legal entity that it calls for'),
        by,
      }),
    )
    .default([])
    .meta(reloadable)
    .describe(
      'Projects that call for a legal entity of their own: only there an opt-out may have scope project. ' +
        'All others hold for every project of the account',
    ),
  ruleDates: z
    .array(
      z.strictObject({
        rule: text.describe('Its id in calling-rules.yaml, such as fcc-26-67'),
        from: day.describe('First day on which it is in force'),
        by,
      }),
    )
    .default([])
    .meta(reloadable)
    .describe(
      'First days of rules on opt-outs whose day is not settled (datedByOperator in calling-rules.yaml); until one ' +
        'is entered, the rule is not in force',
    ),
  phrasesFile: text
    .default('config/opt-out-phrases.yaml')
    .describe(
      'Words that are understood as an opt-out. Other words are an opt-out too, but a person should read them',
    ),
})
