/** The register of own numbers over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { insertProject } from '../../src/service/projects/project-rows.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
beforeAll(async () => {
  running = await openTestCallgate()
  const { db } = running.callgate.storage
  await insertProject(db, { accountId: 'sandbox', code: 'SPRING', name: 'Spring', createdAt: 0 })
})
afterAll(() => running.end())

const own = {
  number: '(212) 555-0150',
  projectId: 'spring',
  owner: 'Acme Inc.',
  proof: 'invoice 7',
}
const add = (...callerIds: readonly object[]) => running.postJson('/v1/caller-ids', { callerIds })
const end = (body: object) => running.postJson('/v1/caller-ids/end', body)

async function list(query = '') {
  const answer = await running.get(`/v1/caller-ids${query}`)
  return ((await answer.json()) as { callerIds: readonly Record<string, unknown>[] }).callerIds
}

async function decide(callerId: string) {
  const call = { number: '2125550106', callKind: 'manual', projectId: 'SPRING', callerId }
  return (await (await running.postJson('/v1/decisions', call)).json()) as object
}

describe('what a call shows, without own numbers', () => {
  it.each([
    ['101', 'permitted'],
    ['5551', 'permitted'],
    ['alice', 'permitted'],
    ['0000000000', 'caller-id-invalid'],
    ['+442079460000', 'caller-id-invalid'],
    ['5550199', 'caller-id-invalid'],
    ['911', 'caller-id-invalid'],
    ['2125550199', 'permitted'],
  ])('%s is judged alike by decisions and pre-dial', async (callerId, reason) => {
    expect(await decide(callerId)).toMatchObject({ reason })
    const query = new URLSearchParams({
      number: '2125550106',
      kind: 'manual',
      callerid: callerId,
    })
    const line = await (await running.get(`/v1/predial?${query}`)).text()
    expect(line).toContain(reason === 'permitted' ? 'allow:2125550106:' : `block:${reason}:`)
  })
})

describe('an own number', () => {
  it('is added, listed, replaced and ended, and calls follow at once', async () => {
    const until = '2027-01-01T00:00:00Z'
    const more = {
      carrier: 'Example',
      attestation: 'A',
      until,
      callbackTestedAt: '2026-11-01T09:00:00Z',
    }
    const added = await add({ ...own, ...more })
    expect([added.status, await added.json()]).toEqual([200, { added: 1 }])
    const stored = { ...own, number: '2125550150', projectId: 'SPRING' }
    expect(await list()).toEqual([
      {
        ...{ ...stored, ...more, addedAt: '2026-11-23T17:00:00Z' },
        addedBy: expect.stringMatching(/^key key-/),
      },
    ])
    expect(await decide('2125550150')).toMatchObject({ decision: 'allow' })
    expect(await decide('2125550151')).toMatchObject({ reason: 'caller-id-not-owned' })
    running.clock.at += 1_000
    expect((await add({ ...own, proof: 'port order 9' })).status).toBe(200)
    expect(await list()).toMatchObject([{ proof: 'port order 9' }])
    expect((await end({ number: '+12125550150', projectId: 'SPRING' })).status).toBe(200)
    expect(await list()).toEqual([])
    expect(await list('?ended=true')).toMatchObject([
      { proof: 'port order 9', endedBy: expect.stringMatching(/^key key-/) },
      { proof: 'invoice 7', endedAt: '2026-11-23T17:00:01Z' },
    ])
    expect(await decide('2125550150')).toMatchObject({ reason: 'caller-id-expired' })
    expect((await end({ number: '2125550150', projectId: 'SPRING' })).status).toBe(404)
  })

  it.each([
    [{ ...own, number: '911' }, "callerIds[1].number '911'"],
    [{ ...own, number: 2_125_550_150 }, 'callerIds[1].number'],
    [{ ...own, owner: undefined }, 'callerIds[1].owner'],
    [{ ...own, proof: '  ' }, 'callerIds[1].proof'],
    [{ ...own, proof: 'x'.repeat(201) }, 'callerIds[1].proof'],
    [{ ...own, attestation: 'D' }, "callerIds[1].attestation 'D'"],
    [{ ...own, from: 'now' }, "callerIds[1].from 'now'"],
    [{ ...own, from: '2027-01-01', until: '2026-01-01' }, 'callerIds[1].until'],
    [{ ...own, projectId: 'NONE' }, 'callerIds[1].projectId'],
    [{ ...own, colour: 'red' }, 'callerIds[1].colour'],
  ])('is refused as %j, with all others', async (wrong, named) => {
    const before = await list('?ended=true')
    const refused = await add({ ...own, number: '2125550159' }, wrong)
    expect(refused.status).toBe(400)
    expect(((await refused.json()) as { detail: string }).detail).toContain(named)
    expect(await list('?ended=true')).toEqual(before)
  })

  it('is refused in a list of none or too many', async () => {
    expect((await add()).status).toBe(400)
    expect((await add(...Array(101).fill(own))).status).toBe(400)
    expect((await running.get('/v1/caller-ids?ended=maybe')).status).toBe(400)
  })

  it('is managed by a key for the projects of the key alone', async () => {
    const { key } = await running.callgate.keys.create({
      ...({ accountId: 'sandbox', role: 'Administrator', label: '' } as const),
      rights: ['manage'],
      projects: ['SPRING'],
    })
    const post = (path: string, body: object) => running.postJson(path, body, key)
    expect((await post('/v1/caller-ids', { callerIds: [own] })).status).toBe(200)
    expect(
      (await post('/v1/caller-ids', { callerIds: [{ ...own, projectId: undefined }] })).status,
    ).toBe(403)
    expect((await post('/v1/caller-ids/end', { number: '2125550150' })).status).toBe(403)
    const ended = { number: '2125550150', projectId: 'SPRING' }
    expect((await post('/v1/caller-ids/end', ended)).status).toBe(200)
  })
})
