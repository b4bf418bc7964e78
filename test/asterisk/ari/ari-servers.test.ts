import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { resolveAriServers } from '../../../src/asterisk/ari/ari-servers.js'
import { loadSettings } from '../../../src/config/load.js'

const folder = mkdtempSync(join(tmpdir(), 'callgate-servers-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const file = (name: string, content: string): string => {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const serversOf = (environment: Readonly<Record<string, string>>) =>
  resolveAriServers(loadSettings({ environment }).asterisk)

describe('the Asterisk servers', () => {
  it('are none where no address is set', () => {
    expect(serversOf({})).toEqual([])
  })

  it('take their password from the settings or the first line of a file', () => {
    const at = { CALLGATE_ASTERISK_URL: 'http://127.0.0.1:8088/' }
    const known = { name: 'asterisk', url: 'http://127.0.0.1:8088', username: 'callgate' }
    expect(serversOf({ ...at, CALLGATE_ASTERISK_PASSWORD: 'p1' })).toEqual([
      { ...known, password: 'p1', app: 'callgate' },
    ])
    const password = file('password', '  p2 \nsecond line\n')
    expect(serversOf({ ...at, CALLGATE_ASTERISK_PASSWORD_FILE: password })).toEqual([
      { ...known, password: 'p2', app: 'callgate' },
    ])
  })

  it('share what is set for all, and say what is their own', () => {
    const own = file('own', 'p3\n')
    const servers = serversOf({
      CALLGATE_ASTERISK_URL: 'http://127.0.0.1:8088',
      CALLGATE_ASTERISK_PASSWORD: 'p1',
      CALLGATE_ASTERISK_APP: 'callgate-a',
      CALLGATE_ASTERISK_SERVERS: `[{ name: b, url: 'https://b:8089' }, { name: c, url: 'http://c', username: u, passwordFile: '${own}', app: x }]`,
    })
    expect(
      servers.map(({ name, username, password, app }) => [name, username, password, app]),
    ).toEqual([
      ['asterisk', 'callgate', 'p1', 'callgate-a'],
      ['b', 'callgate', 'p1', 'callgate-a'],
      ['c', 'u', 'p3', 'x'],
    ])
  })

  it('refuse a password file that is absent or empty, naming it and the setting', () => {
    const at = { CALLGATE_ASTERISK_URL: 'http://127.0.0.1:8088' }
    const absent = join(folder, 'absent')
    const empty = file('empty', '\nsecond\n')
    for (const path of [absent, empty]) {
      const load = () => serversOf({ ...at, CALLGATE_ASTERISK_PASSWORD_FILE: path })
      expect(load).toThrow(path)
      expect(load).toThrow('asterisk.passwordFile')
    }
  })
})
