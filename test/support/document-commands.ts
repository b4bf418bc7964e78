/** Runs the commands of documents as a reader would: in one shell, in order, in a fresh copy of the program. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  cpSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findFreePorts } from './free-port.js'

const root = join(import.meta.dirname, '../..')

export interface DocumentCommand {
  /** File and line, such as `README.md:42`. */
  readonly place: string
  readonly text: string
  /** What follows `# -> `: `...` is any text, `<today>` the UTC date. */
  readonly expected: string | undefined
}

/** Of the blocks whose first line matches. A command ends with the first line that does not end in a backslash. */
export function readDocumentCommands(path: string, fence: RegExp): readonly DocumentCommand[] {
  const found: { place: string; text: string; expected: string | undefined }[] = []
  let inBlock = false
  let continued = false
  for (const [index, line] of readFileSync(join(root, path), 'utf8').split('\n').entries()) {
    const last = found.at(-1)
    if (!inBlock) inBlock = fence.test(line)
    else if (line === '```') inBlock = false
    else if (continued && last) last.text += `\n${line}`
    else if (line.startsWith('# -> ') && last) last.expected = line.slice('# -> '.length)
    else if (line !== '' && !line.startsWith('#')) {
      found.push({ place: `${path}:${index + 1}`, text: line, expected: undefined })
    }
    continued = inBlock && line.endsWith('\\')
  }
  return found
}

interface RunOptions {
  /** Folders with programs that the commands need, before those of `PATH`. */
  readonly provide?: () => Promise<readonly string[]>
}

/** One test for each command: it succeeds, and prints what is expected. */
export function testDocumentCommands(
  title: string,
  commands: readonly DocumentCommand[],
  { provide = async () => [] }: RunOptions = {},
): void {
  describe(title, () => {
    let folder = ''
    const results = new Map<number, { output: string; status: string }>()

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'callgate-documents-'))
      const all = await runAll(commands, folder, await provide())
      const ends = all.matchAll(/(.*?)\n@@ (\d+) (\d+)\n/gs)
      for (const [, output = '', index, status = ''] of ends) {
        results.set(Number(index), { output, status })
      }
    }, maxRunMs + 60_000)
    afterAll(() => rmSync(folder, { recursive: true, force: true }))

    it.each(commands.map((command, index) => [command.place, command, index] as const))(
      '%s',
      (_place, { text, expected }, index) => {
        const result = results.get(index)
        expect(result?.status, `${text}\n${result?.output}`).toBe('0')
        if (expected !== undefined) expect(result?.output).toMatch(toPattern(expected))
      },
    )
  })
}

/** A command that waits for something in vain ends then, and those after it have no result. */
const maxRunMs = 600_000

async function runAll(
  commands: readonly DocumentCommand[],
  folder: string,
  programs: readonly string[],
): Promise<string> {
  for (const name of ['dist', 'config', 'scripts', 'package.json']) {
    cpSync(join(root, name), join(folder, name), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const free = await findFreePorts(namedPorts.length)
  const ports = new Map(namedPorts.map((name, index) => [name, String(free[index])]))
  const replacePorts = (text: string) => text.replace(namedPort, (port) => ports.get(port) ?? port)
  const scraped = join(folder, 'config/prometheus/prometheus.yml')
  writeFileSync(scraped, replacePorts(readFileSync(scraped, 'utf8')))
  const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('CALLGATE_'))
  const outputFile = join(folder, 'output.txt')
  const output = openSync(outputFile, 'w')
  const shell = spawn('bash', ['-c', replacePorts(writeScript(commands))], {
    cwd: folder,
    env: {
      ...Object.fromEntries(clean),
      PATH: [...programs, process.env.PATH].join(delimiter),
      CALLGATE_HTTP_PORT: ports.get('8480'),
      // What is answered counts here, and not how busy the machine is.
      CALLGATE_GATE_DEADLINE_MS: '20000',
    },
    stdio: ['ignore', output, output],
  })
  const giveUp = setTimeout(() => shell.kill('SIGTERM'), maxRunMs)
  closeSync(output)
  await once(shell, 'exit')
  clearTimeout(giveUp)
  return readFileSync(outputFile, 'utf8')
}

/** Ports that the documents name; each run has others. */
const namedPorts = ['8480', '8481', '8490', '9095']
const namedPort = new RegExp(`\\b(?:${namedPorts.join('|')})\\b`, 'g')

/**
 * Runs every command and ends what it started, also when a signal ends the shell. The packages are
 * those of this checkout, and the tests would run this test, so `npm` leaves both out.
 */
function writeScript(commands: readonly DocumentCommand[]): string {
  return [
    'set -m',
    "trap 'for job in $(jobs -p); do kill -- -$job; done; wait' EXIT",
    'trap exit TERM',
    'npm() { case "$*" in ci|test*|"run test"*|"run conformance"*) ;; *) command npm "$@";; esac; }',
    ...commands.flatMap(({ text }, index) => [text, `printf '\\n@@ ${index} %s\\n' "$?"`]),
  ].join('\n')
}

function toPattern(expected: string): RegExp {
  const today = new Date().toISOString().slice(0, '2026-11-22'.length)
  const parts = expected.replaceAll('<today>', today).split('...')
  return new RegExp(
    parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[\\s\\S]*'),
  )
}
