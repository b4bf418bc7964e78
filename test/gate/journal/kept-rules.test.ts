/** Versions of the calling rules that a record may name. */
import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { copyJournal } from '../../../src/gate/journal/recovery/copy-journal.js'
import { keepRules, nameVersion, readRules } from '../../../src/gate/journal/recovery/kept-rules.js'
import { noon } from '../../support/fake-compliance.js'
import { makeDecision, testJournal } from '../../support/test-journal.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'callgate-kept-rules-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

it('are read by their version alone, and from their folder alone', () => {
  keepRules(folder, '{}')
  expect(readRules(folder, nameVersion('{}')).toString()).toBe('{}')
  for (const version of ['', 'A', '../../settings', undefined as unknown as string]) {
    expect(() => readRules(folder, version), String(version)).toThrow('a version has 12 hex digits')
  }
  expect(() => readRules(folder, '0'.repeat(12))).toThrow('is missing')
})

it('are a file of a few megabytes, and nothing that never ends', () => {
  keepRules(folder, '{}')
  const version = nameVersion('{}')
  const path = join(folder, 'rules', `${version}.json`)
  const refusal = `${path}: must be a regular file of at most 16777216 bytes`
  rmSync(path)
  execFileSync('mkfifo', [path])
  expect(() => readRules(folder, version)).toThrow(refusal)
  expect(() => keepRules(folder, '{}')).toThrow(refusal)
  rmSync(path)
  writeFileSync(path, '')
  truncateSync(path, 16_777_217)
  expect(() => readRules(folder, version)).toThrow(refusal)
})

it('are in a copy of a journal with decisions, or there is no copy', async () => {
  const { journal, append } = testJournal(folder, () => noon)
  await journal.open()
  await append(await makeDecision({ id: 'd1' }))
  await journal.close()
  const [kept, rules] = [join(folder, 'journal'), join(folder, 'journal', 'rules')]
  const copy = (name: string) => {
    const target = join(folder, name)
    mkdirSync(target)
    copyJournal(kept, target)
    return readRules(target, nameVersion('{}')).toString()
  }
  expect(() => copy('without')).toThrow(`${rules}: cannot be read`)
  writeFileSync(rules, '')
  expect(() => copy('with-a-file')).toThrow(`${rules}: cannot be read`)
  rmSync(rules)
  keepRules(kept, '{}')
  expect(copy('whole')).toBe('{}')
  renameSync(rules, join(folder, 'elsewhere'))
  symlinkSync(join(folder, 'elsewhere'), rules)
  expect(copy('by-a-link')).toBe('{}')
  writeFileSync(join(rules, `${nameVersion('{}')}.json`), '{"damaged"')
  expect(() => copy('damaged')).toThrow('does not hold the calling rules')
})
