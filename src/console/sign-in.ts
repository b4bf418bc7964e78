/** Signing in to the console, with an API key or at an identity provider, and out of it. */
import { createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Request, RequestHandler, Response, Router } from 'express'
import { LRUCache } from 'lru-cache'
import { type Caller, createPersonCaller } from '../domain/caller.js'
import { AppError, statusByErrorKind } from '../errors.js'
import type { RouteHandlerDeps } from '../http/route-handler.js'
import { Form } from './forms.js'
import { html, nothing } from './html.js'
import type { IdentityProvider, IdentityProviderOptions } from './identity-provider.js'
import type { Frame, PageContent } from './layout.js'
import { SealedAddresses } from './sealed-address.js'

export interface SessionStore {
  begin(caller: Caller): Promise<string>
  find(secret: string, isUse?: boolean): Promise<Caller | undefined>
  end(secret: string, caller: Caller): Promise<void>
  /** 32 bytes. */
  readKey(purpose: 'addresses' | 'sign-in'): Promise<Buffer>
}

interface SessionOptions {
  readonly sessions: SessionStore
  readonly publicUrl: string | undefined
}

interface SignInOptions extends SessionOptions {
  readonly authenticate: RouteHandlerDeps['authenticate']
  /** Absent if people without a key may not sign in. */
  readonly provider: IdentityProvider | undefined
  readonly show: (
    response: Response,
    content: PageContent,
    outcome?: Pick<Frame, 'refusal'>,
  ) => void
}

export interface SignedIn {
  readonly secret: string
  readonly caller: Caller
  readonly formToken: string
}

const maxFailedSignIns = 20
const failuresKeptMs = 60_000
export const signInPath = '/console/sign-in'
/** Pages that scripts ask for, while nobody may be there. */
const scriptPaths = /^\/now\/(?:stream|figures)(?:\?|$)/

export async function findSession(
  request: IncomingMessage,
  { sessions, publicUrl }: SessionOptions,
): Promise<SignedIn | undefined> {
  const secret = readCookie(request, cookieName(publicUrl))
  const isUse = !scriptPaths.test(request.url ?? '')
  const caller = secret === undefined ? undefined : await sessions.find(secret, isUse)
  if (secret === undefined || caller === undefined) return undefined
  const formToken = createHmac('sha256', secret).update('form').digest('base64url')
  return { secret, caller, formToken }
}

function readCookie({ headers }: IncomingMessage, name: string): string | undefined {
  const cookies = (headers.cookie ?? '').split(';').map((one) => one.trim())
  return cookies.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1)
}

const cookieName = (publicUrl: string | undefined) =>
  publicUrl === undefined ? 'callgate-session' : '__Host-callgate'

const cookieOptions = (publicUrl: string | undefined) =>
  ({ httpOnly: true, secure: publicUrl !== undefined, sameSite: 'lax', path: '/' }) as const

export async function leave(
  response: Response,
  { secret, caller }: SignedIn,
  { sessions, publicUrl }: SessionOptions,
): Promise<void> {
  await sessions.end(secret, caller)
  response.clearCookie(cookieName(publicUrl), cookieOptions(publicUrl))
  response.redirect(303, signInPath)
}

/** Its library is loaded only if people without a key may sign in. */
export async function openProvider({
  people,
  sessions,
  ...options
}: Pick<IdentityProviderOptions, 'clock' | 'timers' | 'logger'> & {
  readonly people: Pick<IdentityProviderOptions, 'settings' | 'clientSecret'> | undefined
  readonly sessions: SessionStore
}): Promise<IdentityProvider | undefined> {
  if (!people) return undefined
  const { IdentityProvider } = await import('./identity-provider.js')
  const seals = new SealedAddresses(await sessions.readKey('sign-in'))
  return new IdentityProvider({ ...options, ...people, seals })
}

/** The body of a form must have been read. */
export function addSignIn(router: Router, options: SignInOptions): void {
  const { authenticate, provider, publicUrl, show } = options
  const failures = new FailedSignIns(publicUrl)
  router.get('/sign-in', (_request, response) => show(response, signInPage(provider)))
  router.post('/sign-in', async (request: Request, response: Response) => {
    failures.requireLeft(request, 'keys were not valid')
    // The file of the first keys has the account before each key.
    const key = String(request.body?.key ?? '')
      .trim()
      .replace(/^(?:main|sandbox):\s*/, '')
    const caller = await authenticate(key, 'login-id')
    if (caller) return await beginSession(response, caller, options)
    failures.add(request)
    const rule = key === '' ? 'is required' : 'is not valid: it is unknown, revoked or expired'
    const refusal = new AppError('unauthenticated', rule, { problems: [{ field: 'key', rule }] })
    refuseSignIn(response, refusal, options)
  })
  if (provider) addProvider(router, provider, options)
}

