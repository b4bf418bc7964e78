/** Number lists of several servers over one PostgreSQL database: all use the version that was imported last, or block. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { registerAccounts } from '../../../src/commands/accounts/accounts.js'
import { registerKeys } from '../../../src/commands/accounts/keys.js'
import type { RegisterCommand } from '../../../src/commands/command.js'
import { registerImport } from '../../../src/commands/import/import.js'
import { registerLists } from '../../../src/commands/lists/lists.js'
import { nanpaText } from '../../data/sample-feeds.js'
import { until } from '../../e2e/asterisk/lab/until.js'
import { type Cluster, type ClusterNode, openCluster } from '../../support/cluster.js'
import { callgate, serve, startCallgate } from '../../support/program.js'
import { runCommand } from '../../support/run-command.js'
import { type S3Server, s3Keys, startS3Server } from '../../support/s3-server.js'

let cluster: Cluster
let first: ClusterNode
let second: ClusterNode
let s3: S3Server
const folder = mkdtempSync(join(tmpdir(), 'callgate-shared-lists-'))
const shared = join(folder, 'shared')
const config = join(folder, 'callgate.yaml')
let mainKey = ''

/** The settings of a server that starts next, and of each command. */
let settings = ''

function setFiles(files: object): void {
  const lists = { files: { stageSeconds: 0, ...files } }
  writeFileSync(config, JSON.stringify({ lists }))
  settings = `lists: ${JSON.stringify(lists)}\n`
}

beforeAll(async () => {
  s3 = await startS3Server()
  setFiles({ folder: shared })
  const environment = {
    CALLGATE_CONFIG: config,
    CALLGATE_GATE_DEADLINE_MS: '5000',
    CALLGATE_CLUSTER_MAX_STALENESS_MS: '1000',
  }
  cluster = await openCluster({ count: 2, settings: environment })
  const [one, two] = cluster.nodes
  if (!one || !two) throw new Error('there are not two servers')
  first = one
  second = two
  mainKey = first.serving.keys.main
})

afterAll(async () => {
  await cluster.close()
  s3.close()
  rmSync(folder, { recursive: true, force: true })
})

/** What a check says of a number; by default of that of a known litigator, or not. */
async function checkLitigator(
  { serving }: Pick<ClusterNode, 'serving'>,
  number: string,
  name = 'litigator',
  key = mainKey,
): Promise<string> {
  const response = await fetch(`${serving.url}/v1/decisions`, {
    method: 'POST',
    headers: { loginId: key, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ number, callKind: 'manual' }),
  })
  const { decision, findings = [] } = (await response.json()) as {
    decision?: string
    findings?: { check: string; verdict: string; detail?: string }[]
  }
  expect(decision).not.toBe('allow')
  const found = findings.find(({ check }) => check === name)
  return found ? `${found.verdict} ${found.detail ?? ''}` : `status ${response.status}`
}

const untilItSays = (on: Pick<ClusterNode, 'name' | 'serving'>, number: string, what: RegExp) =>
  until(
    `${on.name} says ${what} of ${number}`,
    async () => what.test(await checkLitigator(on, number)),
    { withinMs: 60_000, everyMs: 100 },
  )

const on = ({ name }: ClusterNode) => ({
  ...cluster.environment,
  CALLGATE_DATA_DIR: join(cluster.folder, name),
})

/** In this process, with the settings of the server. */
async function runOn(node: ClusterNode, add: RegisterCommand, args: readonly string[]) {
  for (const [name, value] of Object.entries(on(node))) vi.stubEnv(name, value)
  try {
    const dataDir = join(cluster.folder, node.name)
    return await runCommand(add, args, { dataDir, configFolder: cluster.folder, more: settings })
  } finally {
    vi.unstubAllEnvs()
  }
}

function writeLitigators(node: ClusterNode, numbers: readonly string[]): string {
  const file = join(folder, `${node.name}.txt`)
  writeFileSync(file, `${numbers.join('\n')}\n`)
  return file
}

