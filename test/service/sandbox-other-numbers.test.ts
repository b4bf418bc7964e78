/** A sandbox file may give every other number the facts of one of its lines. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Sandbox } from '../../src/service/sandbox/sandbox.js'
import { readSandboxFile } from '../../src/service/sandbox/sandbox-file.js'
import { n } from '../support/service-subjects.js'
import { testClock } from '../support/test-clock.js'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'callgate-sandbox-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function readFile(otherNumbers: string) {
  const path = join(folder, 'sandbox.yaml')
  const lines =
    'lines:\n  "0100": { about: a, lineClass: wireline }\n' +
    '  "0101": { about: b, lineClass: voip, internalList: { daysAgo: 1 } }\n'
  writeFileSync(path, `listsAsOf: "2026-01-01"\n${lines}${otherNumbers}`)
  return readSandboxFile(path)
}

describe('otherNumbers', () => {
  it.each([
    { number: '2127365001', about: 'a', why: 'a real number' },
    { number: '2125550100', about: 'a', why: 'the line itself' },
    { number: '2125550101', about: 'b', why: 'another line' },
    { number: '2125550102', about: undefined, why: 'a fictional line without facts' },
    { number: '9997365001', about: undefined, why: 'an area code that is not in service' },
    { number: '8007365001', about: undefined, why: 'toll-free' },
  ])('$why has facts $about', ({ number, about }) => {
    const sandbox = new Sandbox({ file: readFile('otherNumbers: "0100"'), clock: testClock() })
    expect(sandbox.line(n(number))?.about).toBe(about)
    const status = sandbox.numberFacts(n(number))?.status
    expect(status === 'ok').toBe(about !== undefined)
  })

  it('gives other numbers none where the file does not name it', () => {
    const sandbox = new Sandbox({ file: readFile(''), clock: testClock() })
    expect(sandbox.line(n('2127365001'))).toBeUndefined()
    expect(sandbox.numberFacts(n('2127365001'))).toBeUndefined()
  })

  it.each(['"0102"', '"0101"', '"0200"', '100'])('cannot be %s', (line) => {
    expect(() => readFile(`otherNumbers: ${line}`)).toThrow('otherNumbers')
  })
})
