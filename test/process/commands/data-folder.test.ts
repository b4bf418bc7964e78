/** Data folders the program cannot use are refused at once, with the reason; one with its journal on another disk is used. */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { callgate, type Serving, serve } from '../../support/program.js'

let root: string

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'callgate-folder-'))
  chmodSync(root, 0o755)
  writeFileSync(join(root, 'file'), '')
  mkdirSync(join(root, 'unwritable'), { mode: 0o555 })
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

/** Permissions stop every user but root. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534 } : {}

/** The other reasons are tried without a process. */
const refused: readonly (readonly [string, RegExp])[] = [
  ['<root>/file', /file: exists and is not a folder/],
  ['<root>/unwritable', /unwritable: cannot be written: EACCES: permission denied/],
  ['<root>/unwritable/below', /below: the folder cannot be created: permission denied \(EACCES\)/],
]

for (const [folder, reason] of refused) {
  it(`refuses ${folder}`, async () => {
    const dataDir = folder.replace('<root>', root)
    const environment = { CALLGATE_DATA_DIR: dataDir, CALLGATE_HTTP_PORT: '0' }
    const { code, out, err } = await callgate(['serve'], environment, nobody)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(reason)
    expect(err).toContain(`dataDir '${dataDir}': `)
    expect(err).toContain('set CALLGATE_DATA_DIR to a folder')
    expect(err).not.toContain('    at ')
  })
}

it('refuses a folder of lists that cannot be made', async () => {
  const list = join(root, 'list.txt')
  writeFileSync(list, '2125550100\n')
  const environment = {
    CALLGATE_DATA_DIR: join(root, 'var'),
    CALLGATE_LISTS_FOLDER: '/proc/x',
  }
  const { code, err } = await callgate(['import', 'us-dnc', list], environment)
  expect(code).toBe(1)
  expect(err).toContain('/proc/x: the folder cannot be created: ')
})

it('uses a journal on another disk through a link, and does not start without it', async () => {
  const dataDir = join(root, 'linked')
  const journal = join(dataDir, 'journal')
  const environment = { CALLGATE_DATA_DIR: dataDir }
  // Another file system wherever there is one in memory.
  const other = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'callgate-'))
  const moved = join(other, 'journal')
  try {
    let serving = await serve(environment)
    const before = await decide(serving)
    await serving.end('SIGTERM')
    cpSync(journal, moved, { recursive: true, preserveTimestamps: true })
    rmSync(journal, { recursive: true })
    symlinkSync(moved, journal)

    serving = await serve(environment)
    const after = await decide(serving)
    for (const id of [before, after]) {
      expect(await request(serving, `/v1/decisions/${id}`)).toMatchObject({ id })
    }
    expect((await callgate(['backup', join(root, 'backup')], environment)).code).toBe(0)
    await serving.end('SIGTERM')
    const verified = await callgate(['backup', 'verify', join(root, 'backup')], environment)
    expect(verified).toMatchObject({ code: 0, err: '' })
    const evidence = await callgate(['evidence', 'verify'], environment)
    expect(evidence.out).toContain('as they were signed')

    renameSync(moved, `${moved}-away`)
    const { code, err } = await callgate(['serve'], { ...environment, CALLGATE_HTTP_PORT: '0' })
    expect(code).toBe(1)
    expect(err).toContain(`${journal}: is a symbolic link to ${moved}, which does not exist`)
  } finally {
    rmSync(other, { recursive: true, force: true })
  }
})

async function request({ url, keys }: Serving, path: string, body?: object) {
  const response = await fetch(`${url}${path}`, {
    headers: { loginId: keys.sandbox, 'content-type': 'application/json' },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
  return (await response.json()) as { readonly id: string }
}

/** Resolves to the id of a decision. */
async function decide(serving: Serving): Promise<string> {
  const { id } = await request(serving, '/v1/decisions', {
    number: '2125550100',
    callKind: 'manual',
  })
  return id
}