const importLitigators = (node: ClusterNode, numbers: readonly string[], ...options: string[]) =>
  runOn(node, registerImport, ['import', 'litigators', writeLitigators(node, numbers), ...options])

function writeKey(name: string, key: string): string {
  const file = join(folder, name)
  writeFileSync(file, key, { mode: 0o600 })
  return file
}

const readInForce = async () =>
  (
    await cluster.query(`select * from list_versions where in_force = 1 and name = 'litigators'`)
  )[0] as Readonly<Record<string, string>>

const fileInForce = async () => `litigators.${(await readInForce()).version}.cglist`

const one = '2125550101'
const two = '2125550102'
const three = '2125550103'

it('a list that one server has imported is used by the other', async () => {
  expect(await checkLitigator(second, one)).toMatch(/^unknown /)
  const file = writeLitigators(first, [one])
  const { code, err } = await callgate(['import', 'litigators', file], on(first))
  expect(code, err).toBe(0)
  await untilItSays(second, one, /^deny/)
  await untilItSays(second, two, /^pass/)
  await untilItSays(first, one, /^deny/)
  expect(readdirSync(shared)).toEqual([await fileInForce()])
})

it('a server that lacks the version in force blocks and says why, and refuses a damaged file', async () => {
  await second.serving.end('SIGTERM')
  expect((await importLitigators(first, [one, two])).code).toBe(0)
  const file = join(shared, await fileInForce())
  const good = readFileSync(file)
  const bad = Buffer.from(good)
  bad[bad.length - 40] = (bad[bad.length - 40] ?? 0) ^ 1
  writeFileSync(file, bad)
  await second.restart()
  const { version } = await readInForce()
  await untilItSays(
    second,
    three,
    new RegExp(`^unknown .*version ${version}.* is in force.*fetched from the folder ${shared}`),
  )
  const ready = await fetch(`${second.serving.url}/readyz`)
  expect(ready.status).toBe(503)
  await until('it was refused', async () => second.serving.output().includes('damaged file'))
  expect(await checkLitigator(second, three)).toMatch(/^unknown /)
  const metrics = await (await fetch(`${second.serving.url}/metrics`)).text()
  expect(metrics).toContain('callgate_list_in_force{list="litigators"} 0')
  const shown = await runOn(second, registerLists, ['lists'])
  expect(shown.code).toBe(1)
  expect(shown.out).toMatch(new RegExp(`litigators: version ${version} .*is in force`))
  const missing = `[NOW ] lists: version ${version} as of `
  const diagnosis = await callgate(['doctor'], on(second))
  expect([diagnosis.code, diagnosis.out]).toEqual([2, expect.stringContaining(missing)])
  expect(diagnosis.out).toContain(
    `fetched from the folder ${shared}\n       -> start callgate serve`,
  )
  writeFileSync(file, good)
  await untilItSays(second, three, /^pass/)
  await untilItSays(second, two, /^deny/)
  expect((await callgate(['doctor'], on(second))).out).not.toContain('] lists: version')
  expect((await runOn(second, registerLists, ['lists'])).out).toMatch(/litigators .*in force/)
})

it('going back goes for all', async () => {
  const { code, err } = await runOn(first, registerLists, ['lists', 'rollback', 'litigators'])
  expect(code, err).toBe(0)
  await untilItSays(second, two, /^pass/)
  await untilItSays(first, two, /^pass/)
  await untilItSays(second, one, /^deny/)
})

it('an import by a server without lists.files is refused, and one of an older list', async () => {
  const before = await readInForce()
  setFiles({})
  const refused = await importLitigators(first, [one, three])
  expect([refused.code, refused.err]).toEqual([
    1,
    expect.stringContaining('lists.files is not set'),
  ])
  setFiles({ folder: shared })
  const older = await importLitigators(second, [three], '--as-of', '2020-01-01')
  expect([older.code, older.err]).toEqual([1, expect.stringContaining('--allow-older')])
  expect(await readInForce()).toEqual(before)
})

