import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import {
  checkSettings,
  formatGivenSettings,
  listSettingLeaves,
  loadSettings,
  resolveShippedFile,
  SettingsError,
} from '../../src/config/load.js'
import { listSecretFiles } from '../../src/config/secret-file.js'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import { formatVerifierKey } from '../../src/transparency/signed-note.js'
import { seededKey } from '../support/seeded-key.js'

const folder = mkdtempSync(join(tmpdir(), 'callgate-settings-'))
let files = 0

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

const settingsFile = (yaml: string): string => {
  files += 1
  const file = join(folder, `${files}.yaml`)
  writeFileSync(file, yaml)
  return file
}
const load = (yaml: string, environment: Record<string, string> = {}) =>
  loadSettings({ file: settingsFile(yaml), environment })

const problemsOf = (yaml: string, environment: Record<string, string> = {}): string => {
  try {
    load(yaml, environment)
  } catch (error) {
    if (error instanceof SettingsError) return error.message
    throw error
  }
  throw new Error('the settings were accepted')
}

describe('settings', () => {
  it('have a default each', () => {
    const settings = load('')
    expect(settings.http).toEqual({
      host: '127.0.0.1',
      port: 8480,
      maxBodyBytes: 8_388_608,
      maxBodiesBytes: 67_108_864,
      maxConnections: 1_000,
      headersTimeoutMs: 5_000,
      requestTimeoutMs: 30_000,
      keysInAddress: true,
      serviceThreads: 1,
    })
    expect(settings.gate.deadlineMs).toBeUndefined()
    expect(settings.dataDir).toBe('./var')
  })

  it('as shipped are the defaults', () => {
    expect(loadSettings({ environment: {} })).toEqual(load(''))
  })

  it('come from the file, and from the environment before that', () => {
    const settings = load('http: { port: 9000, host: 0.0.0.0 }\n', {
      CALLGATE_HTTP_PORT: '9001',
      CALLGATE_DATA_DIR: '/tmp/x',
      CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
      CALLGATE_GATE_SERVICE_CODES: '["112"]',
      CALLGATE_GATE_STRICTEST_PLACE_MANUAL: 'true',
      HOME: '/root',
    })
    expect(settings.http).toMatchObject({ port: 9001, host: '0.0.0.0' })
    expect(settings.dataDir).toBe('/tmp/x')
    expect(settings.sandbox.at).toBe(Date.UTC(2026, 10, 23, 17))
    expect(settings.gate.serviceCodes).toEqual(['112'])
    expect(settings.gate.strictestPlace.manual).toBe(true)
  })

  it('cannot be changed once read', () => {
    expect(Object.isFrozen(load('').gate.cache)).toBe(true)
  })

  it('list every problem at once, naming setting, value and rule', () => {
    const message = problemsOf(
      'http: { port: 99999 }\ngate: { deadlineMs: soon, colour: red }\nunknown: 1\n',
      { CALLGATE_NO_SUCH: '1', CALLGATE_SANDBOX_AT: 'yesterday' },
    )
    for (const part of [
      'http.port:',
      '(got 99999)',
      'CALLGATE_HTTP_PORT',
      'gate.deadlineMs:',
      '(got "soon")',
      "unknown setting 'gate.colour'",
      "unknown setting 'unknown'",
      "unknown setting 'CALLGATE_NO_SUCH'",
      'sandbox.at: must be an instant',
    ]) {
      expect(message).toContain(part)
    }
  })

  it.each([
    ['gate.deadlinMs', 'gate: { deadlinMs: 5 }\n', {}, 'gate.deadlineMs'],
    ['gate.DEADLINEMS', 'gate: { DEADLINEMS: 5 }\n', {}, 'gate.deadlineMs'],
    ['htpt', 'htpt: { port: 1 }\n', {}, 'http'],
    ['CALLGATE_HTTP_PROT', '', { CALLGATE_HTTP_PROT: '1' }, 'CALLGATE_HTTP_PORT'],
    ['CALLGATE_CONFG', '', { CALLGATE_CONFG: 'x' }, 'CALLGATE_CONFIG'],
  ])('unknown setting %s: suggests the one that is meant', (name, yaml, environment, meant) => {
    expect(problemsOf(yaml, environment)).toContain(
      `unknown setting '${name}'; did you mean '${meant}'?`,
    )
  })

  it.each([
    ['three letters differ', 'gate: { deadliXXX: 5 }\n'],
    ['the name is in another group', 'gate: { port: 5 }\n'],
    ['too short to tell', 'http: { at: 5 }\n'],
  ])('unknown setting without a suggestion: %s', (_case, yaml) => {
    const message = problemsOf(yaml)
    expect(message).toContain('unknown setting')
    expect(message).not.toContain('did you mean')
  })

  it('of an Asterisk have a password, names of their own, and keep the password to themselves', () => {
    const message = problemsOf(
      'asterisk:\n' +
        '  url: http://127.0.0.1:8088\n' +
        '  servers:\n' +
        '    - { name: asterisk, url: http://pbx-b:8088, password: s3cret }\n' +
        '    - { name: pbx-c, url: http://127.0.0.1:8088 }\n' +
        '    - { name: pbx-d, url: http://pbx-d:8088/asterisk, password: 31337 }\n' +
        '  trunks:\n' +
        '    - { name: a, channel: PJSIP/carrier }\n' +
        '    - { name: b, channel: PJSIP/carrier }\n' +
        '    - { name: c, channel: carrier }\n',
    )
    expect(message).toContain('asterisk.servers.2.url: must be http://host:port')
    expect(message).toContain('asterisk.trunks.2.channel: must be technology/endpoint')
    expect(message).not.toContain('31337')
    const contradictory = problemsOf(
      'asterisk:\n' +
        '  url: http://127.0.0.1:8088\n' +
        '  servers:\n' +
        '    - { name: asterisk, url: http://pbx-b:8088, password: s3cret }\n' +
        '    - { name: pbx-c, url: http://127.0.0.1:8088 }\n' +
        '  trunks:\n' +
        '    - { name: a, channel: PJSIP/carrier }\n' +
        '    - { name: a, channel: PJSIP/carrier }\n',
    )
    for (const part of [
      'asterisk.password: is required',
      'asterisk.servers.1.password: is required',
      'asterisk.servers.0.name: is a duplicate',
      'asterisk.servers.1.url: is a duplicate',
      'asterisk.trunks.1.name: is a duplicate',
      'asterisk.trunks.1.channel: is a duplicate',
    ]) {
      expect(contradictory).toContain(part)
    }
    expect(contradictory).not.toContain('s3cret')
    const sameDoor = problemsOf(
      'asterisk:\n' +
        '  url: http://PBX:80\n' +
        '  password: s3cret\n' +
        '  passwordFile: /etc/secret\n' +
        '  servers: [{ name: b, url: "http://pbx/" }]\n' +
        '  trunks: [{ name: a, channel: PJSIP/a, watch: false, enforce: true }]\n',
    )
    for (const part of [
      'asterisk.password: is set here and in passwordFile; keep one of them',
      'asterisk.servers.0.url: is a duplicate',
      'asterisk.trunks.0.enforce: has no effect while watch is false',
    ]) {
      expect(sameDoor).toContain(part)
    }
    expect(sameDoor).not.toContain('s3cret')
    for (const url of ['http://10.0.0.300:8088', 'http://pbx:99999', 'pbx:8088']) {
      expect(problemsOf('asterisk: { password: p }\n', { CALLGATE_ASTERISK_URL: url })).toContain(
        'asterisk.url: must',
      )
    }
  })

  const key = 'k3y-of-the-provider'
  const remote = (more: string) =>
    `source:\n  kind: remote\n  provider:\n    baseUrl: https://api.example.com/\n${more}`

  it('of witnesses are checked with their keys', () => {
    const key = formatVerifierKey(seededKey('w', 'cosigner', 2))
    const url = 'https://w.example.com/secret'
    const { journal } = load(
      `journal: { witnesses: [{ kind: witness, url: "${url}", key: "${key}" }, { kind: timestamp, url: "${url}" }] }`,
    )
    expect(journal.witnesses).toEqual([
      { kind: 'witness', url, key },
      { kind: 'timestamp', url, every: 'daily' },
    ])
    const problemOf = (witness: string) => problemsOf(`journal: { witnesses: [${witness}] }`)
    const withKey = (text: string) => `{ kind: witness, url: "${url}", key: "${text}" }`
    const ofLog = formatVerifierKey(seededKey('w', 'signer', 2))
    expect(problemOf(withKey(ofLog))).toContain('it is the key of a journal')
    expect(problemOf(withKey(`${key.slice(0, -2)}A=`))).toMatch(
      / journal\.witnesses\.0\.key: must be the verifier key that callgate witness prints/,
    )
    const wrong = problemOf('{ kind: webhook, url: "https://u:p@w.example.com/secret" }')
    expect(wrong).toMatch(/ journal\.witnesses\.0\.url: must be http:/)
    expect(wrong).not.toContain('secret')
    expect(problemOf('{ kind: mail }')).toContain('journal.witnesses.0')
  })

  it('of a provider say where it is, how it is asked and by which key', () => {
    const { source } = load(remote(`    loginId: ${key}\n    scrub: { deadlineMs: 900 }\n`), {
      CALLGATE_SOURCE_PROVIDER_RPC_URL: 'https://www.example.com',
      CALLGATE_SOURCE_PROVIDER_LITIGATOR_REQUESTS_PER_MINUTE: '500',
    })
    expect(source.provider).toMatchObject({
      name: 'provider',
      baseUrl: 'https://api.example.com',
      coalesceMs: 5,
      rpcUrl: 'https://www.example.com',
      scrub: { requestsPerMinute: 100, numbersPerRequest: 2_000, deadlineMs: 900 },
      litigator: { requestsPerMinute: 500, numbersPerRequest: 5_000, deadlineMs: 3_000 },
      internalDnc: { requestsPerMinute: 100, numbersPerRequest: 200 },
      legalTime: { requestsPerMinute: 100, numbersPerRequest: 1_000 },
    })
    expect(source.secondProvider.baseUrl).toBeUndefined()
  })

  it('of a provider may have logins of accounts, which are never shown', () => {
    const accounts = `accounts: { acme: { loginId: ${key} }, beta: { clientId: b, clientSecret: ${key} } }`
    const file = remote(`    loginId: ${key}\n    ${accounts}\n`)
    expect(load(file).source.provider.accounts).toEqual({
      acme: { loginId: key },
      beta: { clientId: 'b', clientSecret: key },
    })
    const variable = load(remote(`    loginId: ${key}\n`), {
      CALLGATE_SOURCE_PROVIDER_ACCOUNTS: `{acme: {loginIdFile: /etc/acme}}`,
    })
    expect(listSecretFiles(variable.source.provider)).toEqual([
      { setting: 'accounts.acme.loginIdFile', path: '/etc/acme' },
    ])
    const input = { file: settingsFile(file), environment: {} }
    const shown = formatGivenSettings(input, { withSecrets: false })
    expect(shown).toContain('acme')
    expect(shown).not.toContain(key)
  })

  const refusedSources: readonly (readonly [string, string, string])[] = [
    ['no address', 'source: { kind: remote }\n', 'source.provider.baseUrl: is required'],
    ['no key', remote(''), 'source.provider: needs either loginId or loginIdFile'],
    [
      'two keys',
      remote(`    loginId: ${key}\n    loginIdFile: /etc/key\n`),
      'source.provider: needs either',
    ],
    [
      'key and OAuth',
      remote(`    loginId: ${key}\n    clientId: a\n    clientSecret: ${key}\n`),
      'source.provider: needs either',
    ],
    [
      'OAuth without secret',
      remote('    clientId: a\n'),
      'source.provider: needs either loginId or loginIdFile',
    ],
    [
      'an address with a key in it',
      `source: { kind: remote, provider: { loginId: x, baseUrl: "https://a.example/?loginId=${key}" } }\n`,
      'source.provider.baseUrl: must be http://host or https://host, without key or query',
    ],
    [
      'an address with a password in it',
      `source: { kind: remote, provider: { loginId: x, baseUrl: "https://u:${key}@a.example" } }\n`,
      'source.provider.baseUrl: must be',
    ],
    [
      'a provider that is not asked',
      'source: { provider: { baseUrl: "https://a.example", loginId: x } }\n',
      'source.kind: must be remote when source.provider.baseUrl is set',
    ],
    [
      'a second provider alone',
      'source: { secondProvider: { baseUrl: "https://a.example", loginId: x } }\n',
      'source.secondProvider.baseUrl: needs source.provider.baseUrl',
    ],
    [
      'one name for both',
      `${remote(`    loginId: ${key}\n`)}  secondProvider: { name: provider, baseUrl: "https://b.example", loginId: x }\n`,
      'source.secondProvider.name: must differ',
    ],
    [
      'a name that is ours',
      remote(`    loginId: ${key}\n    name: Embedded\n`),
      'source.provider.name: must not be embedded, gate, remote',
    ],
    [
      'each must permit, and one',
      `${remote(`    loginId: ${key}\n`)}  combine: any-no-blocks\n`,
      'source.secondProvider.baseUrl: is required with source.combine any-no-blocks',
    ],
    [
      'a key for nobody',
      `${remote(`    loginId: ${key}\n`)}  secondProvider: { loginId: ${key} }\n`,
      'source.secondProvider: has a key but no baseUrl',
    ],
    [
      'a login of an account without a key',
      remote(`    loginId: ${key}\n    accounts: { acme: { clientId: ${key} } }\n`),
      'source.provider.accounts.acme: needs either loginId or loginIdFile',
    ],
    [
      'a login of an account where no key belongs',
      remote(`    loginId: ${key}\n    accounts: { acme: ${key} }\n`),
      'source.provider.accounts.acme: ',
    ],
    [
      'an own login of account main',
      remote(`    loginId: ${key}\n    accounts: { main: { loginId: ${key} } }\n`),
      'source.provider.accounts: must not have main, which uses the login of the provider itself',
    ],
    [
      'a login of the sandbox',
      remote(`    loginId: ${key}\n    accounts: { sandbox: { loginId: ${key} } }\n`),
      'source.provider.accounts: must not have sandbox, for which no provider is asked',
    ],
    [
      'logins of accounts for lookups that nobody is asked',
      `lookups: { accounts: { acme: { loginId: ${key} } } }\n`,
      'lookups: has a key but no baseUrl',
    ],
    [
      'a second that would be asked too late',
      `${remote(`    loginId: ${key}\n`)}  secondProvider: { baseUrl: "https://b.example", loginId: x }\ngate: { deadlineMs: 800 }\n`,
      'source.fallbackAfterMs: must be below gate.deadlineMs, which is 800',
    ],
    [
      'a key where a provider should be',
      `${remote(`    loginId: ${key}\n`)}  secondProvider: ${key}\n`,
      'source.secondProvider:',
    ],
    [
      'a password in an address without scheme',
      `source: { kind: remote, provider: { loginId: x, baseUrl: "u:${key}/@a.example" } }\n`,
      'source.provider.baseUrl: must be',
    ],
    [
      'broken YAML',
      `source:\n  provider:\n    loginId: ${key}: 1\n`,
      'line 3: bad indentation of a mapping entry',
    ],
    ...['*', '!', '!<', '&', '@', '!bad^'].map((mark): [string, string, string] => [
      `a key that begins with ${mark}`,
      `source:\n  provider:\n    loginId: ${mark}${key}\n`,
      mark === '&' ? 'source.provider' : '.yaml: line ',
    ]),
    [
      'an age that nothing keeps',
      'policy: { litigator: { staleForMs: 1000 } }\n',
      'policy.litigator.staleForMs: has no effect without source.kind remote',
    ],
    [
      'more numbers than the API takes',
      remote(`    loginId: ${key}\n    legalTime: { numbersPerRequest: 1001 }\n`),
      'source.provider.legalTime.numbersPerRequest:',
    ],
  ]
  it.each(refusedSources)('of a provider are refused with %s', (_, yaml, problem) => {
    const message = problemsOf(yaml)
    expect(message).toContain(problem)
    expect(message).not.toContain(key)
  })

  it('refuse a wait for the database that is as long as the deadline of a decision', () => {
    const rule = 'storage.lockWaitMs: is 250 and must be below gate.deadlineMs, which is 250'
    expect(problemsOf('storage: { lockWaitMs: 250 }\n')).toContain(rule)
    expect(load('storage: { lockWaitMs: 249 }\n').storage.lockWaitMs).toBe(249)
    const byDefault = 'storage.lockWaitMs: is 100 and must be below gate.deadlineMs, which is 50'
    expect(problemsOf('gate: { deadlineMs: 50 }\n')).toContain(byDefault)
    const provider = remote(`    loginId: ${key}\n`)
    expect(load(`${provider}storage: { lockWaitMs: 1499 }\n`).storage.lockWaitMs).toBe(1_499)
    expect(problemsOf(`${provider}storage: { lockWaitMs: 1500 }\n`)).toContain('which is 1500')
  })

  it('say what a missing rules file does: it stops the start', () => {
    const [rulesFile] = listSettingLeaves().filter(({ path }) => path.at(-1) === 'rulesFile')
    expect(rulesFile?.schema.description).toMatch(/missing file stops the start/)
    expect(() => loadCallingRules(resolveShippedFile('/no/such/rules.yaml'))).toThrow(/rules\.yaml/)
  })

  it('allow what is unknown only for a reason and until an instant', () => {
    const allowed = 'policy: { permission: { onUnknown: allow, reason: " signed off ", '
    const { permission, litigator } = load(`${allowed}until: 2026-12-01T00:00:00Z } }\n`).policy
    const until = Date.UTC(2026, 11, 1)
    expect(permission).toMatchObject({ onUnknown: 'allow', reason: 'signed off', until })
    expect(litigator).toEqual({ mode: 'enforce', onUnknown: 'block', staleForMs: 0 })
    const refused = problemsOf('policy: { litigator: { onUnknown: allow, reason: "  " } }\n')
    expect(refused).toContain('policy.litigator.reason:')
    const bare = problemsOf('', { CALLGATE_POLICY_INTERNAL_DNC_ON_UNKNOWN: 'allow' })
    expect(bare).toContain('policy.internalDnc.reason: is required to allow unknown')
    expect(bare).toContain('policy.internalDnc.until: is required to allow unknown')
  })

  it('refuse a file that is absent, is not YAML or holds a list', () => {
    expect(() => loadSettings({ file: '/no/such.yaml', environment: {} })).toThrow(
      'settings file not found',
    )
    expect(problemsOf('a: [')).toContain('.yaml')
    expect(problemsOf('- 1\n')).toContain('must be one map of setting names to values')
    expect(problemsOf('a: 1\n---\nb: 1\n')).toContain('must be one map of setting names to values')
    for (const empty of ['', '# only a comment\n', '---\n', '~'])
      expect(load(empty)).toEqual(load('{}'))
  })

  it('have a description each, so that the documents can be generated', () => {
    for (const { path, schema } of listSettingLeaves()) {
      expect(schema.description, path.join('.')).toBeTruthy()
    }
  })
})

