/** The settings of opt-outs: what an operator has decided about them, each with a name. */
import { z } from 'zod'
import { day, reloadable, text } from './values.js'

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