it('a version is fetched before it is in force', async () => {
  setFiles({ folder: shared, stageSeconds: 3_600 })
  const file = join(folder, 'staged.txt')
  writeFileSync(file, `${[one, two, three].join('\n')}\n`)
  const before = await readInForce()
  const importing = startCallgate(['import', 'litigators', file], on(first))
  const staged = await until('it is staged', async () => {
    const [row] = await cluster.query('select * from list_versions where entries = 3')
    return row && `litigators.${row.version}.cglist`
  })
  const versions = join(cluster.folder, second.name, 'lists', 'versions')
  await until('it was fetched', () => readdirSync(versions).includes(staged))
  expect(await readInForce()).toEqual(before)
  for (const node of [first, second]) expect(await checkLitigator(node, three)).toMatch(/^pass/)
  await importing.end('SIGKILL')
  setFiles({ folder: shared })
  // The version in force is put back first, and nothing of the other is left.
  expect((await importLitigators(first, [one, two, '2125550104'])).code).toBe(0)
  const announced = await cluster.query('select * from list_versions')
  expect(announced.map(({ version }) => `litigators.${version}.cglist`)).not.toContain(staged)
  expect(readdirSync(shared)).not.toContain(staged)
  for (const node of [first, second]) {
    await untilItSays(node, '2125550104', /^deny/)
    await untilItSays(node, three, /^pass/)
  }
  const back = ['lists', 'rollback', 'litigators', '--to', before.version ?? '']
  expect((await runOn(first, registerLists, back)).code).toBe(0)
})

it('all lists of an import are in force by one commit', async () => {
  const files = ['WIRELINE-TO-WIRELESS.txt', 'WIRELESS-TO-WIRELINE.txt'].map((name) =>
    join(folder, name),
  )
  files.forEach((file, index) => {
    writeFileSync(file, `${[one, two][index]}\n`)
  })
  const { code, err } = await runOn(first, registerImport, ['import', 'ported', ...files])
  expect(code, err).toBe(0)
  const query = `select xmin::text as commit from list_versions where in_force = 1 and name like 'ported-%'`
  const [wireless, wireline] = await cluster.query(query)
  expect(wireline).toEqual(wireless)
})

