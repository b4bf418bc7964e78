/**
 * Pages for people, at `/console`: who is signed in, what a browser may send, and the frame of each page. The API never takes the cookie
 * of a session, and the console takes nothing else.
 */

import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import express, {
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express'
import type { Route } from '../api/route.js'
import { type Caller, createOperatorCaller, noLimits, sandboxAccountId } from '../domain/caller.js'
import type { Clock, Timers } from '../domain/time/clock.js'
import { AppError, statusByErrorKind } from '../errors.js'
import { KeptReply } from '../http/kept-reply.js'
import type { StrangersAllowance } from '../http/limits/strangers-allowance.js'
import { parseMultipart } from '../http/request/multipart-body.js'
import type { RouteHandlerDeps } from '../http/route-handler.js'
import { sendReplyInSlices, sendStreamedReply } from '../http/send-reply.js'
import type { Logger } from '../observability/log.js'
import { parseUrl } from '../runtime/parse-url.js'
import { type Asset, assets } from './assets.js'
import type { FormValues } from './forms.js'
import { html, nothing } from './html.js'
import type { IdentityProviderOptions } from './identity-provider.js'
import { type Frame, type NavigationEntry, type PageContent, renderPage } from './layout.js'
import { OwnApi } from './own-api.js'
import { allPages } from './pages/all-pages.js'
import { tryPages } from './pages/try.js'
import type { Page, PageAnswer, PageRequest } from './pages.js'
import { SealedAddresses } from './sealed-address.js'
import {
  addSignIn,
  findSession,
  leave,
  openProvider,
  type SessionStore,
  type SignedIn,
  signInPath,
} from './sign-in.js'

export interface ConsoleOptions {
  /** The endpoints that the pages ask. */
  readonly routes: readonly Route[]
  readonly deps: RouteHandlerDeps
  readonly sessions: SessionStore
  /** Begins with `https:`; `undefined` if the console is at a loopback address. */
  readonly publicUrl: string | undefined
  /** Absent if people without a key may not sign in. */
  readonly people: Pick<IdentityProviderOptions, 'settings' | 'clientSecret'> | undefined
  readonly strangers: StrangersAllowance
  readonly clock: Clock
  readonly timers: Pick<Timers, 'monotonicMs'>
  /** What the lines of the sandbox are, by their last four digits. */
  readonly getSandboxLines: () => ReadonlyMap<string, string>
  readonly logger: Logger
}

const pageHeaders = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}

/** Ten thousand numbers with punctuation, or a thousand consents with their wordings. */
const maxFormBytes = 400_000
const maxSignInBytes = 2_000
const maxFormFields = 200
const sessionLookMs = 2_000

export async function createConsole(options: ConsoleOptions): Promise<Router> {
  const { sessions, publicUrl } = options
  const addresses = new SealedAddresses(await sessions.readKey('addresses'))
  const shared = { ...options, addresses, api: new OwnApi(options.routes, options.deps) }
  const router = express.Router()
  router.use((request, response, next) => {
    response.set(pageHeaders)
    if (isForThisHost(request, publicUrl)) return next()
    const where =
      publicUrl === undefined
        ? 'a loopback address, such as http://localhost:8480/console. For another address, put a proxy with https ' +
          'in front and set console.publicUrl'
        : `${publicUrl}/console`
    response
      .status(421)
      .type('text')
      .send(`The console answers only at ${where}. The API is at /docs\n`)
  })
  for (const asset of Object.values(assets)) serveAsset(router, asset, options)
  router.use(refuseOtherSites)
  router.post('/sign-in', readForms(maxSignInBytes))
  addSignIn(router, {
    ...options,
    provider: await openProvider(options),
    authenticate: options.deps.authenticate,
    show: (response, content, outcome) => sendPage(response, content, shared, outcome),
  })
  if (publicUrl === undefined) {
    for (const { path, get } of tryPages) {
      const bounded = (request: PageRequest) => options.strangers.run(() => get(request))
      addPage(router, { path, get: bounded }, shared, () => sandboxVisitor)
    }
  }
  router.use(async (request, response, next) => {
    const found = await findSession(request, options)
    const isFirstPage = publicUrl === undefined && request.path === '/'
    if (!found) return void response.redirect(303, isFirstPage ? '/console/try' : signInPath)
    Object.assign(response.locals, found)
    next()
  })
  router.use(readForms(maxFormBytes), requireFormToken)
  router.post('/sign-out', async (_request, response) => {
    await leave(response, sessionOf(response), options)
  })
  router.get('/', (_request, response) => {
    const [first] = listNavigation(sessionOf(response).caller, shared.api)
    if (first) return response.redirect(303, first.path)
    const body = html`<p>You may use no page of the console.</p>`
    sendPage(response, { title: 'Nothing to see', body }, shared)
  })
  for (const page of allPages) addPage(router, page, shared)
  router.use((request) => {
    throw new AppError('not-found', `There is no page ${request.baseUrl}${request.path}`)
  })
  router.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    sendProblem(response, error, shared)
  })
  return router
}

