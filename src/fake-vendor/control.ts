/** The vendor's control paths for tests: its requests so far and its faults. */
import type { IncomingMessage } from 'node:http'
import { AppError } from '../errors.js'
import { createErrorReply } from '../http/error-reply.js'
import { parseJsonBody, readBody } from '../http/request/read-body.js'
import { pathOf } from '../http/router.js'
import type { Logger } from '../observability/log.js'
import type { FaultPlan } from './fault-plan.js'
import { parseFaults } from './parse-fault.js'
import type { RequestLog } from './request-log.js'
import { toVendorReply, type VendorReply } from './vendor-reply.js'

/** Requests below it need no key and are not counted, limited or subject to faults. */
const controlPath = '/fake-vendor'

export interface ControlDeps {
  readonly faults: FaultPlan
  readonly record: RequestLog
  /** Removes all faults, requests and tokens. */
  readonly reset: () => void
  readonly logger: Logger
}

export function isControlPath(path: string): boolean {
  return path === controlPath || path.startsWith(`${controlPath}/`)
}

const maxBodyBytes = 65_536

type ControlAction = (request: IncomingMessage, parts: ControlDeps) => Promise<void> | void

/** Actions by method and path; each replies with the resulting state. */
const actions: Readonly<Record<string, ControlAction>> = {
  [`GET ${controlPath}`]: () => undefined,
  [`PUT ${controlPath}/faults`]: async (request, { faults }) => {
    const body = (await readBody(request, { maxBytes: maxBodyBytes })).toString()
    // Parse all before setting any.
    const all = parseFaults(await parseJsonBody(body))
    for (const [target, fault] of all) faults.set(target, fault)
  },
  [`POST ${controlPath}/reset`]: (_request, { reset }) => reset(),
}

/** Answers a request below {@link controlPath}, including errors. */
export async function answerControl(
  request: IncomingMessage,
  path: string,
  parts: ControlDeps,
): Promise<VendorReply> {
  try {
    const action = actions[`${request.method} ${path}`]
    if (!action) {
      const known = Object.keys(actions).join(', ')
      throw new AppError(
        'not-found',
        `${request.method} ${path} not found; the endpoints are ${known}`,
      )
    }
    await action(request, parts)
    const { faults, record } = parts
    return toVendorReply({ json: { faults: faults.state(), requests: record.counts() } })
  } catch (error) {
    const context = { shape: 'problem', jsonRequested: true, endpoint: 'fake-vendor' } as const
    return toVendorReply(
      createErrorReply(error, { ...context, path: pathOf(request) }, parts.logger),
    )
  }
}