describe('prefixes', () => {
  const known = '8505510123'
  const added = '8505570123'
  const checkHours = (node: Pick<ClusterNode, 'serving'>, number: string) =>
    checkLitigator(node, number, 'calling-hours')
  const untilHours = (node: ClusterNode, number: string, what: RegExp) =>
    until(
      `${node.name} says ${what} of ${number}`,
      async () => what.test(await checkHours(node, number)),
      { withinMs: 60_000, everyMs: 100 },
    )

  function importPrefixes(node: ClusterNode, prefixes: readonly string[]) {
    const file = join(folder, `${node.name}-nanpa.txt`)
    const rows = prefixes.map((prefix) => ['FL', prefix, 'ZZ02', 'EXAMPLE TEL CO', 'PENSACOLA'])
    writeFileSync(file, nanpaText(rows))
    return runOn(node, registerImport, ['import', 'numbering', file])
  }

  const findInForce = async () =>
    (
      await cluster.query(
        `select * from list_versions where in_force = 1 and name = 'numbering-us'`,
      )
    )[0] as Readonly<Record<string, string>>

  const isPlaced = /^(pass|deny (?!.*(not among|cannot be used)))/
  const isUnlisted = /^deny .*not among the exchanges/

  it('of one server are those of the other, also the next ones', async () => {
    expect(await checkHours(second, added)).toMatch(isPlaced)
    const { code, err } = await importPrefixes(first, ['850-551'])
    expect(code, err).toBe(0)
    for (const node of [first, second]) {
      await untilHours(node, added, isUnlisted)
      await untilHours(node, known, isPlaced)
    }
    expect((await importPrefixes(second, ['850-551', '850-557'])).code).toBe(0)
    for (const node of [first, second]) await untilHours(node, added, isPlaced)
    const { version } = await findInForce()
    for (const node of [first, second]) {
      const shown = await runOn(node, registerLists, ['lists', '--json'])
      expect(JSON.parse(shown.out).numbering).toEqual([
        expect.objectContaining({ name: 'US', version, inForce: version, state: 'in-use' }),
      ])
    }
  })

  it('that are announced wait until they are in force, on a server that starts as well', async () => {
    setFiles({ folder: shared, stageSeconds: 3_600 })
    const before = await findInForce()
    const file = join(folder, 'staged-nanpa.txt')
    writeFileSync(file, nanpaText([['FL', '850-551', 'ZZ02', 'EXAMPLE TEL CO', 'PENSACOLA']]))
    const importing = startCallgate(['import', 'numbering', file], on(first))
    const staged = await until('it is staged', async () => {
      const [row] = await cluster.query(
        `select * from list_versions where in_force = 0 and name = 'numbering-us'
         and published_at > ${before.published_at}`,
      )
      return row && `numbering-us.${row.version}.cg`
    })
    const versions = join(cluster.folder, second.name, 'numbering', 'versions')
    await until('it was fetched', () => readdirSync(versions).includes(staged))
    await first.serving.end('SIGTERM')
    await first.restart()
    for (const node of [first, second]) expect(await checkHours(node, added)).toMatch(isPlaced)
    expect(await findInForce()).toEqual(before)
    await importing.end('SIGKILL')
    setFiles({ folder: shared })
  })

  it('that are in force and missing block every number, and are fetched less and less often', async () => {
    await second.serving.end('SIGTERM')
    expect((await importPrefixes(first, ['850-551', '850-557', '850-558'])).code).toBe(0)
    const { version } = await findInForce()
    const file = join(shared, `numbering-us.${version}.cglist`)
    const good = readFileSync(file)
    const bad = Buffer.from(good)
    bad[bad.length - 40] = (bad[bad.length - 40] ?? 0) ^ 1
    writeFileSync(file, bad)
    await second.restart()
    const missing = new RegExp(`^deny .*version ${version}.* is in force`)
    for (const number of [known, added]) expect(await checkHours(second, number)).toMatch(missing)
    const ready = await fetch(`${second.serving.url}/readyz`)
    expect([ready.status, await ready.text()]).toEqual([
      503,
      expect.stringContaining(version ?? ''),
    ])
    const shown = await runOn(second, registerLists, ['lists'])
    expect([shown.code, shown.out]).toEqual([
      1,
      expect.stringMatching(/US: version .* is in force/),
    ])
    const pauses = await until('it was tried three times', () => {
      const found = [...second.serving.output().matchAll(/"retryInSeconds":(\d+)/g)]
      return found.length >= 3 && found.map(([, seconds]) => Number(seconds))
    })
    expect(pauses[2]).toBeGreaterThanOrEqual(2)
    writeFileSync(file, good)
    await untilHours(second, '8505580123', isPlaced)
    await untilHours(second, '8505590123', isUnlisted)
  })
})

/** More than one piece of the file. */
const many = Array.from({ length: 700 }, (_, area) => String(201 + area))
  .filter((area) => !area.endsWith('11'))
  .flatMap((area) =>
    Array.from(
      { length: 160 },
      (_, at) => `${area}${220 + Math.floor(at / 40)}${1000 + (at % 40)}`,
    ),
  )

