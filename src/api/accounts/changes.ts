/** The endpoints of changes that one person has asked for and another one must approve. */
import { z } from 'zod'
import { changeKinds, changeStates, maxNoteLength } from '../../domain/mandate.js'
import { defineEndpoint, maxSmallBodyBytes } from '../endpoint.js'
import { fields, optionalText } from '../fields.js'
import { instant } from '../gate/decision-body.js'

const changeState = z
  .enum(changeStates, `must be one of ${changeStates.join(', ')}`)
  .meta({ id: 'ChangeState' })

const changeShape = {
  id: z.string(),
  kind: z.enum(changeKinds).meta({ id: 'ChangeKind' }),
  what: z.string().describe('In words'),
  state: changeState.describe(
    '`approved`: who asked may do it once; `running`: it is being carried out; `failed`: `problem` says why',
  ),
  requestHash: z.string().describe('Of exactly what is asked for; to be sent with the verdict'),
  reason: z.string().optional().describe('Of who asked'),
  askedBy: z.string().describe('As in the audit table: `key:<id>`, `person:<name>`, `user:<name>`'),
  askedAt: instant,
  expiresAt: instant.describe('From then on it cannot be approved'),
  decidedBy: z.string().optional(),
  decidedAt: instant.optional(),
  note: z.string().optional().describe('The reason of who has decided'),
  problem: z.string().optional().describe('Why it could not be carried out'),
}

const changeSummary = z.object(changeShape).meta({ id: 'ChangeSummary' })
export type ChangeSummaryBody = z.output<typeof changeSummary>

const change = z
  .object({
    ...changeShape,
    request: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Exactly what is asked for; absent once it is over'),
    self: z
      .string()
      .optional()
      .describe('Why the caller may not decide: they are not a second person. Absent if they may'),
  })
  .meta({ id: 'Change' })
export type ChangeBody = z.output<typeof change>

const common = {
  spec: 'none; callgate only',
  keyAlsoIn: [],
  rights: ['manage'],
  scopes: 'none',
  errors: 'problem',
} as const

export const changesEndpoint = defineEndpoint({
  ...common,
  name: 'changes',
  summary:
    'The changes of the account that wait for a second person (`twoPeople.for`), or waited, of those that the caller may make; the ' +
    'newest 100. Only for role Supervisor or Administrator, without a limit to projects.',
  method: 'GET',
  paths: ['/v1/changes'],
  accepts: ['query'],
  request: fields({ state: changeState.optional() }),
  response: z.object({ changes: z.array(changeSummary).readonly() }),
})

const id = z.string().max(64, 'must not be longer than 64 characters')

export const changeEndpoint = defineEndpoint({
  ...common,
  name: 'change',
  summary: 'One such change, with exactly what is asked for.',
  method: 'GET',
  paths: ['/v1/changes/:id'],
  accepts: ['query'],
  otherStatuses: { 404: 'The account has no such change' },
  request: fields({ id }),
  response: change,
})

const verdict = {
  ...common,
  method: 'POST',
  accepts: ['json'],
  maxBodyBytes: maxSmallBodyBytes,
  request: fields({
    id,
    requestHash: z.string('is required and must be text').max(64),
    reason: optionalText(maxNoteLength).describe('Why; kept with it and in the audit'),
  }),
  response: changeSummary,
} as const

export const approveChangeEndpoint = defineEndpoint({
  ...verdict,
  name: 'change-approve',
  summary:
    'Approves a change of another person, and does exactly that, once. The caller needs the right to do it themselves, and must be ' +
    'a second person: not the one behind the key that asked, not a program, and able to approve for a day before it was asked for.',
  paths: ['/v1/changes/:id/approve'],
  otherStatuses: {
    400: 'Also if the change cannot be made any more; it is over then',
    404: 'The account has no such change',
    409: 'It is not waiting, or is not the one that was shown',
  },
})

export const refuseChangeEndpoint = defineEndpoint({
  ...verdict,
  name: 'change-refuse',
  summary: 'Refuses a change of another person; it is over then. Needs the same as approving it.',
  paths: ['/v1/changes/:id/refuse'],
  otherStatuses: {
    404: 'The account has no such change',
    409: 'It is not waiting, or is not the one that was shown',
  },
})
