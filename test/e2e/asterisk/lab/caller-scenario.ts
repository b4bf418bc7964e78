/** What SIPp does when it is the phone or the dialer that calls. */
import { contextHeader } from './asterisk-files.js'
import { logEvent } from './sipp-process.js'
import { transferAfterMs } from './trunk-scenario.js'

export interface CallerScenario {
  readonly context: string
  /** How long an answered call lasts. */
  readonly hangUpAfterMs: number
  /** A call without a final answer is cancelled after so long. */
  readonly giveUpAfterMs: number
  /** Number to which the caller transfers an answered call (REFER), and leaves. */
  readonly transferTo?: string | undefined
  /** Sends what follows an answer along its Record-Route to its Contact, as behind a SIP proxy. */
  readonly followsRoutes?: boolean | undefined
}

/** Every final answer that is no success; another one would end the call as unexpected. */
const refusals: readonly number[] = [
  300, 301, 302, 305, 380, 400, 401, 402, 403, 404, 405, 406, 407, 408, 410, 413, 414, 415, 416,
  420, 421, 423, 480, 481, 482, 483, 484, 485, 486, 487, 488, 491, 493, 500, 501, 502, 503, 504,
  505, 513, 600, 603, 604, 606, 607, 608,
]

/**
 * Fields of the injection file: number as in the URI, caller id. Logs `REFUSED|time|n|status|Reason`,
 * `ANSWERED`, `REFERRED|time|n|status`, `GAVEUP` and `ENDED`, where n is the number of the call
 * from 1. When the INVITE went out is in SIPp's list of messages: a step before it would be logged
 * a millisecond too early.
 */
export function callerScenario(scenario: CallerScenario): string {
  const way = scenario.followsRoutes ? alongRoutes : straight
  return `<?xml version="1.0" encoding="UTF-8"?>
<scenario name="caller">
  ${invite(scenario.context)}
  ${answers(scenario.giveUpAfterMs, way)}
  ${logEvent('ANSWERED', place)}
  ${request('ACK', way.uri, { via: newBranch, to: '[last_To:]', cseq: '1 ACK', more: way.more })}
  ${scenario.transferTo === undefined ? '' : transfer(scenario.transferTo, way)}
  ${talk(scenario.hangUpAfterMs, way)}
  ${refused}
  ${givenUp}
  <label id="end"/>
  ${logEvent('ENDED', place)}
</scenario>
`
}

const place = '[call_number]'

/** The same for the INVITE, its CANCEL and the ACK of a refusal. */
const ownBranch = 'Via: SIP/2.0/UDP 127.0.0.1:[local_port];branch=z9hG4bK-[pid]-[call_number]'
const newBranch = 'Via: SIP/2.0/UDP 127.0.0.1:[local_port];branch=[branch]'
const target = 'sip:[field0]@127.0.0.1:[remote_port]'
const straight = { uri: target, more: ['Content-Length: 0'], ofAnswer: '' }
const alongRoutes = {
  uri: '[next_url]',
  more: ['[routes]', 'Content-Length: 0'],
  ofAnswer: 'rrs="true"',
}
type Way = typeof straight
const from = 'From: <sip:[field1]@127.0.0.1:[local_port]>;tag=caller[pid]-[call_number]'
const to = `To: <${target}>`

interface Request {
  readonly via?: string
  readonly to?: string
  readonly cseq: string
  readonly more?: readonly string[]
  readonly attributes?: string
}

function request(method: string, uri: string, about: Request): string {
  const lines = [
    `${method} ${uri} SIP/2.0`,
    about.via ?? ownBranch,
    from,
    about.to ?? to,
    'Call-ID: [call_id]',
    `CSeq: ${about.cseq}`,
    'Contact: <sip:caller@127.0.0.1:[local_port]>',
    'Max-Forwards: 70',
    ...(about.more ?? ['Content-Length: 0']),
  ]
  return `<send ${about.attributes ?? ''}><![CDATA[\n\n${lines.map((line) => `    ${line}\n`).join('')}\n  ]]></send>`
}

const invite = (context: string) =>
  request('INVITE', target, {
    cseq: '1 INVITE',
    attributes: 'retrans="500"',
    more: [
      `${contextHeader}: ${context}`,
      'Content-Type: application/sdp',
      'Content-Length: [len]',
      '',
      'v=0',
      'o=caller 1 1 IN IP4 127.0.0.1',
      's=-',
      'c=IN IP4 127.0.0.1',
      't=0 0',
      'm=audio 6002 RTP/AVP 0',
      'a=rtpmap:0 PCMU/8000',
    ],
  })

const refusalsGoTo = (label: string) =>
  refusals
    .map(
      (status) => `<recv response="${status}" optional="true" next="${label}">${keep}</recv>\n  `,
    )
    .join('')

const keep =
  '<action><ereg regexp="SIP/2.0 ([0-9]+)" search_in="msg" assign_to="line,status"/></action>'

/** The limit stands on each step that may be waited at; a provisional answer begins it anew. */
function answers(giveUpAfterMs: number, { ofAnswer }: Way): string {
  const limit = `timeout="${giveUpAfterMs}" ontimeout="giveup"`
  return `
  ${[100, 180, 181, 182, 183, 199].map((status) => `<recv response="${status}" optional="true" ${limit}/>`).join('\n  ')}
  ${refusalsGoTo('refused')}
  <recv response="200" ${ofAnswer} ${limit}/>
  <Reference variables="line,status"/>`
}

/** Asks Asterisk to call the number in the caller's place; SIPp answers its NOTIFYs by itself. */
const transfer = (number: string, { uri, more }: Way) => `
  <pause milliseconds="${transferAfterMs}"/>
  ${request('REFER', uri, {
    via: newBranch,
    to: '[last_To:]',
    cseq: '2 REFER',
    more: [`Refer-To: <sip:${number}@127.0.0.1:[remote_port]>`, ...more],
  })}
  ${refusalsGoTo('referred')}
  <recv response="202">${keep}</recv>
  <label id="referred"/>
  ${logEvent('REFERRED', place, '[$status]')}`

/** Until the time is over or Asterisk hangs up. */
const talk = (ms: number, { uri, more }: Way) => `
  <recv request="BYE" timeout="${Math.max(1, ms)}" ontimeout="hangup"/>
  <send next="end"><![CDATA[

    SIP/2.0 200 OK
    [last_Via:]
    [last_From:]
    [last_To:]
    [last_Call-ID:]
    [last_CSeq:]
    Content-Length: 0

  ]]></send>
  <label id="hangup"/>
  ${request('BYE', uri, { via: newBranch, to: '[last_To:]', cseq: '3 BYE', more, attributes: 'retrans="500"' })}
  <recv response="200" timeout="5000" ontimeout="end" next="end"/>`

const refused = `
  <label id="refused"/>
  ${logEvent('REFUSED', place, '[$status]', '[last_Reason:]')}
  ${request('ACK', target, { to: '[last_To:]', cseq: '1 ACK', attributes: 'next="end"' })}`

/** A final answer may cross the CANCEL. */
const givenUp = `
  <label id="giveup"/>
  ${logEvent('GAVEUP', place)}
  ${request('CANCEL', target, { cseq: '1 CANCEL' })}
  ${refusalsGoTo('refused')}
  <recv response="200" timeout="5000" ontimeout="end"/>
  ${refusalsGoTo('refused')}
  <recv response="699" timeout="5000" ontimeout="end"/>`
