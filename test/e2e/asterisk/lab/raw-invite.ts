/** One INVITE whose parts are sent as they are, also where no phone would write them so. */
import { createSocket, type Socket } from 'node:dgram'
import { contextHeader } from './asterisk-files.js'
import type { CalledServer } from './sipp-caller.js'

export interface RawInvite {
  readonly server: Pick<CalledServer, 'ports'>
  /** What stands in the request line, such as `sip:2125550106@127.0.0.1`. */
  readonly uri: string
  /** Value of From, without its tag; `<sip:3025559999@127.0.0.1>` unless given. */
  readonly from?: string
  /** Value of To; `<sip:anyone@127.0.0.1>` unless given. */
  readonly to?: string
  /** Call-ID and tag of From, to be part of another's call; its own unless given. */
  readonly call?: string
  /** More header lines. */
  readonly headers?: readonly string[]
  /** Context of the dialplan; `outbound` unless given. */
  readonly context?: string
  /** Asterisk says nothing to what it cannot read; so long it may be silent, 1,100 ms unless given. */
  readonly silenceMs?: number
}

/** Of RFC 3261, 17.1.1.2: an Asterisk that has much to do lets a request pass unanswered. */
const repeatAfterMs = 500

let sent = 0

/**
 * The final status; `undefined` when Asterisk says nothing. A call that is answered is hung up at once.
 */
export async function sendInvite(invite: RawInvite): Promise<number | undefined> {
  const socket = createSocket('udp4')
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  sent += 1
  const own = `raw${sent}`
  const { call = own } = invite
  const dialog: Dialog = { ...invite, call, own, port: socket.address().port }
  const send = (text: string) => socket.send(text, invite.server.ports.sip, '127.0.0.1')
  try {
    const answer = await finalAnswer(socket, () => send(request('INVITE', dialog, {})), invite)
    if (answer === undefined) return undefined
    const status = statusOf(answer)
    const to = /^To: *(.*)$/im.exec(answer)?.[1]?.trim() ?? ''
    const uri = /^Contact: *<([^>]*)>/im.exec(answer)?.[1] ?? invite.uri
    if (status >= 300) send(request('ACK', dialog, { to }))
    else for (const method of ['ACK', 'BYE']) send(request(method, dialog, { to, uri }))
    return status
  } finally {
    // What is sent last leaves before the socket closes.
    await new Promise<void>((resolve) => setImmediate(() => socket.close(resolve)))
  }
}

/** Sends until something comes. */
function finalAnswer(
  socket: Socket,
  send: () => void,
  { silenceMs = 1_100 }: RawInvite,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const repeating = setInterval(send, repeatAfterMs)
    const silence = setTimeout(() => {
      clearInterval(repeating)
      resolve(undefined)
    }, silenceMs)
    socket.on('message', (bytes) => {
      clearInterval(repeating)
      clearTimeout(silence)
      const text = bytes.toString('utf8')
      if (statusOf(text) >= 200) resolve(text)
    })
    send()
  })
}

interface Dialog extends RawInvite {
  readonly call: string
  /** Of its transaction. */
  readonly own: string
  readonly port: number
}

const statusOf = (text: string) => Number(/^SIP\/2\.0 (\d{3})/.exec(text)?.[1] ?? 0)

function request(method: string, dialog: Dialog, about: { to?: string; uri?: string }): string {
  const { call, own, port, context = 'outbound', from = '<sip:3025559999@127.0.0.1>' } = dialog
  const session = [
    'v=0',
    'o=raw 1 1 IN IP4 127.0.0.1',
    's=-',
    'c=IN IP4 127.0.0.1',
    't=0 0',
    'm=audio 6004 RTP/AVP 0',
    'a=rtpmap:0 PCMU/8000',
  ].map((line) => `${line}\r\n`)
  const body = method === 'INVITE' ? session.join('') : ''
  const branch = about.uri === undefined ? own : `${own}-${method}`
  return [
    `${method} ${about.uri ?? dialog.uri} SIP/2.0`,
    `Via: SIP/2.0/UDP 127.0.0.1:${port};branch=z9hG4bK-${branch}`,
    `From: ${from};tag=${call}`,
    `To: ${about.to ?? dialog.to ?? '<sip:anyone@127.0.0.1>'}`,
    `Call-ID: ${call}@127.0.0.1`,
    `CSeq: ${method === 'BYE' ? 2 : 1} ${method}`,
    `Contact: <sip:raw@127.0.0.1:${port}>`,
    'Max-Forwards: 70',
    `${contextHeader}: ${context}`,
    ...(dialog.headers ?? []),
    ...(body === '' ? [] : ['Content-Type: application/sdp']),
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n')
}