describe('signing in at an identity provider', () => {
  const oidc = (more: string) =>
    `console: { oidc: { issuer: 'https://id.example', clientId: c, clientSecretFile: f, roles: { a: admin }${more} } }`

  it('needs only the provider, the client and roles', () => {
    expect(load(oidc('')).console.oidc).toEqual({
      ...{ issuer: 'https://id.example', clientId: 'c', clientSecretFile: 'f' },
      ...{ scopes: ['openid', 'profile', 'email'], roleClaim: 'roles', roles: { a: 'admin' } },
      ...{ account: 'main', nameClaim: 'email' },
    })
    expect(load('').console.oidc.issuer).toBeUndefined()
    expect(listSecretFiles(load(oidc('')))).toContainEqual({
      setting: 'console.oidc.clientSecretFile',
      path: 'f',
    })
    const byVariables = load('', {
      CALLGATE_CONSOLE_OIDC_ISSUER: 'https://id.example/realms/one/',
      CALLGATE_CONSOLE_OIDC_CLIENT_ID: 'c',
      CALLGATE_CONSOLE_OIDC_CLIENT_SECRET_FILE: 'f',
      CALLGATE_CONSOLE_OIDC_ROLES: '{group 1: officer}',
    })
    expect(byVariables.console.oidc).toMatchObject({
      ...{ issuer: 'https://id.example/realms/one/', roles: { 'group 1': 'officer' } },
    })
  })

  it.each([
    ["issuer: 'https://id.example'", 'console.oidc.clientId: is required with issuer'],
    ["issuer: 'https://id.example'", 'console.oidc.clientSecretFile: is required with issuer'],
    ["issuer: 'https://id.example'", 'console.oidc.roles: must have a value with issuer'],
    ["issuer: 'http://id.example'", 'console.oidc.issuer: must be https://..., or http:// at'],
    ["issuer: 'http://127.0.0.1.evil.example'", 'console.oidc.issuer: must be https://...'],
    ["issuer: 'ftp://localhost'", 'console.oidc.issuer: must be https://...'],
    ["issuer: 'https://a:b@id.example'", 'console.oidc.issuer: must be an address without a name'],
    ["issuer: 'https://id.example/?x'", 'console.oidc.issuer: must be an address without'],
    ['roles: { a: owner }', 'console.oidc.roles.a: Invalid option'],
    ["scopes: ['email']", 'console.oidc.scopes: must have openid'],
    ["scopes: ['openid', 'a b']", 'console.oidc.scopes.1: must be a scope without spaces'],
    ["account: ''", 'console.oidc.account: '],
  ])('refuses %s', (yaml, problem) => {
    expect(problemsOf(`console: { oidc: { ${yaml} } }`)).toContain(problem)
  })

  it('needs no other address where browsers reach the console at a loopback one', () => {
    const http = "http: { host: '0.0.0.0' }\n"
    expect(load(http + oidc('')).console.oidc.issuer).toBe('https://id.example')
  })
})