interface Shared extends ConsoleOptions {
  readonly addresses: SealedAddresses
  readonly api: OwnApi
}

function serveAsset(
  router: Router,
  { path, contentType, bytes }: Asset,
  options: ConsoleOptions,
): void {
  const headers = { 'Cache-Control': 'public, max-age=31536000, immutable' }
  const make = () => ({ bytes, contentType, headers })
  const kept = new KeptReply(path, { make, isFixed: true }, options)
  router.get(path.replace('/console', ''), (request, response) => kept.answer(request, response))
}

function requireFormToken(request: Request, response: Response, next: NextFunction): void {
  if (request.method !== 'POST' || isFormToken(request, sessionOf(response).formToken)) {
    return void next()
  }
  const message = 'The form is of another session; go back, load the page again, and send it again'
  throw new AppError('forbidden', message)
}

function readForms(limit: number): RequestHandler[] {
  return [
    express.urlencoded({ extended: false, limit, parameterLimit: maxFormFields }),
    express.raw({ type: 'multipart/form-data', limit }),
    readMultipart,
  ]
}

async function readMultipart(
  request: Request,
  _response: Response,
  next: NextFunction,
): Promise<void> {
  if (Buffer.isBuffer(request.body)) {
    const options = { maxFields: maxFormFields, readsFiles: true }
    const contentType = request.headers['content-type'] ?? ''
    request.body = Object.fromEntries(await parseMultipart(request.body, contentType, options))
  }
  next()
}

/** A page of another site could otherwise name this address by its own name, and read the answers. */
function isForThisHost({ headers }: IncomingMessage, publicUrl: string | undefined): boolean {
  if (publicUrl !== undefined) return headers.host === parseUrl(publicUrl)?.host
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/.test(headers.host ?? '')
}

function refuseOtherSites(request: Request, _response: Response, next: NextFunction): void {
  const site = request.headers['sec-fetch-site']
  const isSafe = request.method === 'GET' || request.method === 'HEAD'
  const isOwn = site === 'same-origin' || (site === undefined && isOwnOrigin(request.headers))
  if (isSafe || isOwn) return void next()
  throw new AppError('forbidden', 'The form was sent by a page of another site')
}

function isOwnOrigin({ origin, host }: IncomingMessage['headers']): boolean {
  return origin !== undefined && parseUrl(origin)?.host === host
}

function sessionOf({ locals }: Response): SignedIn {
  return locals as SignedIn
}

