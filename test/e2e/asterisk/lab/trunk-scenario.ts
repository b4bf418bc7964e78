/** What SIPp does with a call when it is the trunk. */
import { logEvent } from './sipp-process.js'

/** Times in milliseconds. */
export type TrunkBehaviour =
  /** Rings for `afterMs` if given, answers, and hangs up `hangUpAfterMs` later if given. */
  | { readonly does: 'answer'; readonly afterMs?: number; readonly hangUpAfterMs?: number }
  /** Rings until it is cancelled. */
  | { readonly does: 'ring' }
  /** Refuses, such as with 486 or 503. */
  | { readonly does: 'reject'; readonly status: number }
  /** Answers 302 and names another number at this very trunk. */
  | { readonly does: 'redirect'; readonly to: string }
  /** Answers, transfers the caller to another number (REFER) and leaves, if it is not hung up. */
  | { readonly does: 'transfer'; readonly to: string }

/**
 * Logs `INVITE|time|call id|From|header|traceparent|URI`, then `CANCEL`, `ANSWERED`, `BYE`, `TAKEN` and `DECLINED`
 * (a REFER) with time and call id; `header` is the SIP header whose value is wanted.
 */
export function trunkScenario(behaviour: TrunkBehaviour, header: string): string {
  const steps = [arrival(header), conduct(behaviour), '<label id="end"/>']
  return `<?xml version="1.0" encoding="UTF-8"?>\n<scenario name="trunk">${steps.join('')}</scenario>\n`
}

function conduct(behaviour: TrunkBehaviour): string {
  switch (behaviour.does) {
    case 'answer':
      return behaviour.afterMs === undefined
        ? answer(behaviour.hangUpAfterMs)
        : ring(behaviour.afterMs) + answer(behaviour.hangUpAfterMs) + cancelled
    case 'ring':
      return ring() + cancelled
    case 'reject':
      return reply(`${behaviour.status} No`, { tag }) + acknowledged
    case 'redirect': {
      const contact = `Contact: <sip:${behaviour.to}@127.0.0.1:[local_port]>`
      return reply('302 Moved Temporarily', { tag, contact }) + acknowledged
    }
    case 'transfer':
      return transfer(behaviour.to)
  }
}

const tag = ';tag=trunk[pid]-[call_number]'
const ownContact = 'Contact: <sip:trunk@127.0.0.1:[local_port]>'
const acknowledged = '<recv request="ACK" timeout="5000" ontimeout="end"/>'

const value = (header: string, variable: string) =>
  `<ereg regexp="[^ ].*" search_in="hdr" header="${header}:" assign_to="${variable}"/>`

const arrival = (header: string) => `
  <recv request="INVITE">
    <action>
      <ereg regexp="INVITE ([^ ]*)" search_in="msg" assign_to="line,uri"/>
      <ereg regexp="&lt;([^&gt;]*)" search_in="hdr" header="Contact:" assign_to="contact,target"/>
      ${value('From', 'from')}
      ${value('To', 'to')}
      ${value('CSeq', 'cseq')}
    </action>
  </recv>
  <Reference variables="line,uri,contact,target,from,to,cseq"/>
  ${logEvent('INVITE', '[call_id]', '[$from]', `[last_${header}:]`, '[last_traceparent:]', '[$uri]')}`

interface Reply {
  /** There already in requests within the dialog. */
  readonly tag?: string
  readonly contact?: string
  readonly cseq?: string
  readonly body?: string
  readonly next?: string
}

function reply(status: string, { tag = '', contact, cseq, body, next }: Reply = {}): string {
  const lines = [
    `SIP/2.0 ${status}`,
    '[last_Via:]',
    '[last_From:]',
    `[last_To:]${tag}`,
    '[last_Call-ID:]',
    cseq ?? '[last_CSeq:]',
    // SIPp leaves the first out where the request has none.
    ...(contact === undefined ? [] : ['[last_Record-Route:]', contact]),
    ...(body === undefined ? ['Content-Length: 0'] : ['Content-Type: application/sdp', body]),
  ]
  return message(lines, next)
}

