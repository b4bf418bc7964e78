/**
 * Opens connections to permitted addresses only. The addresses were checked after the name lookup and
 * are passed to the connection, so the lookup is not repeated. The remote address is checked again
 * once connected, before TLS starts and before anything is sent.
 */
import { once } from 'node:events'
import { isIP, type LookupFunction, connect as openTcp, type Socket } from 'node:net'
import { type ConnectionOptions, connect as openTls } from 'node:tls'
import { SendError } from '../webhook-sender.js'
import type { AllowList } from './allow-list.js'
import type { WebhookUrl } from './webhook-url.js'

export interface CheckedConnectionOptions {
  readonly allow: AllowList
  /** Opens a connection; tests replace it. */
  readonly openSocket?: typeof openTcp | undefined
  /** Additional trusted certificates. */
  readonly ca?: ConnectionOptions['ca']
}

/** How long one of several addresses may take to connect before the next is tried. */
const attemptTimeoutMs = 1_000

/** The caller must destroy the socket. Rejects with the socket's error or a {@link SendError}. */
export async function openCheckedConnection(
  target: WebhookUrl,
  { addresses, signal }: { readonly addresses: readonly string[]; readonly signal: AbortSignal },
  { allow, openSocket = openTcp, ca }: CheckedConnectionOptions,
): Promise<Socket> {
  const socket = openSocket({
    host: target.host,
    port: target.port,
    lookup: createPinnedLookup(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: attemptTimeoutMs,
    noDelay: true,
  })
  // A later error without a listener would be uncaught.
  socket.on('error', () => undefined)
  try {
    await once(socket, 'connect', { signal })
    requireAllowedAddress(socket, target, allow)
    return target.isSecure ? await upgradeToTls(socket, target, { signal, ca }) : socket
  } catch (cause) {
    socket.destroy()
    throw cause
  }
}

/** A lookup function that returns the checked addresses for every name. */
function createPinnedLookup(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, { all }, done) => {
    const [first] = found
    if (all) done(null, found)
    else if (first) done(null, first.address, first.family)
    else done(new Error('no address'), '')
  }
}

/** A public address of this machine itself would bypass its firewall. */
function requireAllowedAddress(socket: Socket, { host }: WebhookUrl, allow: AllowList): void {
  const { remoteAddress = '', localAddress } = socket
  const isOwn = remoteAddress === localAddress && !allow.isListed(host, remoteAddress)
  if (isOwn || !allow.isAllowed(host, remoteAddress)) throw createBlockedAddressError()
}

export function createBlockedAddressError(): SendError {
  return new SendError('blocked-address', 'the host name resolves to an address that is not public')
}

async function upgradeToTls(
  socket: Socket,
  { host }: WebhookUrl,
  { signal, ca }: { readonly signal: AbortSignal; readonly ca: ConnectionOptions['ca'] },
): Promise<Socket> {
  const secure = openTls({
    socket,
    host,
    // SNI must not contain an IP address, although a certificate may be issued for one.
    servername: isIP(host) === 0 ? host : '',
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca }),
  })
  secure.on('error', () => undefined)
  try {
    await once(secure, 'secureConnect', { signal })
    return secure
  } catch (cause) {
    secure.destroy()
    throw cause
  }
}