function isFormToken(request: Request, expected: string): boolean {
  const [given, wanted] = [String(request.body?.formToken ?? ''), expected].map((text) =>
    Buffer.from(text),
  ) as [Buffer, Buffer]
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

/** Who looks at the sandbox without a key, on this machine. Only what records nothing is asked for them. */
const sandboxVisitor: Omit<SignedIn, 'secret'> = {
  caller: {
    ...createOperatorCaller(sandboxAccountId),
    role: 'Agent',
    limits: { ...noLimits, rights: new Set(['decide']) },
  },
  formToken: '',
}

function addPage(
  router: Router,
  page: Page,
  shared: Shared,
  getVisitor: (response: Response) => Omit<SignedIn, 'secret'> = sessionOf,
): void {
  const { api, clock, publicUrl } = shared
  const read = (request: Request, response: Response): PageRequest => ({
    ...{ ...getVisitor(response), api, addresses: addressesOf(response, shared), clock },
    origin: publicUrl ?? `http://${request.headers.host}`,
    sandboxLines: shared.getSandboxLines(),
    parameters: toValues(request.params),
    query: { ...toValues(request.query), ...readLastEventId(request) },
    form: toValues(request.body ?? {}),
  })
  const { get, post, needs = page.entry?.needs } = page
  if (needs) {
    router.all(page.path, (_request, response, next) => {
      api.require(getVisitor(response).caller, needs)
      next()
    })
  }
  if (get) {
    router.get(page.path, async (request, response) => {
      const done = outcomesOf(response, shared).open(String(request.query.done ?? ''))
      await sendAnswer(response, await get(read(request, response)), shared, { done })
    })
  }
  if (!post) return
  router.post(page.path, async (request, response) => {
    const given = read(request, response)
    try {
      await sendAnswer(response, await post(given), shared)
    } catch (refusal) {
      if (!(refusal instanceof AppError && get)) throw refusal
      if (refusal.kind === 'approval-needed') {
        const done = `Not done yet: ${refusal.problems[0]?.rule ?? refusal.message}`
        const goTo = request.baseUrl + request.path
        return await sendAnswer(response, { goTo, done }, shared)
      }
      response.status(statusByErrorKind[refusal.kind])
      await sendAnswer(response, await get({ ...given, refusal }), shared, { refusal })
    }
  })
}

/** Of the account of who is signed in. */
function addressesOf({ locals }: Response, { addresses }: Shared): SealedAddresses {
  return addresses.of((locals as Partial<SignedIn>).caller?.accountId ?? '')
}

/** What is said of what was done, which no other sealed text can stand for. */
function outcomesOf({ locals }: Response, { addresses }: Shared): SealedAddresses {
  return addresses.of(`done ${(locals as Partial<SignedIn>).caller?.accountId ?? ''}`)
}

/** Of a browser that comes again to a stream. */
function readLastEventId({ headers }: IncomingMessage): FormValues {
  const after = headers['last-event-id']
  return after === undefined ? {} : { after: String(after) }
}

/** Of a field that was sent several times, all values, with commas between them. */
function toValues(fields: object): FormValues {
  const entries = Object.entries(fields).map(([name, value]): [string, string] => [
    name,
    Array.isArray(value) ? value.join(',') : String(value),
  ])
  return Object.fromEntries(entries)
}

type Outcome = Pick<Frame, 'done' | 'refusal'>

async function sendAnswer(
  response: Response,
  answer: PageAnswer,
  shared: Shared,
  outcome: Outcome = {},
): Promise<void> {
  if ('goTo' in answer) {
    const { goTo, done } = answer
    const query = done === undefined ? '' : `?done=${outcomesOf(response, shared).seal(done)}`
    return response.redirect(303, goTo + query)
  }
  if ('body' in answer) return sendPage(response, answer, shared, outcome)
  const { file } = answer
  const headers = { ...file.headers, ...pageHeaders }
  if ('parts' in file && response.req.method === 'HEAD') {
    file.ending?.abort()
    response.set({ ...headers, 'Content-Type': file.contentType }).end()
  } else if ('parts' in file) {
    const stop = file.ending && endWithSession(response, file.ending, shared)
    await sendStreamedReply(response, { ...file, headers }).finally(stop)
  } else await sendReplyInSlices(response, { ...file, headers })
}

/** Returns what stops looking. */
function endWithSession(
  response: Response,
  ending: AbortController,
  { sessions }: Shared,
): () => void {
  const { secret, caller } = sessionOf(response)
  const look = async () => {
    const found = await sessions.find(secret, false).catch(() => undefined)
    if (!isDeepStrictEqual(found?.limits, caller.limits)) ending.abort()
  }
  const timer = setInterval(() => void look(), sessionLookMs)
  return () => clearInterval(timer)
}

function sendPage(
  response: Response,
  content: PageContent,
  { api }: Shared,
  outcome: Outcome = {},
): void {
  const { caller, formToken = '' } = response.locals as Partial<SignedIn>
  const path = response.req.baseUrl + response.req.path
  const navigation = caller ? listNavigation(caller, api) : []
  response
    .type('html')
    .send(renderPage(content, { caller, formToken, path, ...outcome }, navigation))
}

function listNavigation(caller: Caller, api: OwnApi): readonly NavigationEntry[] {
  return allPages.flatMap(({ path, entry }) =>
    entry && api.permits(caller, entry.needs) && (entry.isFor?.(caller) ?? true)
      ? [{ path: `/console${path}`, name: entry.name }]
      : [],
  )
}

const titles: Partial<Record<AppError['kind'], string>> = {
  'invalid-request': 'That cannot be done so',
  forbidden: 'You may not do that',
  'not-found': 'There is no such thing',
  conflict: 'That cannot be done now',
  'rate-limited': 'Too many requests',
}

function sendProblem(response: Response, error: unknown, shared: Shared): void {
  if (response.headersSent) return void response.destroy()
  const refusal = toRefusal(error)
  if (!refusal) shared.logger.error('a page of the console failed', { err: error })
  const title = (refusal && titles[refusal.kind]) ?? 'That did not work'
  if (refusal?.retryAfterSeconds) response.set('Retry-After', String(refusal.retryAfterSeconds))
  response.status(refusal ? statusByErrorKind[refusal.kind] : 500)
  const body = refusal ? nothing : html`<p>The page failed. The log of the server says why.</p>`
  sendPage(response, { title, body }, shared, { refusal })
}

/** Express refuses what it cannot read with errors that have a status. */
function toRefusal(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error
  const status = error instanceof Error && 'status' in error ? error.status : undefined
  if (status === 413)
    return new AppError('too-large', `A form may have ${maxFormBytes} bytes at most`)
  const isUnread = status === 400 || status === 415
  return isUnread ? new AppError('invalid-request', 'The form could not be read') : undefined
}
