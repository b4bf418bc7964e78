import { describe, expect, it } from 'vitest'
import {
  compareConfigurations,
  computeVersions,
  keepUntilRestart,
} from '../../src/app/configuration.js'
import { loadSettings } from '../../src/config/load.js'
import { formatDay, parseDay } from '../../src/domain/time/dates.js'
import { rules, sandboxFile } from '../support/scrub-parts.js'

const settingsOf = (environment: Readonly<Record<string, string>>) => loadSettings({ environment })
const configurationOf = (environment: Readonly<Record<string, string>> = {}) => ({
  settings: settingsOf(environment),
  rules: rules.document,
  sandboxFile,
})
const changesTo = (environment: Readonly<Record<string, string>>) =>
  compareConfigurations(configurationOf(), configurationOf(environment))

describe('the versions of a configuration', () => {
  const base = computeVersions(configurationOf())

  it('are the same for the same content, whatever its order and its secrets', () => {
    const withKey = (key: string) =>
      configurationOf({
        CALLGATE_LOOKUPS_BASE_URL: 'http://127.0.0.1:9',
        CALLGATE_LOOKUPS_LOGIN_ID: key,
      })
    const { settings } = withKey('very-secret')
    const reversed = Object.fromEntries(Object.entries(settings).reverse()) as typeof settings
    const same = { ...configurationOf(), settings: reversed }
    expect(computeVersions(same)).toEqual(computeVersions(withKey('other')))
    expect(base).toEqual({
      settings: expect.stringMatching(/^[0-9a-f]{12}$/),
      rules: expect.stringMatching(/^[0-9a-f]{12}$/),
    })
  })

  it('differ in the part that differs', () => {
    const { about } = rules.document
    const settings = computeVersions(configurationOf({ CALLGATE_LOG_LEVEL: 'debug' }))
    expect([settings.settings === base.settings, settings.rules === base.rules]).toEqual([
      false,
      true,
    ])
    const sandbox = {
      ...configurationOf(),
      sandboxFile: { ...sandboxFile, otherNumbers: '0100' as const },
    }
    expect(computeVersions(sandbox).settings).not.toBe(base.settings)
    const changed = { ...rules.document, about: { ...about, asOf: about.asOf + 1 } }
    const rulesOnly = computeVersions({ ...configurationOf(), rules: changed })
    expect(rulesOnly.rules).not.toBe(base.rules)
    expect(rulesOnly.settings).toBe(base.settings)
  })
})

describe('the changes of a configuration', () => {
  it('are none between equal ones', () => {
    expect(changesTo({})).toEqual({ applied: [], needRestart: [] })
  })

  it('show instants as people write them, also inside of lists', () => {
    const emergency = '{region: NY, from: "2026-11-24T00:00:00Z", name: Flood}'
    const { applied } = changesTo({ CALLGATE_CALLING_HOURS_EMERGENCIES: `[${emergency}]` })
    expect(applied).toEqual([
      {
        field: 'callingHours.emergencies',
        from: '[]',
        to: '[{"region":"NY","from":"2026-11-24T00:00:00Z","name":"Flood"}]',
      },
    ])
  })

  it('show no secret, also inside of lists', () => {
    const server = '{name: b, url: "http://127.0.0.1:9", password: very-secret}'
    const changes = changesTo({
      CALLGATE_ASTERISK_SERVERS: `[${server}]`,
      CALLGATE_LOOKUPS_BASE_URL: 'http://127.0.0.1:9',
      CALLGATE_LOOKUPS_LOGIN_ID: 'very-secret',
    })
    expect(JSON.stringify(changes)).not.toContain('very-secret')
    expect(changes.needRestart.map(({ field }) => field)).toEqual([
      'lookups.baseUrl',
      'lookups.loginId',
      'asterisk.servers',
    ])
  })

  it('are named by their place in the calling rules and the sandbox file', () => {
    const { about, regions } = rules.document
    const ny = regions.NY as (typeof regions)[string]
    const hours = { monFri: { start: 32_400, end: 68_400 }, sat: undefined, sun: undefined }
    const { applied } = compareConfigurations(configurationOf(), {
      ...configurationOf(),
      rules: {
        ...rules.document,
        about: { ...about, asOf: parseDay('2027-01-31') ?? 0 },
        regions: { ...regions, NY: { ...ny, hours } },
      },
      sandboxFile: { ...sandboxFile, otherNumbers: '0100' },
    })
    expect(applied.map(({ field, from, to }) => `${field}: ${from} -> ${to}`)).toEqual([
      `config/calling-rules.yaml: about.asOf: "${formatDay(about.asOf)}" -> "2027-01-31"`,
      'config/calling-rules.yaml: regions.NY.hours.monFri: "08:00-21:00" -> "09:00-19:00"',
      'config/calling-rules.yaml: regions.NY.hours.sat: "08:00-21:00" -> unset',
      'config/calling-rules.yaml: regions.NY.hours.sun: "08:00-21:00" -> unset',
      'config/sandbox.yaml: otherNumbers: unset -> "0100"',
    ])
  })
})

it('a setting that needs a restart keeps its value, even one that was not set', () => {
  const kept = keepUntilRestart(
    settingsOf({}),
    settingsOf({
      CALLGATE_HTTP_PORT: '1',
      CALLGATE_GATE_DEADLINE_MS: '500',
      CALLGATE_POLICY_PERMISSION_MODE: 'shadow',
    }),
  )
  expect([kept.http.port, kept.gate.deadlineMs]).toEqual([8480, undefined])
  expect(kept.policy.permission.mode).toBe('shadow')
})
