/** `verify.mjs` of a bundle: `node verify.mjs [--key <key>] [--head <file>]... [--witness <key>]... [bundle.zip or folder]`. */
import { dirname } from 'node:path'
import { argv, exit, stdout } from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseVerifierKey } from '../../../transparency/signed-note.js'
import { fileSource } from '../../byte-source.js'
import { exitCodes, usageExitCode } from '../../result.js'
import { describeBundle, openBundle, toPlainLine } from './check-bundle.js'
import { verifyBundle } from './verify-bundle.js'

const print = (line: string) => stdout.write(`${toPlainLine(line)}\n`)
const messageOf = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause))

function run(): number {
  let options: ReturnType<typeof readArguments>
  try {
    options = readArguments()
  } catch (cause) {
    print(messageOf(cause))
    print(
      'Usage: node verify.mjs [--key <key>] [--head <file>] [--witness <key>] [bundle.zip or folder]',
    )
    return usageExitCode
  }
  const { path, ...trusted } = options
  let files: ReturnType<typeof openBundle>
  try {
    files = openBundle(path)
  } catch (cause) {
    const result = cause instanceof RangeError ? 'FALSE' : 'NOT CHECKED'
    print(`${result}: ${path}: ${messageOf(cause)}`)
    return exitCodes[result]
  }
  const found = verifyBundle(files, trusted)
  for (const line of describeBundle(found)) print(line)
  return exitCodes[found.result]
}

/** Without `parseArgs`, which the first versions of Node 18 do not have. */
function readArguments() {
  const given = new Map<string, string[]>([
    ['--key', []],
    ['--head', []],
    ['--witness', []],
  ])
  const paths: string[] = []
  const words = argv.slice(2).flatMap((word) => (/^--\w+=/.test(word) ? splitOption(word) : [word]))
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (!word.startsWith('--')) {
      paths.push(word)
      continue
    }
    const values = given.get(word)
    if (values === undefined) throw new RangeError(`unknown option ${word}`)
    const value = words.shift()
    if (value === undefined) throw new RangeError(`${word} must be followed by its value`)
    values.push(value)
  }
  const [keys = [], heads = [], witnesses = []] = given.values()
  if (paths.length > 1) throw new RangeError('give one bundle')
  if (keys.length > 1) throw new RangeError('give one --key')
  const [path = dirname(fileURLToPath(import.meta.url))] = paths
  return {
    path,
    key: keys.map(parseVerifierKey)[0],
    heads: heads.map((name) => ({ name, source: fileSource(name) })),
    witnesses: witnesses.map(parseVerifierKey),
  }
}

function splitOption(word: string): readonly string[] {
  const end = word.indexOf('=')
  return [word.slice(0, end), word.slice(end + 1)]
}

exit(run())
