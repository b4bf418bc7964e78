import { expect, it } from 'vitest'
import {
  classifyLine,
  type OcnClasses,
  readOcnClasses,
} from '../../src/data/numbering/line-class.js'
import { useTempFolder } from './temp-folder.js'

const temp = useTempFolder()
const classes: OcnClasses = new Map([
  ['ZZ01', 'wireline'],
  ['ZZ02', 'voip'],
])

const table: [ocn: string, company: string, expected: string][] = [
  ['ZZ01', 'EXAMPLE WIRELESS LLC', 'wireline'],
  ['ZZ02', 'EXAMPLE TEL CO', 'voip'],
  ['ZZ03', 'EXAMPLE TEL CO', 'unknown'],
  ['ZZ03', 'CELLCO PARTNERSHIP DBA EXAMPLE', 'wireless'],
  ['ZZ03', 'Example Mobile Inc.', 'wireless'],
  ['ZZ03', 'Example Mobility', 'wireless'],
  ['ZZ03', 'SPRINT SPECTRUM L.P.', 'wireless'],
  ['ZZ03', 'USA MOBILITY WIRELESS, INC.', 'unknown'],
  ['ZZ03', 'SPOK, INC. MOBILE', 'unknown'],
  ['ZZ03', 'AUTOMOBILES OF EXAMPLE', 'unknown'],
]
it.each(table)('%s %s is %s', (ocn, company, expected) => {
  expect(classifyLine({ ocn, company }, classes)).toBe(expected)
})

it('no carrier is unknown, and no import leaves the names alone', () => {
  expect(classifyLine(undefined, classes)).toBe('unknown')
  expect(readOcnClasses(temp.path).size).toBe(0)
})
