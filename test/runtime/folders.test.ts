/** What cannot be found out about a file is not taken for a missing file. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { isPresent, readWholeFile } from '../../src/runtime/folders.js'
import { useTempFolder } from '../data/temp-folder.js'

const temp = useTempFolder()

it('tells a missing file from one that the system does not look at', () => {
  const file = join(temp.path, 'file')
  expect(isPresent(file)).toBe(false)
  writeFileSync(file, 'content')
  expect(isPresent(file)).toBe(true)
  expect(isPresent(join(file, 'below'))).toBe(false)
  expect(() => isPresent(join(temp.path, 'x'.repeat(300)))).toThrow('ENAMETOOLONG')
})

it('names the file that the system does not read', () => {
  expect(() => readWholeFile(temp.path)).toThrow(`${temp.path}: cannot be read: Error: EISDIR`)
})