it('over S3, and goes on with a fetch after a kill', async () => {
  const secretAccessKeyFile = join(folder, 'secret-key')
  writeFileSync(secretAccessKeyFile, s3Keys.secretAccessKey, { mode: 0o600 })
  const { accessKeyId } = s3Keys
  setFiles({ s3: { url: s3.url, accessKeyId, secretAccessKeyFile } })
  await second.serving.end('SIGTERM')
  await second.restart()
  let isHeld = false
  s3.hold = async (method, range) => {
    if (method !== 'GET' || /^bytes=0-/.test(range)) return
    isHeld = true
    await new Promise(() => undefined)
  }
  const { code, err } = await importLitigators(first, [one, ...many])
  expect(code, err).toBe(0)
  await until('the second piece is asked for', async () => isHeld)
  expect(await checkLitigator(second, three)).toMatch(/^unknown .*is being fetched from http/)
  const endedFrom = performance.now()
  expect(await second.serving.end('SIGTERM')).toBe(0)
  expect(performance.now() - endedFrom, 'ms until the end').toBeLessThan(30_000)
  isHeld = false
  await second.restart()
  await until('the second piece is asked for', async () => isHeld)
  await second.serving.end('SIGKILL')
  s3.hold = async () => undefined
  s3.log.length = 0
  await second.restart()
  await untilItSays(second, many[0] ?? '', /^deny/)
  expect(s3.log[0]).toMatch(/^GET 206 bytes=4194304-/)
})

it('of two imports at once, one is refused', async () => {
  let release: (() => void) | undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let isPutting = false
  s3.hold = async (method) => {
    isPutting ||= method === 'PUT'
    if (method === 'PUT') await released
  }
  const file = writeLitigators(first, [one, two])
  const here = callgate(['import', 'litigators', file, '--allow-shrink'], on(first))
  await until('the file is being stored', async () => isPutting)
  // Until it is published, nothing changes here.
  expect(await checkLitigator(first, one)).toMatch(/^deny/)
  expect(await checkLitigator(first, two)).toMatch(/^pass/)
  const there = await importLitigators(second, [one, three], '--allow-shrink')
  expect([there.code, there.err]).toEqual([
    1,
    expect.stringContaining("another server is importing or rolling back the list 'litigators'"),
  ])
  release?.()
  expect((await here).code).toBe(0)
  await untilItSays(second, two, /^deny/)
  await untilItSays(second, three, /^pass/)
})

it('from the server that has imported it, with a key of account main or of one that may use it', async () => {
  const loginIdFile = join(folder, 'key')
  writeFileSync(loginIdFile, mainKey, { mode: 0o600 })
  setFiles({ servers: ['http://127.0.0.1:1', first.serving.url], loginIdFile })
  await second.serving.end('SIGTERM')
  await second.restart()
  const { code, err } = await importLitigators(first, [one, three, ...many])
  expect(code, err).toBe(0)
  await untilItSays(second, three, /^deny/)
  const { sha256 } = await readInForce()
  const get = async (key: string) =>
    (await fetch(`${first.serving.url}/v1/list-files/${sha256}`, { headers: { loginId: key } }))
      .status
  expect([await get(mainKey), await get(cluster.key), await get('no')]).toEqual([200, 404, 401])
})

