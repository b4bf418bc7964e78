/** The internal do-not-call list on the wire: `pdnc` (spec, "Internal DNC list"). */
import { z } from 'zod'
import { mapInSlices } from '../domain/slices.js'
import {
  type Endpoint,
  endpoint,
  type NeededRight,
  oneScope,
  type Reply,
  type WireRequest,
} from './endpoint.js'
import { fields, optionalFlag, optionalId, phoneList } from './fields.js'

const actions = ['add', 'remove', 'status', 'count'] as const
export type InternalDncAction = (typeof actions)[number]

export interface InternalDncRequest {
  readonly action: InternalDncAction
  /** As given, trimmed; whether each is a number is the subject's to say. Empty for `count` alone. */
  readonly numbers: readonly string[]
  readonly projectId: string | undefined
  /** Implies its project. */
  readonly campaignId?: string | undefined
  /** Of effect for `add` only. */
  readonly ignoreInvalid: boolean
}

/** Days are `YYYY-MM-DD`. */
export interface InternalDncItem {
  readonly phone: string
  readonly onList: boolean
  readonly addedOn: string | null
  readonly lastModifiedOn: string | null
  /** True when the text is not exactly 10 digits; then, and only then, the wire says so. */
  readonly invalid?: boolean | undefined
}

export type InternalDncAnswer =
  | { readonly done: true }
  | { readonly items: readonly InternalDncItem[] }
  | { readonly count: number; readonly lastModifiedOn: string | null }

const numbers = phoneList({ most: 10_000 })

const action = z
  .string({
    error: ({ input }) =>
      input === undefined
        ? `is required and must be one of ${actions.join(', ')}`
        : `must be one of ${actions.join(', ')}`,
  })
  .transform((text) => text.trim().toLowerCase())
  .pipe(z.enum(actions, `must be one of ${actions.join(', ')}`))

const request = fields({
  actionType: action.meta({ enum: [...actions] }),
  phoneList: z
    .unknown()
    .meta({ type: 'string' })
    .describe('Numbers of 10 digits separated by commas; not for count')
    .optional(),
  projId: optionalId.describe('Whose list; the Master Project’s when absent'),
  campaignId: optionalId.describe('Implies its project'),
  ignoreInvalid: optionalFlag,
}).transform(async (wire, context): Promise<InternalDncRequest> => {
  const isCount = wire.actionType === 'count'
  const parsed = isCount ? undefined : await numbers.safeParseAsync(wire.phoneList)
  for (const issue of parsed?.error?.issues ?? []) {
    const { message } = issue
    context.addIssue({ code: 'custom', message, path: ['phoneList'], input: wire.phoneList })
  }
  return {
    action: wire.actionType,
    numbers: parsed?.data ?? [],
    projectId: wire.projId,
    campaignId: wire.campaignId,
    ignoreInvalid: wire.ignoreInvalid,
  }
})

const day = z.iso.date('must be a day as YYYY-MM-DD, or null').nullable()

/** Reads one item of `status` (spec, "Internal DNC status item"). */
export const wireInternalDncItem: z.ZodType<InternalDncItem> = z
  .object({
    phone: z.string('must be text'),
    onList: z.boolean('must be true or false'),
    addedOn: day,
    lastModifiedOn: day,
    invalid: z.literal(true, 'must be true or absent').optional(),
  })
  .readonly()

/** The JSON forms; the plain text forms of `add` and `remove` are empty. */
const response: z.ZodType<InternalDncAnswer> = z.union([
  z.object({ message: z.literal('success') }).transform(() => ({ done: true }) as const),
  z.array(wireInternalDncItem).transform((items) => ({ items })),
  z.object({ count: z.int(), lastModifiedOn: day }),
])

async function json(answer: InternalDncAnswer): Promise<Reply> {
  if ('done' in answer) return { json: { message: 'success' } }
  if ('count' in answer) {
    return { json: { count: answer.count, lastModifiedOn: answer.lastModifiedOn } }
  }
  return {
    json: await mapInSlices(
      answer.items,
      ({ phone, onList, addedOn, lastModifiedOn, invalid }) => ({
        ...{ phone, onList, addedOn, lastModifiedOn },
        ...(invalid === true && { invalid }),
      }),
    ),
  }
}

async function plainText(answer: InternalDncAnswer): Promise<Reply> {
  if ('done' in answer) return { text: '' }
  if ('count' in answer) return { text: `${answer.count},${answer.lastModifiedOn ?? ''}` }
  const valid = answer.items.filter(({ invalid }) => invalid !== true)
  const lines = await mapInSlices(
    valid,
    (item) => `${item.phone},${item.addedOn ?? ''},${item.lastModifiedOn ?? ''}`,
  )
  return { text: lines.join('\n') }
}

function send({ action, numbers, projectId, ignoreInvalid }: InternalDncRequest): WireRequest {
  return {
    query: {
      ...(numbers.length > 0 && { phoneList: numbers.join(',') }),
      actionType: action,
      ...(projectId !== undefined && { projId: projectId }),
      ...(ignoreInvalid && { ignoreInvalid: '1' }),
    },
    jsonRequested: true,
  }
}

type InternalDncEndpoint = Endpoint<InternalDncRequest, InternalDncAnswer>

const writes: ReadonlySet<InternalDncRequest['action']> = new Set(['add', 'remove'])

const pdncRights: readonly NeededRight<InternalDncRequest>[] = [
  {
    right: 'records',
    when: 'actionType is add or remove',
    applies: ({ action }) => writes.has(action),
  },
  {
    right: 'look-up',
    when: 'actionType is status or count',
    applies: ({ action }) => !writes.has(action),
  },
]

const common = {
  spec: 'Internal DNC list',
  paths: ['/app/main/rpc/pdnc'],
  rights: pdncRights,
  scopes: oneScope,
  rate: 'pdnc',
  numbers: ({ numbers: given }) => given.length,
  request,
  response,
  replyTypes: ['text/plain', 'application/json'],
  outcomes: { 403: 'The role may not remove numbers' },
  errors: 'text-or-error',
  encode: (answer, { jsonRequested }) => (jsonRequested ? json(answer) : plainText(answer)),
} satisfies Partial<InternalDncEndpoint>

export const internalDncGet: InternalDncEndpoint = endpoint({
  ...common,
  name: 'pdnc-get',
  summary: 'Adds to, removes from, looks up or counts the internal list.',
  method: 'GET',
  accepts: ['query'],
  keyAlsoIn: ['query'],
  send,
})

/** The same call for lists that are too long for an address. */
export const internalDncPost: InternalDncEndpoint = endpoint({
  ...common,
  name: 'pdnc-post',
  summary: 'The same as a form or JSON, for longer lists.',
  method: 'POST',
  accepts: ['query', 'json', 'form', 'multipart'],
  keyAlsoIn: ['query', 'json', 'form', 'multipart'],
})
