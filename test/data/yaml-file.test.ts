import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { readYamlFile } from '../../src/data/files/yaml-file.js'
import { useTempFolder } from './temp-folder.js'

const folder = useTempFolder()
const read = (text: string): unknown => readYamlFile(folder.write('some.yaml', text))

const scalars = [
  ...['0', '-0', '014', '0o14', '0x1F', '1_000', '1e3', '.5', '1.0', '00', '+12125550106', '12:30'],
  ...['.inf', '-.INF', '.nan', '~', 'null', 'Null', 'True', 'FALSE', 'yes', 'no', 'on', 'off', 'Y'],
  ...['2026-11-23', '2026-11-23T17:00:00Z', '08:00-21:00', '"a\\u0041"', "'it''s'", '=', '<<', ''],
]

it.each(scalars)('%s is what another YAML 1.2 parser reads', (text) => {
  for (const document of [`a: ${text}\n`, `- ${text}\n`, `{ a: [${text}], b: { c: ${text} } }\n`])
    expect([document, read(document)]).toEqual([document, parse(document)])
})

it.each([
  ['an empty file', ''],
  ['two documents', 'a: 1\n---\na: 2\n'],
  ['a key that comes twice', 'a: { b: 1, b: 2 }\n'],
  ['a tag', 'a: !!binary aGk=\n'],
  ['an alias without its anchor', 'a: *b\n'],
])('%s is refused with the path', (_, text) => {
  expect(() => read(text)).toThrow(/some\.yaml: /)
})