describe('console.publicUrl', () => {
  const publicUrl = (url: string) => `console: { publicUrl: '${url}' }`

  it.each([
    'https://callgate.example',
    'http://localhost:8480',
    'http://127.0.0.1:9000',
    'http://[::1]:8480',
  ])('takes %s', (url) => {
    expect(load(publicUrl(url)).console.publicUrl).toBe(url)
  })

  it.each([
    ['http://callgate.example', 'must be https://..., or http:// at a loopback address'],
    ['http://localhost.evil.example', 'must be https://..., or http:// at a loopback address'],
    ['http://10.0.0.5:8480', 'must be https://..., or http:// at a loopback address'],
    ['https://xn--a', 'must have a valid host and port'],
    ['https://a/b', 'must be https://host or https://host:port, without a path'],
  ])('refuses %s', (url, problem) => {
    expect(problemsOf(publicUrl(url))).toContain(`console.publicUrl: ${problem}`)
  })
})

describe('what Kubernetes tells a pod of the Services of its namespace', () => {
  const link = '10.96.0.7:8480'

  it('is passed over, whatever the Service is called', () => {
    for (const name of ['CALLGATE', 'CALLGATE_EDGE', 'CALLGATE_HTTP', 'CALLGATE_DATA_DIR']) {
      const environment = {
        [`${name}_SERVICE_HOST`]: name === 'CALLGATE_EDGE' ? 'fd00::7' : '10.96.0.7',
        [`${name}_SERVICE_PORT`]: '8480',
        [`${name}_SERVICE_PORT_HTTP_ADMIN`]: '8480',
        [`${name}_PORT`]: `tcp://${link}`,
        [`${name}_PORT_8480_TCP`]: `tcp://${link}`,
        [`${name}_PORT_8480_TCP_PROTO`]: 'tcp',
        [`${name}_PORT_8480_TCP_PORT`]: '8480',
        [`${name}_PORT_8480_TCP_ADDR`]: '10.96.0.7',
        [`${name}_PORT_53_UDP`]: `udp://${link}`,
      }
      expect(load('', environment)).toEqual(load(''))
    }
  })

  it.each([
    ['CALLGATE_PORT', '8480'],
    ['CALLGATE_SERVICE_HOST', 'callgate.example'],
    ['CALLGATE_SERVICE_PORT', 'http'],
    ['CALLGATE_PORT_8480_TCP_PROTO', 'yes'],
  ])('is not %s=%s, which somebody has written', (variable, text) => {
    expect(problemsOf('', { [variable]: text })).toContain(`unknown setting '${variable}'`)
  })

  it('leaves the port that is set', () => {
    expect(load('', { CALLGATE_HTTP_PORT: '9001' }).http.port).toBe(9001)
    expect(load('http: { port: 9002 }', { CALLGATE_HTTP_PORT: `tcp://${link}` }).http.port).toBe(
      9_002,
    )
  })
})

describe('a settings file that is named and cannot be read', () => {
  const folderOf = (file: string, environment: Record<string, string> = {}) => {
    const { problems, isDataDirKnown } = checkSettings({ file, environment })
    expect(problems).toHaveLength(1)
    return isDataDirKnown
  }

  it('leaves it open which data folder is meant', () => {
    const broken = join(folder, 'broken.yaml')
    writeFileSync(broken, 'dataDir: /data\n a: [')
    const dangling = join(folder, 'dangling.yaml')
    symlinkSync(join(folder, 'nowhere.yaml'), dangling)
    const wrong = join(folder, 'wrong.yaml')
    writeFileSync(wrong, 'dataDir: 5')
    for (const file of [join(folder, 'missing.yaml'), folder, broken, dangling, wrong]) {
      expect(folderOf(file)).toBe(false)
    }
    expect(folderOf(broken, { CALLGATE_DATA_DIR: '/data' })).toBe(true)
    const mistaken = join(folder, 'mistaken.yaml')
    writeFileSync(mistaken, 'http: { port: x }')
    expect(folderOf(mistaken)).toBe(true)
  })
})
