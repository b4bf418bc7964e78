/** What a server says of itself, and what it never says. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { StatusBody } from '../../src/api/accounts/status.js'
import { checkSettings, findSettingOrigin, listSettingLeaves } from '../../src/config/load.js'
import { openConsoleClient } from '../support/console-client.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const secrets = ['very-secret-key-1', 'very-secret-password-2', 'very-secret-key-3'] as const
const hostile = '"><img src=x onerror=alert(1)>'

let running: TestCallgate
beforeAll(async () => {
  running = await openTestCallgate({
    environment: {
      CALLGATE_LOOKUPS_BASE_URL: 'http://127.0.0.1:9',
      CALLGATE_LOOKUPS_LOGIN_ID: secrets[0],
      CALLGATE_LOOKUPS_ACCOUNTS: JSON.stringify({ acme: { loginId: secrets[2] } }),
      CALLGATE_ASTERISK_PASSWORD: secrets[1],
      CALLGATE_CALLING_HOURS_PROCLAIMED_DAYS: JSON.stringify([
        { region: 'FL', date: '2026-11-25', name: hostile },
      ]),
    },
  })
})
afterAll(() => running.end())

async function read(): Promise<{ readonly text: string; readonly body: StatusBody }> {
  const response = await running.get('/v1/status', running.keys.main)
  const text = await response.text()
  expect(response.status, text).toBe(200)
  return { text, body: JSON.parse(text) as StatusBody }
}

describe('GET /v1/status', () => {
  it('has the settings in force without their secrets', async () => {
    const { text, body } = await read()
    for (const secret of secrets) expect(text).not.toContain(secret)
    const find = (name: string) => body.settings.find((one) => one.name === name)
    expect(body.settings).toHaveLength(listSettingLeaves().length)
    expect(find('lookups.loginId')?.value).toBe('"(hidden)"')
    expect(find('lookups.accounts')?.value).toBe('{"acme":{"loginId":"(hidden)"}}')
    expect(find('asterisk.password')?.value).toBe('"(hidden)"')
    expect(find('gate.allowValidMs')).toMatchObject({ value: '60000', origin: 'default' })
    expect(find('lookups.baseUrl')).toMatchObject({
      ...{ value: '"http://127.0.0.1:9"', variable: 'CALLGATE_LOOKUPS_BASE_URL' },
    })
  })

  it('says since when a check has its result', async () => {
    const sinceOf = async () => {
      const { readiness } = (await read()).body
      const found = readiness.find(({ name }) => name === 'lists')
      return { ready: found?.ready, since: found?.since }
    }
    const first = await sinceOf()
    running.clock.at += 60_000
    expect(await sinceOf()).toEqual(first)
    running.clock.at = mondayNoon
  })

  it('has the background jobs with their last run', async () => {
    const findJob = async () => (await read()).body.jobs.find(({ name }) => name === 'scans')
    expect(await findJob()).toMatchObject({ lastEndedAt: null, hasFailed: null })
    running.callgate.backgroundJobs.start()
    await expect.poll(findJob).toMatchObject({ isRunning: false, hasFailed: false })
    expect((await findJob())?.lastEndedAt).toMatch(/^2026-11-23T/)
  })

  it('is for Administrators of account main without a limit to projects', async () => {
    const { keys, projects } = running.callgate
    await projects.create({ accountId: 'main', code: 'SALES', name: 'Sales' })
    const keyOf = async (options: object) =>
      (await keys.create({ accountId: 'main', role: 'Administrator', label: '', ...options })).key
    for (const key of [
      running.keys.sandbox,
      await keyOf({ role: 'Supervisor' }),
      await keyOf({ projects: ['SALES'] }),
    ]) {
      const response = await running.get('/v1/status', key)
      expect(response.status).toBe(403)
      expect(await response.text()).not.toContain('settings"')
    }
  })
})

describe('the page Status', () => {
  it('shows what is ready, the jobs and the settings', async () => {
    const client = await openConsoleClient(running, running.keys.main)
    const { text, status } = await client.get('/console/status')
    expect(status).toBe(200)
    for (const secret of secrets) expect(text).not.toContain(secret)
    expect(text).toContain('<code>lookups.baseUrl</code>')
    expect(text).toContain('every call would be blocked, but the account has made no calls yet')
    expect(text).not.toContain('<img')
    expect(text).toContain('label checks')
  })

  it('is not for another account', async () => {
    const client = await openConsoleClient(running, running.keys.sandbox)
    const page = await client.get('/console/status')
    expect(page.status).toBe(403)
    expect(page.text).not.toContain('lookups.baseUrl')
  })
})

it('tells where the value of a setting is from', () => {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-origins-'))
  const file = join(folder, 'callgate.yaml')
  writeFileSync(file, 'gate: { allowValidMs: 61000 }\n')
  const environment = { CALLGATE_GATE_BLOCK_VALID_MS: '61000', CALLGATE_HTTP_PORT: '8080' }
  const { settings, problems } = checkSettings({ file, environment })
  rmSync(folder, { recursive: true })
  expect(problems).toEqual([])
  const originOf = (name: string) => {
    const leaf = listSettingLeaves().find(({ path }) => path.join('.') === name)
    if (!leaf) throw new Error(`no setting ${name}`)
    return findSettingOrigin(settings, leaf, environment)
  }
  expect(originOf('gate.allowValidMs')).toBe('file')
  expect(originOf('gate.blockValidMs')).toBe('variable')
  expect(originOf('gate.account')).toBe('default')
})
