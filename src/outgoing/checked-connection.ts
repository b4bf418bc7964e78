/**
 * Connections that lead where they may, and say nothing before that is certain. The addresses were
 * checked when the name was looked up; the system never looks it up a second time, and the address
 * at the other end is checked once more when the connection stands, before TLS begins.
 */
import { once } from 'node:events'
import { isIP, type LookupFunction, connect as openTcp, type Socket } from 'node:net'
import { type ConnectionOptions, connect as openTls } from 'node:tls'
import { SendError } from '../service/webhooks/sender.js'
import type { AllowList } from './allow-list.js'
import type { Target } from './target.js'

export interface CheckedConnectionOptions {
  readonly allow: AllowList
  /** How a connection is opened; tests put one there that leads elsewhere. */
  readonly openSocket?: typeof openTcp | undefined
  /** Certificates to be trusted beside the usual ones. */
  readonly ca?: ConnectionOptions['ca']
}

/** How long one of several addresses may take before the next is tried. */
const nextAddressMs = 1_000

/** The socket is the caller's to destroy. Rejects as sockets do, or with {@link SendError}. */
export async function openChecked(
  target: Target,
  { addresses, signal }: { readonly addresses: readonly string[]; readonly signal: AbortSignal },
  { allow, openSocket = openTcp, ca }: CheckedConnectionOptions,
): Promise<Socket> {
  const socket = openSocket({
    host: target.host,
    port: target.port,
    lookup: pinned(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: nextAddressMs,
    noDelay: true,
  })
  // An error that comes when nobody listens any more would be thrown at the process.
  socket.on('error', () => undefined)
  try {
    await once(socket, 'connect', { signal })
    refuseUnlessAllowed(socket, target, allow)
    return target.isSecure ? await secured(socket, target, { signal, ca }) : socket
  } catch (cause) {
    socket.destroy()
    throw cause
  }
}

/** Gives the addresses as they were checked. */
function pinned(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, { all }, done) => {
    const [first] = found
    if (all) done(null, found)
    else if (first) done(null, first.address, first.family)
    else done(new Error('no address'), '')
  }
}

/** A public address that is this machine's own leads past whatever shields the machine. */
function refuseUnlessAllowed(socket: Socket, { host }: Target, allow: AllowList): void {
  const { remoteAddress = '', localAddress } = socket
  const isOwn = remoteAddress === localAddress && !allow.lists(host, remoteAddress)
  if (isOwn || !allow.permits(host, remoteAddress)) throw blockedAddress()
}

export function blockedAddress(): SendError {
  return new SendError('blocked-address', 'the name leads to an address that is not public')
}

async function secured(
  socket: Socket,
  { host }: Target,
  { signal, ca }: { readonly signal: AbortSignal; readonly ca: ConnectionOptions['ca'] },
): Promise<Socket> {
  const secure = openTls({
    socket,
    host,
    // A certificate may be for an address, but an address is not sent ahead as a name.
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