function addProvider(router: Router, provider: IdentityProvider, options: SignInOptions): void {
  const { publicUrl } = options
  const failures = new FailedSignIns(publicUrl)
  const attemptCookie = `${cookieName(publicUrl)}-sign-in`
  const baseOf = ({ headers }: Request) => publicUrl ?? `http://${headers.host}`
  const orRefuse =
    (work: (request: Request, response: Response) => Promise<void>): RequestHandler =>
    async (request, response) => {
      failures.requireLeft(request, 'people could not sign in')
      try {
        await work(request, response)
      } catch (refusal) {
        if (!(refusal instanceof AppError)) throw refusal
        if (refusal.kind !== 'not-available') failures.add(request)
        refuseSignIn(response, refusal, options)
      }
    }
  const begin = orRefuse(async (request, response) => {
    const { goTo, sealed } = await provider.begin(baseOf(request))
    response.cookie(attemptCookie, sealed, cookieOptions(publicUrl))
    response.redirect(303, goTo)
  })
  const finish = orRefuse(async (request, response) => {
    const sealed = readCookie(request, attemptCookie)
    response.clearCookie(attemptCookie, cookieOptions(publicUrl))
    const person = await provider.finish(new URL(baseOf(request) + request.originalUrl), sealed)
    await beginSession(response, createPersonCaller(person), options)
  })
  router.get('/oidc/sign-in', begin)
  router.get('/oidc/callback', finish)
}

/** Always a new one; the session that the browser had ends. */
async function beginSession(
  response: Response,
  caller: Caller,
  options: SessionOptions,
): Promise<void> {
  const { sessions, publicUrl } = options
  const before = await findSession(response.req, options)
  if (before) await sessions.end(before.secret, before.caller)
  const secret = await sessions.begin(caller)
  response.cookie(cookieName(publicUrl), secret, cookieOptions(publicUrl))
  response.redirect(303, '/console')
}

function refuseSignIn(
  response: Response,
  refusal: AppError,
  { provider, show }: SignInOptions,
): void {
  response.status(statusByErrorKind[refusal.kind])
  show(response, signInPage(provider, refusal), { refusal })
}

/** With a proxy in front, the address that it has appended; what is before it may be anybody's invention. */
function findSender({ socket, headers }: IncomingMessage, publicUrl: string | undefined): string {
  const own = socket.remoteAddress ?? ''
  if (publicUrl === undefined) return own
  const forwarded = String(headers['x-forwarded-for'] ?? own)
  return forwarded.split(',').at(-1)?.trim() ?? own
}

/** By their sender. */
class FailedSignIns {
  readonly #publicUrl: string | undefined
  readonly #counts = new LRUCache<string, number>({ max: 10_000, ttl: failuresKeptMs })

  constructor(publicUrl: string | undefined) {
    this.#publicUrl = publicUrl
  }

  /** Throws `rate-limited` after too many; `what` happened, for people. */
  requireLeft(request: IncomingMessage, what: string): void {
    const count = this.#counts.get(findSender(request, this.#publicUrl)) ?? 0
    if (count < maxFailedSignIns) return
    const message = `More than ${maxFailedSignIns} ${what}; try again in a minute`
    throw new AppError('rate-limited', message, { retryAfterSeconds: failuresKeptMs / 1_000 })
  }

  add(request: IncomingMessage): void {
    const sender = findSender(request, this.#publicUrl)
    this.#counts.set(sender, (this.#counts.get(sender) ?? 0) + 1)
  }
}

function signInPage(provider: IdentityProvider | undefined, refusal?: AppError): PageContent {
  const form = new Form({}, refusal)
  const body = html`${
    provider
      ? html`<p><a class="button" href="/console/oidc/sign-in">Sign in with ${provider.name}</a></p>
<h2>With an API key</h2>`
      : nothing
  }
<form method="post" action="${signInPath}">
${form.field({
  name: 'key',
  label: 'API key',
  type: 'password',
  hint: 'What you may see and do here is what the key may. The first start has written keys to first-keys.txt in the data folder; callgate keys create makes more.',
  required: true,
  autocomplete: 'current-password',
})}
<button>Sign in</button>
</form>`
  return { title: 'Sign in', body }
}
