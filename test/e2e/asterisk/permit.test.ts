/** An Asterisk that gets permits from outside: it uses each once, and the watch over its trunks takes their calls. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type AsteriskServer, startAsterisk } from './lab/asterisk-server.js'
import { type CallgateProcess, startCallgate } from './lab/callgate-process.js'
import { freeTcpPort } from './lab/ports.js'
import { sendInvite } from './lab/raw-invite.js'
import { startTrunk, type Trunk } from './lab/sipp-trunk.js'
import { until } from './lab/until.js'

const [number, callerId] = ['2125550106', '2125550199']

/** As in docs/permits.md; the second context claims the id of a permit without using it. */
const contexts = (url: string, key: string) => `
[permitted]
exten => _X.,1,Set(VALUE=\${PJSIP_HEADER(read,X-Callgate-Permit)})
 same => n,Set(CURLOPT(httpheader)=loginId: ${key})
 same => n,Set(ANSWER=\${CURL(${url}/v1/permits/use,value=\${URIENCODE(\${VALUE})}&number=\${EXTEN}&callerId=\${CALLERID(num)})})
 same => n,GotoIf($["\${FILTER(a-z,\${ANSWER:43:17})}" != "stateused"]?refused)
 same => n,Set(CALLGATE_PERMIT=\${ANSWER:7:36})
 same => n,Dial(PJSIP/\${EXTEN}@trunk,,,callgate-permit(\${CALLGATE_PERMIT}))
 same => n,Hangup()
 same => n(refused),Hangup(21)

[claiming]
exten => _X.,1,Dial(PJSIP/\${EXTEN}@trunk,,,callgate-permit(\${PJSIP_HEADER(read,X-Permit-Id)}))
`

let server: AsteriskServer
let callgate: CallgateProcess
let trunk: Trunk

beforeAll(async () => {
  // The dialplan names both, so they are known before either has started.
  const port = await freeTcpPort()
  const first = await startCallgate()
  const key = first.keys.sandbox
  const { dataDir } = first
  await first.stop()
  server = await startAsterisk({
    version: 22,
    extensions: contexts(`http://127.0.0.1:${port}`, key),
    callerContexts: ['permitted', 'claiming'],
  })
  callgate = await startCallgate({
    server,
    dataDir,
    environment: {
      CALLGATE_HTTP_PORT: String(port),
      CALLGATE_GATE_DEADLINE_MS: '5000',
      CALLGATE_ASTERISK_ENFORCE: 'true',
      CALLGATE_PERMITS_ISSUER: 'https://gate.example',
      CALLGATE_PERMITS_EDGES: '{ pbx: { accounts: [sandbox] } }',
    },
  })
  Object.assign(callgate, { keys: { ...callgate.keys, sandbox: key } })
  trunk = await startTrunk({ server, behaviour: { does: 'answer', afterMs: 300 } })
})

afterAll(async () => {
  await trunk?.close()
  await callgate?.close()
  await server?.close()
})

async function getPermit(): Promise<{ readonly id: string; readonly value: string }> {
  const response = await fetch(`${callgate.url}/v1/permits`, {
    method: 'POST',
    headers: { loginId: callgate.keys.sandbox, 'content-type': 'application/json' },
    body: JSON.stringify({ number, callKind: 'ai', callerId }),
  })
  const body = (await response.json()) as { permit: { id: string; value: string } }
  expect(body).toMatchObject({ permit: {} })
  return body.permit
}

const call = (context: string, header: string) =>
  sendInvite({
    server,
    context,
    uri: `sip:${number}@127.0.0.1`,
    from: `<sip:${callerId}@127.0.0.1>`,
    headers: [header],
    silenceMs: 5_000,
  })

const ungated = () =>
  callgate.log().filter(({ message }) => message === 'a leg on a watched trunk has no permit')

it('dials by a permit once, and the watch records the outcome with its decision', async () => {
  const { id, value } = await getPermit()
  expect(await call('permitted', `X-Callgate-Permit: ${value}`)).toBe(200)
  expect(trunk.arrived()).toHaveLength(1)
  await until('the outcome is on record', () =>
    callgate.decisions().some(({ outcome }) => outcome?.answeredAt !== undefined),
  )
  expect(ungated()).toEqual([])
  expect(await call('permitted', `X-Callgate-Permit: ${value}`)).toBe(403)
  expect(trunk.arrived()).toHaveLength(1)
  // Another channel that shows the id of the used permit, among the arguments of Dial() alone.
  await call('claiming', `X-Permit-Id: ${id}`)
  await until('the watch has seen it', () => ungated().length === 1)
  expect(ungated()).toMatchObject([{ why: 'permit-not-valid', hungUp: true }])
})

it('dials nothing with a forged permit', async () => {
  const before = trunk.arrived().length
  expect(await call('permitted', 'X-Callgate-Permit: forged')).toBe(403)
  expect(trunk.arrived()).toHaveLength(before)
})
