/** A server with tokens, keys and the internal list over one database, at a clock the test moves. */
import { randomBytes } from 'node:crypto'
import { accessCheckEndpoint, tokenEndpoint } from '../../src/api/accounts/authentication.js'
import {
  type InternalDncRequest,
  type InternalDncResponse,
  internalDncGet,
  internalDncPost,
} from '../../src/api/records/internal-dnc.js'
import { createRoute, type Route } from '../../src/api/route.js'
import type { Caller, Role } from '../../src/domain/caller.js'
import type { ServerOptions } from '../../src/http/server.js'
import { AccessCheck } from '../../src/service/accounts/access-check.js'
import { AccessTokens } from '../../src/service/accounts/access-tokens.js'
import { createAuthenticator } from '../../src/service/accounts/api-keys.js'
import type { OpenDatabase } from '../../src/storage/open-database.js'
import { buildSubjects, type Subjects } from './service-subjects.js'
import { openTestApp, type TestApp } from './test-app.js'

export interface AccessApp extends Subjects {
  readonly app: TestApp
  readonly authenticate: ReturnType<typeof createAuthenticator>
  newKey(accountId?: string, role?: Role): Promise<{ readonly id: string; readonly key: string }>
  /** Asks for a token over HTTP and gives it. */
  tokenFor(key: string, accountId?: string): Promise<string>
}

export async function openAccessApp(
  storage: OpenDatabase,
  more: Partial<ServerOptions> = {},
): Promise<AccessApp> {
  const subjects = await buildSubjects(storage)
  const { clock, changeHead, apiKeys, projects, internalDnc } = subjects
  const tokens = new AccessTokens({
    storage,
    clock: changeHead.createExpiryClock(clock),
    timers: clock,
    randomBytes,
    keys: apiKeys,
    maxPerKey: 100,
  })
  const access = new AccessCheck(projects, () => ({ clock }))
  const authenticate = createAuthenticator(apiKeys, tokens)
  const listed = listActions(internalDnc)
  const routes: readonly Route[] = [
    createRoute(tokenEndpoint, (_caller, request) => tokens.issue(request)),
    createRoute(accessCheckEndpoint, (caller, question) => access.check(caller, question)),
    createRoute(internalDncGet, listed),
    createRoute(internalDncPost, listed),
  ]
  const app = await openTestApp({
    authenticate,
    ...more,
    routes: [...routes, ...(more.routes ?? [])],
  })
  return {
    ...subjects,
    app,
    authenticate,
    newKey: (accountId = 'main', role = 'Administrator') =>
      apiKeys.create({ accountId, role, label: '' }),
    async tokenFor(key, accountId = 'main') {
      const body = new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: accountId,
        client_secret: key,
      })
      const answer = await app.send('/oauth/token', { method: 'POST', body, key: null })
      return (answer.json() as { access_token: string }).access_token
    },
  }
}

function listActions(internalDnc: Subjects['internalDnc']) {
  return async (caller: Caller, request: InternalDncRequest): Promise<InternalDncResponse> => {
    if (request.action === 'status') return { items: await internalDnc.readStatus(caller, request) }
    if (request.action === 'count') return await internalDnc.count(caller, request)
    await internalDnc[request.action](caller, request)
    return { done: true }
  }
}
