/** The documents say what the program does: tables of reasons and of the sandbox, links. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { checkNames, checks, reasonCodes, reasons } from '../src/domain/checks.js'
import { callKinds } from '../src/domain/decision.js'
import { countLossFirst } from '../src/errors.js'
import { type TableRow, tableRows } from './support/markdown-table.js'
import { openTestCallgate, type TestCallgate } from './support/test-callgate.js'

const root = join(import.meta.dirname, '..')
const countLossName = '$' + '{countLossFirst}'
const gatePage = join(root, 'docs/gate.md')
const sandboxPage = join(root, 'docs/sandbox.md')

/** A cell without the marks of code. */
const cell = (row: TableRow, name: string): string => (row.get(name) ?? '').replaceAll('`', '')
const rowsWith = (page: string, column: string): TableRow[] =>
  tableRows(page).filter((row) => row.has(column))

describe('README', () => {
  it('is short enough to read at once', () => {
    expect(readFileSync(join(root, 'README.md'), 'utf8').split('\n').length).toBeLessThan(200)
  })
})

describe('advice to restore a backup', () => {
  const advice =
    /\brestore (?:it|them|the|a)\b[^.|]{0,80}\b(?:backup|copy)\b|\brestored from a backup/i
  const findAdvice = (texts: readonly string[]) => texts.filter((text) => advice.test(text))
  const withoutCount = (texts: readonly string[]) =>
    findAdvice(texts).filter((text) => !text.includes('backup loss'))
  const read = (folder: string) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:ts|md|yml|yaml)$/.test(name) && !name.startsWith('adr'))
      .map((name) => readFileSync(join(root, folder, name), 'utf8'))

  it('says in each document first how to count what that would lose', () => {
    const blocks = ['docs', 'config']
      .flatMap(read)
      .flatMap((text) => text.split(/\n\n|\n(?=\s*- |\|)/))
    expect(findAdvice(blocks).length).toBeGreaterThan(8)
    expect(withoutCount(blocks)).toEqual([])
  })

  it('says so in each message', () => {
    const messages = read('src').flatMap((text) =>
      [...text.matchAll(/(['"`])(?:(?!\1|\n).)*\1/g)].map(([message]) =>
        message.replaceAll(countLossName, countLossFirst),
      ),
    )
    expect(findAdvice(messages).length).toBeGreaterThan(15)
    // The command that does it says what it does.
    expect(withoutCount(messages)).toEqual([
      "'restore a backup into an empty or missing folder'",
      "'restore a backup into the empty or missing folder that CALLGATE_DATA_DIR names, and into the empty '",
    ])
  })
})

describe('the glossary', () => {
  it('has at most 40 terms, in order', () => {
    const terms = rowsWith(join(root, 'docs/architecture.md'), 'Term').map((row) =>
      cell(row, 'Term'),
    )
    expect(terms.length).toBeGreaterThan(20)
    expect(terms.length).toBeLessThanOrEqual(40)
    expect(terms).toEqual(terms.toSorted((one, other) => one.localeCompare(other, 'en')))
  })
})

describe('the pages of the gate and of the sandbox', () => {
  it('list every reason with its text, in order of rank', () => {
    const listed = rowsWith(gatePage, 'Reason').map((row) => [
      cell(row, 'Reason'),
      cell(row, 'Meaning'),
    ])
    expect(listed).toEqual(reasonCodes.map((code) => [code, reasons[code].text]))
  })

  it('list every check', () => {
    const listed = rowsWith(gatePage, 'Check').map((row) => cell(row, 'Check'))
    expect(listed).toEqual(checkNames)
  })

  it('name the checks of every call as the settings do', () => {
    const settings = Object.values(checks).flatMap(({ judges, setting }) =>
      judges === 'answer' ? [setting] : [],
    )
    const sentence = /The checks are called (.*) in the settings/.exec(
      readFileSync(join(root, 'docs/policy.md'), 'utf8'),
    )
    expect(sentence?.[1]?.match(/\w+(?=`)/g)).toEqual(settings)
    const example = readFileSync(join(root, 'config/callgate.yaml'), 'utf8')
    expect(example.match(/^# {3}\w+(?=: \{ mode: enforce)/gm)).toEqual(
      settings.map((name) => `#   ${name}`),
    )
  })

  it('list every line of the sandbox with its facts', () => {
    const { lines } = parse(readFileSync(join(root, 'config/sandbox.yaml'), 'utf8')) as {
      lines: Record<string, { about: string }>
    }
    const listed = rowsWith(sandboxPage, 'Line').map((row) => [
      cell(row, 'Line'),
      cell(row, 'Facts'),
    ])
    expect(listed).toEqual(Object.entries(lines).map(([line, { about }]) => [line, about]))
  })

  describe('say of each sandbox line', () => {
    let testCallgate: TestCallgate
    beforeAll(async () => {
      testCallgate = await openTestCallgate()
    })
    afterAll(() => testCallgate.end())

    it.each(rowsWith(sandboxPage, 'Line').map((row) => [cell(row, 'Line'), row] as const))(
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