it('lists of another account: its own, by a right, and at its edge', async () => {
  setFiles({ folder: shared })
  for (const node of [first, second]) {
    await node.serving.end('SIGTERM')
    await node.restart()
  }
  const seller = '2125550777'
  const run = async (add: RegisterCommand, ...args: string[]) => {
    const { code, out, err } = await runOn(first, add, args)
    expect(code, err).toBe(0)
    return out.trim()
  }
  await run(registerAccounts, 'accounts', 'create', 'seller', '--name', 'Seller')
  const key = await run(
    registerKeys,
    ...['keys', 'create', '--account', 'seller', '--label', 'test', '--role', 'Administrator'],
  )
  const says = (node: Pick<ClusterNode, 'serving' | 'name'>, number: string, what: RegExp) =>
    until(
      `${node.name} says ${what} of ${number}`,
      async () => what.test(await checkLitigator(node, number, 'litigator', key)),
      { withinMs: 60_000, everyMs: 100 },
    )
  await says(second, one, /^unknown .*account seller has no list 'litigators'/)
  const share = ['share', 'litigators', '--with', 'seller', '--because', 'contract']
  await run(registerLists, 'lists', ...share)
  await says(second, one, /^deny/)
  // Its own list applies from then on, on all servers, and account main is not served from it.
  const own = writeLitigators(first, [seller])
  await run(registerImport, 'import', 'litigators', own, '--account', 'seller')
  await says(second, seller, /^deny/)
  await says(second, one, /^pass/)
  expect(await checkLitigator(second, seller)).toMatch(/^pass/)
  const edge = await serve({
    CALLGATE_DATA_DIR: join(folder, 'seller-edge'),
    CALLGATE_GATE_DEADLINE_MS: '5000',
    CALLGATE_EDGE_CENTERS: `[${first.serving.url}]`,
    CALLGATE_EDGE_LOGIN_ID_FILE: writeKey('seller-key', key),
  })
  try {
    await says({ name: 'edge', serving: edge }, seller, /^deny/)
    await says({ name: 'edge', serving: edge }, one, /^pass/)
    const files = readdirSync(join(folder, 'seller-edge', 'lists', 'accounts'))
    expect(files).toEqual(['seller'])
  } finally {
    await edge.end('SIGTERM')
  }
  const { sha256 } = await readInForce()
  const status = async () =>
    (await fetch(`${first.serving.url}/v1/list-files/${sha256}`, { headers: { loginId: key } }))
      .status
  // It has a right to the list of account main.
  expect(await status()).toBe(200)
  await run(registerLists, 'lists', 'unshare', 'litigators', '--with', 'seller')
  expect(await status()).toBe(404)
  // The same numbers as those of account main are one file in the place.
  const { as_of: asOf } = await readInForce()
  const before = readdirSync(shared)
  const listed = writeLitigators(second, [one, two, three, '2125550104'])
  const day = new Date(Number(asOf)).toISOString().slice(0, 10)
  for (const account of ['main', 'seller']) {
    const options = ['--as-of', day, '--account', account, '--allow-shrink', '--allow-older']
    await run(registerImport, 'import', 'litigators', listed, ...options)
    // Until then the server may still have the previous version in place.
    if (account === 'main') await untilItSays(first, '2125550104', /^deny/)
  }
  await says(second, '2125550104', /^deny/)
  const versions = await cluster.query(
    `select name, version from list_versions where in_force = 1 and name like '%litigators'`,
  )
  expect(new Set(versions.map(({ version }) => version)).size).toBe(1)
  expect(versions.map(({ name }) => name).sort()).toEqual(['litigators', 'seller/litigators'])
  expect(readdirSync(shared).filter((file) => !before.includes(file))).toHaveLength(1)
})

it('an edge uses the lists of its center, and the next version too', async () => {
  const serving = await serve({
    CALLGATE_DATA_DIR: join(folder, 'edge'),
    CALLGATE_GATE_DEADLINE_MS: '5000',
    CALLGATE_EDGE_CENTERS: `[${first.serving.url}, ${second.serving.url}]`,
    CALLGATE_EDGE_LOGIN_ID_FILE: writeKey('edge-key', mainKey),
  })
  const edge = { name: 'edge', serving }
  try {
    const listed = [one, two, three]
    const allow = '--allow-shrink'
    expect((await importLitigators(first, listed, allow)).code).toBe(0)
    await untilItSays(edge, three, /^deny/)
    expect((await importLitigators(first, [...listed, '2125550104'])).code).toBe(0)
    await untilItSays(edge, '2125550104', /^deny/)
    await untilItSays(edge, '2125550105', /^pass/)
    const unlisted = /^deny .*not among the exchanges/
    expect(await checkLitigator(edge, '8505590123', 'calling-hours')).toMatch(unlisted)
  } finally {
    await serving.end('SIGTERM')
  }
})
