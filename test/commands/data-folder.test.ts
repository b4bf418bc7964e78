/** Data folders that cannot be made are refused with the reason. */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { prepareDataFolder } from '../../src/app/data-folders.js'
import { SettingsError } from '../../src/config/load.js'

let root: string

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'callgate-folder-'))
  writeFileSync(join(root, 'file'), '')
  symlinkSync(join(root, 'nowhere'), join(root, 'dangling'))
  symlinkSync(join(root, 'loop'), join(root, 'loop'))
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

const refused: readonly (readonly [string, RegExp])[] = [
  ['/proc/x', /\/proc\/x: the folder cannot be created: folders cannot be created there/],
  ['/proc/self/x/y', /\/proc\/self\/x: the folder cannot be created: .*\(ENOENT\)/],
  ['/sys/x', /\/sys\/x: the folder cannot be created: .*\((?:EPERM|EACCES|EROFS)\)/],
  ['<root>/file/below', /part of its path is not a folder \(ENOTDIR\)/],
  ['<root>/dangling', /dangling: is a symbolic link to .*nowhere, which does not exist/],
  ['<root>/dangling/below', /dangling: is a symbolic link to .*nowhere, which does not exist/],
  ['<root>/loop', /too many symbolic links \(ELOOP\)/],
]

it.each(refused)('refuses %s', (folder, reason) => {
  const dataDir = folder.replace('<root>', root)
  const prepare = () => prepareDataFolder({ dataDir })
  expect(prepare).toThrow(SettingsError)
  expect(prepare).toThrow(reason)
  expect(prepare).toThrow(`dataDir '${dataDir}': `)
  expect(prepare).toThrow('set CALLGATE_DATA_DIR to a folder')
})
