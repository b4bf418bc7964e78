/** The shipped edge that asks callgate before it dials by a permit: opt-outs and revoked keys count until then. */
import { createPublicKey } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { shortOrLong } from '../../support/long.js'
import { type CallgateProcess, startCallgate } from '../asterisk/lab/callgate-process.js'
import { until } from '../asterisk/lab/until.js'
import { type PermitEdge, permitLine, startPermitEdge } from './permit-edge.js'

const callerId = '2125550199'
const [dialed, refused] = [486, 403]
/** Landlines of the sandbox, on no list. */
const areaCodes = [212, 718, 646, 917, 347, 516, 914, 607, 315, 845]

let callgate: CallgateProcess
let edge: PermitEdge

beforeAll(async () => {
  callgate = await startCallgate({
    environment: {
      CALLGATE_GATE_DEADLINE_MS: '5000',
      CALLGATE_PERMITS_ISSUER: 'https://gate.example',
      CALLGATE_PERMITS_EDGES: '{ edge-a: { accounts: [sandbox] } }',
    },
  })
  const pem = await (await fetch(`${callgate.url}/permits/edge-a.pem`)).text()
  const ask = { url: callgate.url, key: callgate.keys.sandbox }
  edge = await startPermitEdge({ publicKey: createPublicKey(pem), ask })
  await until('the edge takes permits', async () => (await call(await getPermit())) === dialed, {
    withinMs: 30_000,
  })
})

afterAll(async () => {
  await edge?.close()
  await callgate?.close()
})

async function post(path: string, body: object) {
  const response = await fetch(`${callgate.url}${path}`, {
    method: 'POST',
    headers: { loginId: callgate.keys.sandbox, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(200)
  return await response.text()
}

interface Permit {
  readonly id: string
  readonly value: string
  readonly number: string
}

async function getPermit(number = '2125550100'): Promise<Permit> {
  const text = await post('/v1/permits', { number, callKind: 'manual', callerId })
  const { permit } = JSON.parse(text) as { permit?: { id: string; value: string } }
  if (!permit) throw new Error(text)
  return { ...permit, number }
}

const call = async ({ number, value }: Omit<Permit, 'id'>) =>
  (await edge.caller.call({ number, callerId, headers: [permitLine(value)] })).status

const stateOf = async ({ id }: Permit) => {
  const headers = { loginId: callgate.keys.sandbox }
  const response = await fetch(`${callgate.url}/v1/permits/${id}`, { headers })
  return ((await response.json()) as { state: string }).state
}

const setOptOut = (number: string, actionType: 'add' | 'remove') =>
  post('/app/main/rpc/pdnc', { phoneList: number, actionType })

it('dials by a permit once, and callgate knows that it was used', async () => {
  const permit = await getPermit()
  expect(await stateOf(permit)).toBe('issued')
  expect([await call(permit), await call(permit)]).toEqual([dialed, refused])
  expect(await stateOf(permit)).toBe('used')
})

it('refuses one that was used elsewhere or released', async () => {
  const [used, released] = [await getPermit(), await getPermit()]
  await post(`/v1/permits/${used.id}/use`, { number: used.number, callerId })
  await post(`/v1/permits/${released.id}/release`, {})
  expect([await call(used), await call(released)]).toEqual([refused, refused])
})

const races = shortOrLong(20, 1_000)

it(`refuses ${races} calls whose number was opted out after the permit`, async () => {
  const before = edge.trunk.invites.length
  for (let race = 0; race < races; race += 1) {
    const number = `${areaCodes[race % areaCodes.length]}5550100`
    const permit = await getPermit(number)
    await setOptOut(number, 'add')
    const status = await call(permit)
    expect(`${race} ${status} ${await stateOf(permit)}`).toBe(`${race} ${refused} void`)
    await setOptOut(number, 'remove')
  }
  expect(edge.trunk.invites).toHaveLength(before)
}, 600_000)

it('dials nothing while callgate is frozen or dead', async () => {
  const [first, second] = [await getPermit(), await getPermit()]
  const before = edge.trunk.invites.length
  callgate.freeze()
  expect(await call(first)).toBe(refused)
  callgate.thaw()
  await callgate.killHard()
  expect(await call(second)).toBe(refused)
  expect(edge.trunk.invites).toHaveLength(before)
  expect(await call({ number: '911', value: 'none' })).toBe(dialed)
})

it('logs neither permits nor the key', () => {
  const log = edge.kamailio.log()
  expect(log).toContain('callgate does not grant its use')
  expect(log).not.toContain('eyJ')
  expect(log).not.toContain(callgate.keys.sandbox.slice(0, 20))
})
