import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listsFolder } from '../../src/compose-service.js'
import { importList } from '../../src/data/number-list/list-import.js'
import { gateRoutes } from '../../src/gate/gate-routes.js'
import { serviceRoutes } from '../../src/service/service-routes.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

/** Two real accounts over one database; the first one owns a project, entries and consents. */
let running: TestCallgate
let other: string
let campaign: number
const number = '2127365001'

beforeAll(async () => {
  running = await openTestCallgate()
  const { accounts, keys, projects, settings, data } = running.callgate
  await accounts.ensure({ id: 'other', kind: 'real', name: 'Other' })
  other = (await keys.create({ accountId: 'other', role: 'Administrator', label: '' })).key
  await projects.create({ accountId: 'main', code: 'MINE', name: 'Mine' })
  campaign = await projects.createCampaign({ accountId: 'main', projectCode: 'MINE', name: 'C' })
  const folder = listsFolder(settings)
  const file = join(running.dataDir, 'empty.txt')
  writeFileSync(file, '')
  const clock = { now: () => mondayNoon }
  for (const name of ['us-dnc', 'litigators']) {
    await importList({ name, files: [file], folder, clock, areaCodes: 'all' })
  }
  data.lists.refresh()
})

afterAll(async () => {
  await running.end()
})

const rpc = (query: string, key: string) => running.get(`/app/main/rpc/${query}`, key)
const letter = async (key: string, project = '') => {
  const query = `scrub?phoneList=${number}&version=8&output=json${project}`
  const [row] = (await (await rpc(query, key)).json()) as { ResultCode: string; EBRType: string }[]
  return `${row?.ResultCode}${row?.EBRType}`
}

describe('what one account writes', () => {
  it('is invisible to another: internal list', async () => {
    await rpc(`pdnc?phoneList=${number}&actionType=add`, running.keys.main)
    expect(await letter(running.keys.main)).toBe('P')
    expect(await letter(other)).toBe('W')
    const status = await rpc(`pdnc?phoneList=${number}&actionType=status`, other)
    expect(await status.text()).toBe(`${number},,`)
    expect(await (await rpc('pdnc?actionType=count', other)).text()).toBe('0,')
    await rpc(`pdnc?phoneList=${number}&actionType=remove`, other)
    expect(await letter(running.keys.main)).toBe('P')
    await rpc(`pdnc?phoneList=${number}&actionType=remove`, running.keys.main)
  })

  it('is invisible to another: consents', async () => {
    const ebrList = [{ phoneNumber: number, type: 'P', dateOfLastContact: '2026-11-23' }]
    await running.postJson('/app/main/rpc/ebr', { ebrList }, running.keys.main)
    expect(await letter(running.keys.main)).toBe('GP')
    expect(await letter(other)).toBe('W')
  })

  it('is invisible to another: decisions, cached or not', async () => {
    const body = { number, callKind: 'ai' }
    for (let turn = 0; turn < 2; turn += 1) {
      const mine = await running.postJson('/v1/decisions', body, running.keys.main)
      const { id, decision } = (await mine.json()) as { id: string; decision: string }
      expect(decision).toBe('allow')
      const theirs = await running.postJson('/v1/decisions', body, other)
      expect(((await theirs.json()) as { decision: string }).decision).toBe('block')
      expect((await running.get(`/v1/decisions/${id}`, other)).status).toBe(404)
    }
  })
})

describe('a foreign project or campaign', () => {
  /** One request per endpoint that takes a project, with the owner's project or campaign in it. */
  const calls: Readonly<Record<string, (key: string, scope: string) => Promise<Response>>> = {
    'time-legal': (key, scope) =>
      running.postJson(
        '/v1.5/GeoScrub/IsTimeLegalToCall',
        { IsTimeLegalToCall: [{ PhoneNumber: number, DNCProjId: scope }] },
        key,
      ),
    'scrub-get': (key, scope) => rpc(`scrub?phoneList=${number}&projId=${scope}`, key),
    'scrub-post': (key, scope) =>
      running.postJson('/app/main/rpc/scrub', { phoneList: number, projId: scope }, key),
    'pdnc-get': (key, scope) => rpc(`pdnc?phoneList=${number}&actionType=add&projId=${scope}`, key),
    'pdnc-post': (key, scope) =>
      running.postJson(
        '/app/main/rpc/pdnc',
        { phoneList: number, actionType: 'remove', projId: scope },
        key,
      ),
    ebr: (key, scope) =>
      running.postJson(
        '/app/main/rpc/ebr',
        {
          ebrList: [{ phoneNumber: number, type: 'S', dateOfLastContact: '2026-11-01' }],
          projId: scope,
        },
        key,
      ),
    'litigator-get': (key, scope) =>
      running.get(`/v1.5/Scrub/litigator?phoneList=${number}&projId=${scope}`, key),
    'litigator-post': (key, scope) =>
      running.postJson('/v1.5/Scrub/litigator', { PhoneList: number, ProjId: scope }, key),
    decision: (key) => running.get('/v1/decisions/none', key),
  }

  it('is tried on every endpoint there is', () => {
    const { service, journal } = running.callgate
    const routes = [...serviceRoutes(service, { wrappedRows: false }), ...gateRoutes(journal)]
    expect(Object.keys(calls).sort()).toEqual(routes.map(({ endpoint }) => endpoint.name).sort())
  })

  for (const [name, call] of Object.entries(calls).filter(([one]) => one !== 'decision')) {
    it(`works for its owner and is refused to another: ${name}`, async () => {
      const mine = await call(running.keys.main, 'MINE')
      expect(mine.status).toBe(200)
      const theirs = await call(other, 'MINE')
      const text = await theirs.text()
      if (name === 'time-legal') expect(text).toContain('INVALID_PROJECT')
      else {
        expect(theirs.status).toBe(400)
        expect(text).toContain('MINE')
      }
    })
  }

  it('blocks a decision, by project and by campaign', async () => {
    for (const scope of [{ projectId: 'MINE' }, { campaignId: String(campaign) }]) {
      const body = { number, callKind: 'manual', ...scope }
      const mine = await running.postJson('/v1/decisions', body, running.keys.main)
      expect(((await mine.json()) as { decision: string }).decision).toBe('allow')
      const theirs = await running.postJson('/v1/decisions', body, other)
      expect(await theirs.json()).toMatchObject({ decision: 'block', reason: 'unknown-project' })
    }
  })
})

describe('every endpoint', () => {
  it('answers 401 without a valid key', async () => {
    const { service, journal } = running.callgate
    const routes = [...serviceRoutes(service, { wrappedRows: false }), ...gateRoutes(journal)]
    for (const { endpoint } of routes) {
      for (const path of endpoint.paths) {
        const response = await fetch(`${running.url}${path.replace(':id', 'x')}`, {
          method: endpoint.method,
          headers: { loginId: 'x'.repeat(44) },
        })
        expect(`${endpoint.name} ${response.status}`).toBe(`${endpoint.name} 401`)
      }
    }
  })
})