/** SIPp cuts the indent off each line of a message, and wants an empty line at its end. */
function message(lines: readonly string[], next?: string): string {
  const on = next === undefined ? '' : ` next="${next}"`
  return `\n  <send${on}><![CDATA[\n\n${lines.map((line) => `    ${line}\n`).join('')}\n  ]]></send>`
}

const session = [
  'Content-Length: [len]',
  '',
  'v=0',
  'o=trunk 1 1 IN IP4 127.0.0.1',
  's=-',
  'c=IN IP4 127.0.0.1',
  't=0 0',
  'm=audio 6000 RTP/AVP 0',
  'a=rtpmap:0 PCMU/8000',
].join('\n    ')

const limit = (ms: number | undefined, then: string) =>
  ms === undefined ? '' : `timeout="${ms}" ontimeout="${then}"`

const ring = (ms?: number) => `
  ${reply('180 Ringing', { tag, contact: ownContact })}
  <recv request="CANCEL" ${limit(ms, 'answer')} next="cancelled"/>`

const cancelled = `
  <label id="cancelled"/>
  ${logEvent('CANCEL', '[call_id]')}
  ${reply('200 OK', { tag })}
  ${reply('487 Request Terminated', { tag, cseq: 'CSeq: [$cseq]' })}
  ${acknowledged}`

/** A CANCEL may cross the answer; then the call counts as cancelled, and a BYE ends it. */
const answer = (hangUpAfterMs: number | undefined) => `
  <label id="answer"/>
  ${reply('200 OK', { tag, contact: ownContact, body: session })}
  <recv request="CANCEL" optional="true" next="late"/>
  <recv request="ACK" next="talk"/>
  <label id="late"/>
  ${logEvent('CANCEL', '[call_id]')}
  ${reply('200 OK')}
  <recv request="ACK"/>
  <label id="talk"/>
  ${logEvent('ANSWERED', '[call_id]')}
  <recv request="BYE" ${limit(hangUpAfterMs, 'leave')}/>
  ${logEvent('BYE', '[call_id]')}
  ${reply('200 OK', { next: 'end' })}
  <label id="leave"/>
  ${ownRequest('BYE', 1)}
  <recv response="200" timeout="5000" ontimeout="end" next="end"/>`

/** Within the call that came in. */
function ownRequest(method: string, cseq: number, more: readonly string[] = []): string {
  return message([
    `${method} [$target] SIP/2.0`,
    'Via: SIP/2.0/UDP 127.0.0.1:[local_port];branch=[branch]',
    `From: [$to]${tag}`,
    'To: [$from]',
    'Call-ID: [call_id]',
    `CSeq: ${cseq} ${method}`,
    'Max-Forwards: 70',
    ...more,
    'Content-Length: 0',
  ])
}

/** How long an answered call lasts before it is transferred: until both sides are bridged none can be. */
export const transferAfterMs = 500

/** SIPp answers the NOTIFYs that tell of the transfer by itself. */
const transfer = (number: string) => `
  ${reply('200 OK', { tag, contact: ownContact, body: session })}
  <recv request="ACK"/>
  ${logEvent('ANSWERED', '[call_id]')}
  <pause milliseconds="${transferAfterMs}"/>
  ${ownRequest('REFER', 1, [ownContact, `Refer-To: <sip:${number}@127.0.0.1:[remote_port]>`])}
  <recv response="603" optional="true" next="declined"/>
  <recv response="202"/>
  ${logEvent('TAKEN', '[call_id]')}
  <recv request="BYE" timeout="10000" ontimeout="bye"/>
  ${logEvent('BYE', '[call_id]')}
  ${reply('200 OK', { next: 'end' })}
  <label id="declined"/>
  ${logEvent('DECLINED', '[call_id]')}
  <label id="bye"/>
  ${ownRequest('BYE', 2)}
  <recv response="200" timeout="5000" ontimeout="end"/>`
