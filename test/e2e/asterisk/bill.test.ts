/** The call records of a real Asterisk, compared with the decisions of callgate. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callgate as runProgram } from '../../support/program.js'
import { type AsteriskServer, startAsterisk } from './lab/asterisk-server.js'
import { type CallgateProcess, startCallgate } from './lab/callgate-process.js'
import { asteriskVersions } from './lab/provided-asterisk.js'
import { placeCalls } from './lab/sipp-caller.js'
import { startTrunks, type Trunks } from './lab/trunks.js'
import { until } from './lab/until.js'

const [allowedNumber, otherNumber, blockedNumber] = ['2125550106', '2125550100', '2125550105']
const bypassingNumber = '2125550177'

const trunkSettings = '[{ name: trunk, channel: PJSIP/trunk, watch: true }]'

/** A way to the trunk that somebody left open. */
const bypass = `[bypass]
exten => _X.,1,Dial(PJSIP/\${EXTEN}@trunk,5)
 same => n,Hangup()
`

const withAndWithoutHeader = asteriskVersions.flatMap((version) =>
  ['X-Callgate-Id', ''].map((header) => [version, header] as const),
)

describe.each(withAndWithoutHeader)('Master.csv of Asterisk %i, header "%s"', (version, header) => {
  let server: AsteriskServer
  let callgate: CallgateProcess
  let trunks: Trunks

  beforeAll(async () => {
    server = await startAsterisk({
      version,
      trunks: ['trunk'],
      globals: {
        CALLGATE_KIND: 'manual',
        CALLGATE_DIAL_SECONDS: '5',
        CALLGATE_WAIT: '10',
        CALLGATE_ID_HEADER: header,
      },
      extensions: bypass,
      callerContexts: ['bypass'],
      writesCallRecords: true,
    })
    trunks = await startTrunks(server, { trunk: { does: 'answer' } })
    const environment = {
      CALLGATE_GATE_DEADLINE_MS: '8000',
      CALLGATE_ASTERISK_TRUNKS: trunkSettings,
    }
    callgate = await startCallgate({ server, environment })
  })
  afterAll(async () => {
    await callgate?.close()
    await trunks?.close()
    await server?.close()
  })

  it('shows the call that went around the gate, and nothing else', async () => {
    const path = join(server.folder, 'log/cdr-csv/Master.csv')
    const rows = () => (existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : [])
    await placeCalls({ server, numbers: [allowedNumber, blockedNumber, otherNumber, '911'] })
    await placeCalls({ server, numbers: [bypassingNumber], context: 'bypass' })
    // Calls that nobody answered are not in it.
    await until('every call is recorded', () => rows().length === 4)
    const args = ['evidence', 'reconcile', path, '--account', 'sandbox', '--zone', 'UTC', '--json']
    const { code, out, err } = await runProgram(args, {
      CALLGATE_DATA_DIR: callgate.dataDir,
      CALLGATE_ASTERISK_TRUNKS: trunkSettings,
    })
    expect(err).toBe('')
    // What was dialed has the permit, and so the id of the decision, nearly to its end.
    expect(JSON.parse(out)).toMatchObject({
      ...{ rows: 4, legs: 4, allows: 2, byId: 2, byNumber: 0, unreadable: [] },
      mismatches: [{ fault: 'no-decision', leg: { line: 4, number: bypassingNumber } }],
      serviceCodes: [{ number: '911' }],
    })
    expect(code).toBe(10)
    const ungated = async () => (await callgate.metrics()).sum('callgate_ungated_calls_total')
    await until('the watch has seen it', async () => (await ungated()) > 0)
    expect(await ungated()).toBe(1)
    const ids = callgate.decisions().map(({ id, decision }) => (decision === 'allow' ? id : ''))
    const sent = trunks.arrived().map(({ decisionId = '' }) => decisionId)
    expect(sent.toSorted()).toEqual(header === '' ? ['', '', '', ''] : ['', ...ids].toSorted())
  })
})
