/** Every address of every port that gives somebody without a key more than a refusal; a port is named by the file that opens it. */

export interface OpenAddress {
  readonly method: 'GET' | 'POST'
  /** As it is registered, with its parameters. */
  readonly path: string
  /** With values of the parameters, where it has some. */
  readonly example?: string
  /** Of its answer. */
  readonly status: number
}

const get = (path: string, status = 200, example?: string): OpenAddress => ({
  ...{ method: 'GET', path, status },
  ...(example !== undefined && { example }),
})
const post = (path: string, status: number): OpenAddress => ({ method: 'POST', path, status })

/** The console answers at a loopback address, and people may sign in without a key. */
export const mainAddresses: readonly OpenAddress[] = [
  get('/healthz'),
  get('/readyz'),
  get('/metrics'),
  get('/', 302),
  get('/openapi.json'),
  get('/docs'),
  get('/docs/style.css'),
  get('/.well-known/jwks.json'),
  get('/permits/edge-a.pem'),
  get('/permits/edge-a.next.pem', 404),
  // Without credentials.
  post('/oauth/token', 400),
  post('/v1.5/oauth/token', 400),
]

export const consoleAddresses: readonly OpenAddress[] = [
  get('/console', 303),
  get('/console/sign-in'),
  get('/console/try'),
  get('/console/try/:number', 200, '/console/try/2125550100'),
  get('/console/oidc/sign-in', 303),
  get('/console/oidc/callback', 401),
  post('/console/sign-in', 401),
]

/** Refuses somebody without a key, each in its own way. */
export const refusing: readonly OpenAddress[] = [
  get('/nowhere', 404),
  get('/console/decisions', 303),
  get('/v1/lists', 401),
  post('/v1/decisions', 401),
]

const hash = '0'.repeat(64)
export const otherPorts: Readonly<Record<string, readonly OpenAddress[]>> = {
  'commands/mcp/mcp-http.ts': [
    get('/.well-known/oauth-protected-resource/mcp'),
    post('/mcp', 401),
    get('/nowhere', 404),
  ],
  'evidence/witness/witness-server.ts': [
    get(`/${hash}/checkpoint`, 404),
    post('/add-checkpoint', 400),
    get('/nowhere', 404),
  ],
  'proxy/events/event-server.ts': [post('/v1/platforms/vapi/events', 401), get('/nowhere', 404)],
  'proxy/proxy-server.ts': [get('/nowhere', 403), post('/call', 403)],
}
