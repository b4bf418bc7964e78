/** The vendor's own paths, for whoever tests: what it was asked, and which faults it has. */
import type { IncomingMessage } from 'node:http'
import { AppError } from '../errors.js'
import { pathOf } from '../http/bind.js'
import { errorReply } from '../http/error-body.js'
import { parseJsonBody } from '../http/json-body.js'
import { readBody } from '../http/read-body.js'
import type { Logger } from '../log.js'
import type { FaultPlan } from './fault-plan.js'
import { readFaults } from './read-fault.js'
import type { RequestRecord } from './request-record.js'
import { type VendorReply, vendorReply } from './vendor-reply.js'

/** Below it nothing is counted, limited or struck by a fault, and no key is asked for. */
export const controlPath = '/fake-vendor'

export interface ControlParts {
  readonly faults: FaultPlan
  readonly record: RequestRecord
  /** Ends all faults and forgets all requests and tokens. */
  readonly reset: () => void
  readonly logger: Logger
}

export function isControl(path: string): boolean {
  return path === controlPath || path.startsWith(`${controlPath}/`)
}

const largestBody = 65_536

type Action = (request: IncomingMessage, parts: ControlParts) => Promise<void> | void

/** By method and path; each is answered with the state after it. */
const actions: Readonly<Record<string, Action>> = {
  [`GET ${controlPath}`]: () => undefined,
  [`PUT ${controlPath}/faults`]: async (request, { faults }) => {
    const body = (await readBody(request, { maxBytes: largestBody })).toString()
    // All are read before one is set.
    for (const [target, fault] of readFaults(parseJsonBody(body))) faults.set(target, fault)
  },
  [`POST ${controlPath}/reset`]: (_request, { reset }) => reset(),
}

/** Answers a request below {@link controlPath}, refusals included. */
export async function answerControl(
  request: IncomingMessage,
  path: string,
  parts: ControlParts,
): Promise<VendorReply> {
  try {
    const action = actions[`${request.method} ${path}`]
    if (!action) {
      const known = Object.keys(actions).join(', ')
      throw new AppError('not-found', `There is no ${request.method} ${path}; there are ${known}`)
    }
    await action(request, parts)
    const { faults, record } = parts
    return vendorReply({ json: { faults: faults.state(), requests: record.counts() } })
  } catch (error) {
    const context = { shape: 'problem', jsonRequested: true, endpoint: 'fake-vendor' } as const
    return vendorReply(errorReply(error, { ...context, path: pathOf(request) }, parts.logger))
  }
}
