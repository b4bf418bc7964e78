/** The documents say what the program does: generated pages, tables of the README, links. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { callKinds, reasonTexts } from '../src/domain/decision.js'
import { type TableRow, tableRows } from './support/markdown-table.js'
import { openTestCallgate, type TestCallgate } from './support/test-callgate.js'

const root = join(import.meta.dirname, '..')
const readme = join(root, 'README.md')
const run = promisify(execFile)

/** A cell without the marks of code. */
const cell = (row: TableRow, name: string): string => (row.get(name) ?? '').replaceAll('`', '')
const rowsWith = (column: string): TableRow[] => tableRows(readme).filter((row) => row.has(column))

describe('generated pages', () => {
  it('are those the code generates', async () => {
    const script = join(root, 'scripts/generate-docs.mjs')
    await expect(run(process.execPath, [script, '--check'])).resolves.toMatchObject({ stderr: '' })
  })
})

describe('README', () => {
  it('lists every reason with its text, in order of rank', () => {
    const listed = rowsWith('Reason').map((row) => [cell(row, 'Reason'), cell(row, 'Meaning')])
    expect(listed).toEqual(Object.entries(reasonTexts))
  })

  it('lists every line of the sandbox with its facts', () => {
    const { lines } = parse(readFileSync(join(root, 'config/sandbox.yaml'), 'utf8')) as {
      lines: Record<string, { about: string }>
    }
    const listed = rowsWith('Line').map((row) => [cell(row, 'Line'), cell(row, 'Facts')])
    expect(listed).toEqual(Object.entries(lines).map(([line, { about }]) => [line, about]))
  })

  describe('says of each sandbox line', () => {
    let testCallgate: TestCallgate
    beforeAll(async () => {
      testCallgate = await openTestCallgate()
    })
    afterAll(() => testCallgate.end())

    it.each(rowsWith('Line').map((row) => [cell(row, 'Line'), row] as const))(
      'what becomes of a call to %s',
      async (line, row) => {
        const number = `212555${line}`
        const scrub = await testCallgate.get(`/app/main/rpc/scrub?phoneList=${number}`)
        expect((await scrub.text()).split(',')[1]).toBe(cell(row, 'Letter'))
        for (const callKind of callKinds) {
          const answer = await testCallgate.postJson('/v1/decisions', { number, callKind })
          const { decision, reason } = (await answer.json()) as Record<string, string>
          const expected = cell(row, callKind)
          expect(decision === 'allow' ? 'allow' : reason, callKind).toBe(expected)
        }
      },
    )
  })
})

describe('documents', () => {
  const inDocs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  const documents = [
    'README.md',
    'CHANGELOG.md',
    ...inDocs.map((path) => join('docs', path)),
  ].filter((path) => path.endsWith('.md'))

  it('link to files that exist', () => {
    const missing = documents.flatMap((path) => {
      const text = readFileSync(join(root, path), 'utf8')
      return [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
        .map((match) => match[1] ?? '')
        .filter((target) => !existsSync(join(root, dirname(path), target)))
        .map((target) => `${path} links to ${target}`)
    })
    expect(missing).toEqual([])
  })

  it('name files of the tree that exist', () => {
    const missing = documents.flatMap((path) => {
      const text = readFileSync(join(root, path), 'utf8')
      const named = [...text.matchAll(/`((?:src|config|test|scripts|docs|bench)\/[\w./-]+)`/g)]
      return named
        .map((match) => match[1] ?? '')
        .filter((name) => !existsSync(join(root, name)))
        .map((name) => `${path} names ${name}`)
    })
    expect(missing).toEqual([])
  })
})
