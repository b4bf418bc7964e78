/** Data folders the program cannot use are refused at once, with the reason. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { callgate } from '../../support/program.js'

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
  }, 70_000)
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
}, 70_000)
