/**
 * The commands in the documents work as printed: every `sh` block of the README, then every block of
 * a page in docs that begins with "```sh run", in one shell, in order, in a fresh copy of the program.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  cpSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')

interface Command {
  /** File and line, such as `README.md:42`. */
  readonly place: string
  readonly text: string
  /** What follows `# -> `: `...` is any text, `<today>` the UTC date. */
  readonly expected: string | undefined
}

const runnable: ReadonlyMap<string, RegExp> = new Map([
  ['README.md', /^```sh\b/],
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => [join('docs', name), /^```sh run$/] as const),
])

const commands = [...runnable].flatMap(([path, fence]) => readCommands(path, fence))

/** A command ends with the first line that does not end in a backslash. */
function readCommands(path: string, fence: RegExp): Command[] {
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

/** Ports that the documents name, each with a free one for this run. */
async function findFreePorts(): Promise<ReadonlyMap<string, string>> {
  const ports = new Map<string, string>()
  const servers = ['8480', '8481', '8490'].map((name) => ({ name, server: createServer() }))
  for (const { name, server } of servers) {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    ports.set(name, String((server.address() as { port: number }).port))
  }
  for (const { server } of servers) await once(server.close(), 'close')
  return ports
}

/**
 * Runs every command and ends what it started, also when a signal ends the shell. The packages are
 * those of this checkout, and the tests would run this test, so `npm` leaves both out.
 */
function writeScript(ports: ReadonlyMap<string, string>): string {
  const parts = [
    'set -m',
    "trap 'for job in $(jobs -p); do kill -- -$job; done; wait' EXIT",
    'npm() { case "$*" in ci|test*|"run test"*|"run conformance"*) ;; *) command npm "$@";; esac; }',
  ]
  for (const [index, { text }] of commands.entries()) {
    const local = text.replace(/\b84[89][01]\b/g, (port) => ports.get(port) ?? port)
    parts.push(local, `printf '\\n@@ ${index} %s\\n' "$?"`)
  }
  return parts.join('\n')
}

async function runAll(folder: string): Promise<string> {
  for (const name of ['dist', 'config', 'scripts', 'package.json']) {
    cpSync(join(root, name), join(folder, name), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const ports = await findFreePorts()
  const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('CALLGATE_'))
  const outputFile = join(folder, 'output.txt')
  const output = openSync(outputFile, 'w')
  const shell = spawn('bash', ['-c', writeScript(ports)], {
    cwd: folder,
    env: {
      ...Object.fromEntries(clean),
      CALLGATE_HTTP_PORT: ports.get('8480'),
      // What is answered counts here, and not how busy the machine is.
      CALLGATE_GATE_DEADLINE_MS: '20000',
    },
    stdio: ['ignore', output, output],
  })
  closeSync(output)
  await once(shell, 'exit')
  return readFileSync(outputFile, 'utf8')
}

function toPattern(expected: string): RegExp {
  const today = new Date().toISOString().slice(0, '2026-11-22'.length)
  const parts = expected.replaceAll('<today>', today).split('...')
  return new RegExp(
    parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[\\s\\S]*'),
  )
}

describe('the commands in the documents', () => {
  let folder = ''
  const results = new Map<number, { output: string; status: string }>()

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'callgate-documents-'))
    const all = await runAll(folder)
    const ends = all.matchAll(/(.*?)\n@@ (\d+) (\d+)\n/gs)
    for (const [, output = '', index, status = ''] of ends) {
      results.set(Number(index), { output, status })
    }
  }, 180_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it.each(commands.map((command, index) => [command.place, command, index] as const))(
    '%s',
    (_place, { text, expected }, index) => {
      const result = results.get(index)
      expect(result?.status, `${text}\n${result?.output}`).toBe('0')
      if (expected !== undefined) expect(result?.output).toMatch(toPattern(expected))
    },
  )

  it('are many', () => {
    expect(commands.length).toBeGreaterThan(30)
  })
})
