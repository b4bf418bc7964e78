/** The shipped entry of a VICIdial carrier: beside callgate, and with anything in its place. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AsteriskServer, startAsterisk } from './lab/asterisk-server.js'
import { type CallgateProcess, startCallgate } from './lab/callgate-process.js'
import { startFakePredial } from './lab/fake-predial.js'
import { projectRoot } from './lab/project-root.js'
import { asteriskVersions } from './lab/provided-asterisk.js'
import { placeCalls } from './lab/sipp-caller.js'
import { startTrunk, type Trunk } from './lab/sipp-trunk.js'
import { until } from './lab/until.js'

const recipe = (name: string) => readFileSync(join(projectRoot, 'config/vicidial', name), 'utf8')
/** Where VICIdial puts the entries of its carriers. */
const context = 'vicidial-auto-external'
const extensions = `${recipe('callgate.conf')}\n[${context}]\n${recipe('carrier.conf')}`
const [allowedNumber, litigator] = ['2125550106', '2125550105']
const id = '0mwpj83s86ce52e66b0fb41ceaba1'

describe.each(asteriskVersions)('a VICIdial carrier on Asterisk %i', (version) => {
  let server: AsteriskServer
  let trunk: Trunk
  let callgate: CallgateProcess

  beforeAll(async () => {
    server = await startAsterisk({ version, extensions, callerContexts: [context] })
    trunk = await startTrunk({ server })
    callgate = await startCallgate({ environment: { CALLGATE_GATE_DEADLINE_MS: '700' } })
    await ask(`${callgate.url}/v1/predial`, callgate.keys.sandbox)
  })
  afterAll(async () => {
    await trunk.close()
    await server.close()
    await callgate.close()
  })

  const ask = async (url: string, key: string) => {
    const file = join(server.folder, 'callgate.key')
    writeFileSync(file, `${key}\n`)
    for (const [name, value] of Object.entries({ URL: url, KEY_FILE: file, WAIT: '1' }))
      await server.cli(`dialplan set global CALLGATE_${name} ${value}`)
  }
  const statusesOf = async (numbers: readonly string[]) => {
    const dialed = numbers.map((number) => `91${number}`)
    const { calls } = await placeCalls({ server, numbers: dialed, context })
    return calls.map(({ status }) => status)
  }
  const arrived = () => trunk.arrived().map(({ number }) => number)

  it('dials what is allowed as VICIdial writes it, and nothing else', async () => {
    expect(await statusesOf([allowedNumber, litigator])).toEqual([200, 403])
    expect(arrived()).toEqual([`1${allowedNumber}`])
    // A block is answered before it is on record.
    await until('both are on record', () => callgate.decisions().length === 2)
    expect(callgate.decisions()).toMatchObject([
      { dialed: `1${allowedNumber}`, callKind: 'autodialed', decision: 'allow' },
      { dialed: `1${litigator}`, callKind: 'autodialed', decision: 'block' },
    ])
  })

  it('dials nothing while callgate is frozen, or has another answer, or a key is wrong', async () => {
    const before = arrived().length
    callgate.freeze()
    expect(await statusesOf([allowedNumber])).toEqual([403])
    callgate.thaw()
    await ask(`${callgate.url}/v1/predial`, 'x'.repeat(44))
    expect(await statusesOf([allowedNumber])).toEqual([403])
    const bodies = [
      '',
      'allow',
      `allow:${allowedNumber}:${id}:end`,
      `allow:1${allowedNumber}::end`,
      `allow:1${allowedNumber}:${id}`,
      `allow:1${litigator}:${id}:end`,
      '"',
      '<html><title>Login</title></html>',
      `block:litigator:${id}:end\n`,
      `allow:1${allowedNumber}:${id}:end:x`,
      `${' '.repeat(200)}allow:1${allowedNumber}:a:end`,
    ]
    let at = -1
    const fake = await startFakePredial(() => {
      at += 1
      const status = [302, 401, 429, 500][at - bodies.length] ?? 200
      return { status, body: bodies[at] ?? `allow:1${allowedNumber}:${id}:end\n` }
    })
    await ask(fake.url, 'k')
    for (const body of bodies)
      expect([body, await statusesOf([allowedNumber])]).toEqual([body, [403]])
    expect(await statusesOf(Array(4).fill(allowedNumber))).toEqual(Array(4).fill(403))
    expect(arrived()).toHaveLength(before)
    expect(await statusesOf([allowedNumber])).toEqual([200])
    await fake.close()
    expect(await statusesOf([allowedNumber])).toEqual([403])
    expect(arrived()).toHaveLength(before + 1)
  })
})
