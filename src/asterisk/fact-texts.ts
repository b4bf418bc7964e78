/** The facts of a call as texts, by the names a dialplan gives them, and the rule of each. */
import {
  longestCallerId,
  longestId,
  longestReference,
  postalCodePattern,
  postalCodeRule,
} from '../domain/call-fields.js'
import { type CallKind, callKinds } from '../domain/decision.js'
import { describeProblem } from '../errors.js'

export const factNames = ['kind', 'project', 'campaign', 'postal', 'callerid', 'ref'] as const
export type FactName = (typeof factNames)[number]

/** Checked texts; a fact that is not given is absent. */
export type FactTexts = { [Name in FactName]?: string }

interface Rule {
  readonly holds: (text: string) => boolean
  readonly rule: string
}

const atMost = (longest: number): Rule => ({
  holds: (text) => text.length <= longest,
  rule: `must not be longer than ${longest} characters`,
})

/** Those of the pre-dial endpoint. */
const rules: Readonly<Record<FactName, Rule>> = {
  kind: {
    holds: (text) => kindOf(text) !== undefined,
    rule: `must be one of ${callKinds.join(', ')}`,
  },
  project: atMost(longestId),
  campaign: atMost(longestId),
  postal: { holds: (text) => postalCodePattern.test(text), rule: postalCodeRule },
  callerid: atMost(longestCallerId),
  ref: atMost(longestReference),
}

/** Keeps a fact; blank text counts as not given. Gives what is wrong with it, named as `field`. */
export function takeFact(
  texts: FactTexts,
  name: FactName,
  { text, field = name }: { readonly text: string; readonly field?: string },
): string | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  const kept = name === 'kind' ? trimmed.toLowerCase() : trimmed
  const { holds, rule } = rules[name]
  if (!holds(kept)) return describeProblem({ field, value: trimmed, rule })
  texts[name] = kept
  return undefined
}

/** Of a checked text. */
export function kindOf(text: string | undefined): CallKind | undefined {
  return callKinds.find((kind) => kind === text)
}
