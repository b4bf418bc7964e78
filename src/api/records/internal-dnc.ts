/** The internal do-not-call list in the API: `pdnc` (spec, "Internal DNC list"). */
import { z } from 'zod'
import { mapInSlices } from '../../runtime/yield-to-event-loop.js'
import {
  defineEndpoint,
  type Endpoint,
  type Reply,
  type RequiredRight,
  singleScope,
  type WireRequest,
} from '../endpoint.js'
import { fields, optionalFlag, optionalId, optionalText, phoneList } from '../fields.js'

const actions = ['add', 'remove', 'status', 'count'] as const
type InternalDncAction = (typeof actions)[number]

export interface InternalDncRequest {
  readonly action: InternalDncAction
  /** As sent, trimmed and not yet validated. Empty for `count` only. */
  readonly numbers: readonly string[]
  readonly projectId: string | undefined
  /** Implies its project. */
  readonly campaignId?: string | undefined
  /** Only used for `add`. */
  readonly ignoreInvalid: boolean
  /** Only used for `remove`. */
  readonly reason?: string | undefined
}

/** Days are `YYYY-MM-DD`. */
export interface InternalDncItem {
  readonly phone: string
  readonly onList: boolean
  readonly addedOn: string | null
  readonly lastModifiedOn: string | null
  /** True when the text is not exactly 10 digits; otherwise absent. */
  readonly invalid?: boolean | undefined
}

export type InternalDncResponse =
  | { readonly done: true }
  | { readonly items: readonly InternalDncItem[] }
  | { readonly count: number; readonly lastModifiedOn: string | null }

const numbers = phoneList({ max: 10_000 })

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
  projId: optionalId.describe('Project of the list; the Master Project when absent'),
  campaignId: optionalId.describe('Implies its project'),
  ignoreInvalid: optionalFlag,
  reason: optionalText(200).describe(
    'Extension: why the numbers are removed; kept in the audit table',
  ),
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
    reason: wire.reason,
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
const response: z.ZodType<InternalDncResponse> = z.union([
  z.object({ message: z.literal('success') }).transform(() => ({ done: true }) as const),
  z.array(wireInternalDncItem).transform((items) => ({ items })),
  z.object({ count: z.int(), lastModifiedOn: day }),
])

async function toJsonReply(answer: InternalDncResponse): Promise<Reply> {
  if ('done' in answer) return { json: { message: 'success' } }
  if ('count' in answer) {
    return { json: { count: answer.count, lastModifiedOn: answer.lastModifiedOn } }
  }
  return {
    json: await mapInSlices(
      answer.items,
      ({ phone, onList, addedOn, lastModifiedOn, invalid }) => ({
        phone,
        onList,
        addedOn,
        lastModifiedOn,
        ...(invalid === true && { invalid }),
      }),
    ),
  }
}

async function toTextReply(answer: InternalDncResponse): Promise<Reply> {
  if ('done' in answer) return { text: '' }
  if ('count' in answer) return { text: `${answer.count},${answer.lastModifiedOn ?? ''}` }
  const valid = answer.items.filter(({ invalid }) => invalid !== true)
  const lines = await mapInSlices(
    valid,
    (item) => `${item.phone},${item.addedOn ?? ''},${item.lastModifiedOn ?? ''}`,
  )
  return { text: lines.join('\n') }
}

function encodePdncRequest({
  action,
  numbers,
  projectId,
  ignoreInvalid,
}: InternalDncRequest): WireRequest {
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

type InternalDncEndpoint = Endpoint<InternalDncRequest, InternalDncResponse>

const writeActions: ReadonlySet<InternalDncRequest['action']> = new Set(['add', 'remove'])

const pdncRights: readonly RequiredRight<InternalDncRequest>[] = [
  {
    right: 'records',
    condition: 'actionType is add or remove',
    appliesTo: ({ action }) => writeActions.has(action),
  },
  {
    right: 'look-up',
    condition: 'actionType is status or count',
    appliesTo: ({ action }) => !writeActions.has(action),
  },
]

const common = {
  spec: 'Internal DNC list',
  paths: ['/app/main/rpc/pdnc'],
  rights: pdncRights,
  scopes: singleScope,
  rateClass: 'pdnc',
  countNumbers: ({ numbers: phones }) => phones.length,
  request,
  response,
  replyTypes: ['text/plain', 'application/json'],
  otherStatuses: {
    403: 'The role may not remove numbers',
    409: 'Removing needs a second person (`twoPeople.for`): the text has the id of the change that waits',
  },
  errors: 'text-or-error',
  encode: (answer, { jsonRequested }) =>
    jsonRequested ? toJsonReply(answer) : toTextReply(answer),
} satisfies Partial<InternalDncEndpoint>

export const internalDncGet: InternalDncEndpoint = defineEndpoint({
  ...common,
  name: 'pdnc-get',
  summary: 'Adds, removes, looks up or counts numbers of the internal list.',
  method: 'GET',
  accepts: ['query'],
  usesServiceThread: 'when-long',
  keyAlsoIn: ['query'],
  encodeRequest: encodePdncRequest,
})

/** The same operations for lists that are too long for a query. */
export const internalDncPost: InternalDncEndpoint = defineEndpoint({
  ...common,
  name: 'pdnc-post',
  summary: 'The same as a form or JSON, for longer lists.',
  method: 'POST',
  accepts: ['query', 'json', 'form', 'multipart'],
  keyAlsoIn: ['query', 'json', 'form', 'multipart'],
  usesServiceThread: 'when-long',
})
