/** Every command of callgate in a document is one that the program takes, and ports and log fields are its own. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Command, CommanderError } from 'commander'
import { beforeAll, describe, expect, it } from 'vitest'
import { allCommands } from '../src/commands/all-commands.js'
import { loadSettings } from '../src/config/load.js'
import { createLogger } from '../src/observability/log.js'

const root = join(import.meta.dirname, '..')

const below = (folder: string, pattern: RegExp) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((path) => join(folder, path))
    .filter((path) => pattern.test(path) && statSync(join(root, path)).isFile())

const pages = ['README.md', ...below('docs', /\.(?:md|http)$/)]
const configFiles = below('config', /\.(?:ya?ml|conf|cfg|xml|md|service|container)$/)

interface DocumentLine {
  /** File and line, such as `README.md:42`. */
  readonly place: string
  readonly words: readonly string[]
  /** Prose names commands without their arguments. */
  readonly isWhole: boolean
}

/** The words of each command of a shell line; `#` begins a comment. */
function splitCommands(line: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]]
  const part =
    /\s+|(#.*)|(\|\||&&|[|;&()]|\d?>>?(?:&\d)?\s*\S*|<\s+\S+)|((?:<[^>\s]*>|\$\([^)]*\)|"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s|;&()<>"'\\])+)/gy
  let isWord = false
  for (const match of line.matchAll(part)) {
    const [text, comment, operator, word] = match
    if (comment !== undefined && !isWord) break
    isWord = word !== undefined || comment !== undefined
    if (operator !== undefined && /^(?:\|\||&&|[|;&()])$/.test(operator)) commands.push([])
    else if (isWord) commands.at(-1)?.push(text.replace(/["'\\]/g, ''))
  }
  return commands
}

const known = new Set(allCommands.map(([name]) => name))

/** The arguments of `callgate` or `node dist/main.js`, which may follow variables, `sudo -u` and the like. */
function findArguments(words: readonly string[], isProse: boolean): readonly string[] | undefined {
  const isProgram = (word: string, index: number) =>
    /(?:^|\/)dist\/main\.js$/.test(word) || (word === 'callgate' && (index === 0 || !isProse))
  const at = words.findIndex(isProgram)
  const before = words.slice(0, at)
  const isCommand = before.every((word) =>
    /^(?:\$|node|sudo|nice|exec|env|-u|if|!|time|run:|-.*|\w+=.*|callgate)$/.test(word),
  )
  const rest = words.slice(at + 1)
  const first = rest[0] === '--config' ? rest[2] : rest[0]
  return at !== -1 && isCommand && first !== undefined ? rest : undefined
}

function readCommands(path: string): readonly DocumentLine[] {
  const found: DocumentLine[] = []
  let fence: string | undefined
  let pending = ''
  const add = (place: string, text: string, isWhole: boolean) => {
    for (const command of splitCommands(text)) {
      const words = findArguments(command, !isWhole)
      if (words) found.push({ place, words, isWhole })
    }
  }
  for (const [index, line] of readFileSync(join(root, path), 'utf8').split('\n').entries()) {
    const place = `${path}:${index + 1}`
    const mark = /^\s*```(\S*)/.exec(line)
    if (mark) fence = fence === undefined ? mark[1] : undefined
    else if (fence !== undefined) {
      pending += line.replace(/\\$/, ' ')
      if (line.endsWith('\\')) continue
      if (/^(?:sh|bash|text|yaml)$/.test(fence)) add(place, pending, true)
      pending = ''
    }
    if (fence !== undefined) continue
    for (const [, code = ''] of line.matchAll(/`((?:callgate|node dist\/main\.js) [^`]+)`/g)) {
      add(place, code, false)
    }
    if (/^ {4}callgate /.test(line)) add(place, line, true)
  }
  return found
}

/** Comments of settings and dialplans name commands in the middle of a sentence. */
function readComments(path: string): readonly DocumentLine[] {
  const lines = readFileSync(join(root, path), 'utf8').split('\n')
  return lines.flatMap((line, index) => {
    const comment = /(?:#|;|\/\/|<!--)(.*)$/.exec(line)?.[1] ?? ''
    return [...comment.matchAll(/\bcallgate ((?:[a-z][\w-]*|--?[a-z][\w-]*)(?: [^\s`,.;:()]+)*)/g)]
      .map(([, rest = '']) => rest.split(' '))
      .filter(([first = '']) => known.has(first))
      .map((words) => ({ place: `${path}:${index + 1}`, words, isWhole: false }))
  })
}

let program: Command

beforeAll(async () => {
  program = new Command('callgate')
    .option('--config <file>', 'settings file')
    .option('--person <name>', 'who it is')
    .version('0')
    .exitOverride()
  const terminal = { out: () => undefined, note: () => undefined, interactive: false }
  for (const [, , load] of allCommands) (await load())(program, terminal)
  prepare(program)
})

/** Parses and does nothing. */
function prepare(command: Command): void {
  command.exitOverride().configureOutput({ writeOut: () => undefined, writeErr: () => undefined })
  if (command.commands.length === 0 || hasAction(command)) command.action(() => undefined)
  for (const one of command.commands) prepare(one)
}

const hasAction = (command: Command) => Reflect.get(command, '_actionHandler') !== null

/** What the program has against the words, or `undefined`. */
function findProblem({ words, isWhole }: DocumentLine): string | undefined {
  const given = isWhole ? words : trimProse(words)
  const filled = given.map((word, index) => fillChoice(given, index) ?? word)
  try {
    program.parse(filled, { from: 'user' })
    return undefined
  } catch (cause) {
    if (!(cause instanceof CommanderError)) throw cause
    const isLeftOut =
      /^commander\.(?:missingArgument|missingMandatoryOptionValue|optionMissingArgument)$/.test(
        cause.code,
      )
    const isHelp = /^commander\.(?:help|helpDisplayed|version)$/.test(cause.code)
    return isHelp || (!isWhole && isLeftOut) ? undefined : cause.message
  }
}

/** `<kind>` stands for any of the choices. */
function fillChoice(words: readonly string[], index: number): string | undefined {
  if (!/^<.*>$/.test(words[index] ?? '')) return undefined
  const { options } = findCommand(words)
  const choices = options.find(({ long }) => long === words[index - 1])?.argChoices
  return choices?.[0]
}

function findCommand(words: readonly string[]): Command {
  let command = program
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word)
    if (!next) break
    command = next
  }
  return command
}

/** A sentence may go on after a command: only the words that belong to one are looked at. */
function trimProse(words: readonly string[]): readonly string[] {
  return words.map((word) => (word === '...' || word === '…' ? '' : word)).filter(Boolean)
}

describe('every command of callgate', () => {
  it('in a page is one that the program takes', () => {
    const commands = pages.flatMap(readCommands)
    expect(commands.length).toBeGreaterThan(300)
    const problems = commands.flatMap((one) => {
      const problem = findProblem(one)
      return problem === undefined ? [] : [`${one.place}: ${one.words.join(' ')}: ${problem}`]
    })
    expect(problems).toEqual([])
  })

  it('in a comment of the configuration is one that the program takes', () => {
    const commands = configFiles.flatMap(readComments)
    expect(commands.length).toBeGreaterThan(5)
    const problems = commands.flatMap((one) => {
      const problem = findProblem(one)
      return problem === undefined ? [] : [`${one.place}: ${one.words.join(' ')}: ${problem}`]
    })
    expect(problems).toEqual([])
  })

  it.each([
    ['lists --colour', true],
    ['list', true],
    ['check', true],
    ['check 2125550100 --kind robot', true],
    ['check 2125550100 3035550100', true],
    ['keys make', false],
    ['keys create --fro ai-agent', false],
  ])('is found wrong: %s', (text, isWhole) => {
    expect(findProblem({ place: '', words: text.split(' '), isWhole })).toBeDefined()
  })
})

/** Where a program listens by default: the settings and the options of commands say so. */
function listOwnPorts(): ReadonlySet<number> {
  const { http } = loadSettings({ file: join(root, 'config/callgate.yaml'), environment: {} })
  const options = [program, ...program.commands].flatMap((command) => command.options)
  const listening = options.flatMap(({ long, defaultValue }) => {
    const port = /^--(?:listen|port)$/.test(long ?? '') && /(\d+)$/.exec(String(defaultValue))?.[1]
    return port ? [Number(port)] : []
  })
  return new Set([http.port, ...listening])
}

/** Second servers of an example, and listeners without a default. */
const portsOfExamples = [8_481, 8_486, 8_487]
/** Asterisk's ARI, Prometheus of an example, a collector of spans. */
const portsOfOthers = [8_088, 9_095, 4_318]

it('addresses of this machine have a port that something has', () => {
  const own = listOwnPorts()
  expect([...own]).toEqual(expect.arrayContaining([8_480, 8_485, 8_490]))
  const wrong = pages
    .filter((path) => !path.startsWith('docs/adr/'))
    .flatMap((path) =>
      [
        ...readFileSync(join(root, path), 'utf8').matchAll(
          /(?:127\.0\.0\.1|localhost):(\d+)(\/(?:v1|app|oauth|docs|console|metrics|healthz|readyz)\b)?/g,
        ),
      ]
        .filter(([, text, isOurs]) => {
          const port = Number(text)
          if (own.has(port) || portsOfExamples.includes(port)) return false
          return isOurs !== undefined || !portsOfOthers.includes(port)
        })
        .map(([address]) => `${path}: ${address}`),
    )
  expect(wrong).toEqual([])
})

it('fields of log lines are called as in the log', () => {
  const lines: string[] = []
  createLogger('info', { write: (line) => void lines.push(line) }).info('started')
  const fields = Object.keys(JSON.parse(lines[0] ?? '') as object)
  expect(fields).toEqual(['level', 'time', 'message'])
  const named = pages.flatMap((path) =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .filter((line) => /journalctl|docker logs|callgate\.log/.test(line))
      .flatMap((line) => [...line.matchAll(/"(\w+)":"/g)].map(([, name]) => `${path}: ${name}`)),
  )
  expect(named.length).toBeGreaterThan(0)
  expect(named.filter((one) => !fields.some((field) => one.endsWith(`: ${field}`)))).toEqual([])
})
