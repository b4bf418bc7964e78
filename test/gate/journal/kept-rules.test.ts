/** Versions of the calling rules that a record may name. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { keepRules, nameVersion, readRules } from '../../../src/gate/journal/recovery/kept-rules.js'

it('are read by their version alone, and from their folder alone', () => {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-kept-rules-'))
  try {
    keepRules(folder, '{}')
    expect(readRules(folder, nameVersion('{}')).toString()).toBe('{}')
    for (const version of ['', 'A', '../../settings', undefined as unknown as string]) {
      expect(() => readRules(folder, version), String(version)).toThrow(
        'a version has 12 hex digits',
      )
    }
    expect(() => readRules(folder, '0'.repeat(12))).toThrow('is missing')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
