/** `verify.mjs` of a bundle: `node verify.mjs [--key <key>] [--witness <key>]... [bundle.zip or folder]`. */
import { readdirSync, statSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { argv, exit, stdout } from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseVerifierKey } from '../../transparency/signed-note.js'
import { type ByteSource, fileSource } from './byte-source.js'
import { verifyBundle } from './verify-bundle.js'
import { openZip } from './zip.js'

function readFolder(folder: string, root = folder): Map<string, ByteSource> {
  const files = new Map<string, ByteSource>()
  for (const one of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, one.name)
    if (one.isDirectory()) for (const [name, file] of readFolder(path, root)) files.set(name, file)
    else files.set(relative(root, path).split(sep).join('/'), fileSource(path))
  }
  return files
}

/** Throws `Error` if it is no zip file; what is wrong within one is for {@link openZip} to say. */
function openZipFile(path: string): ByteSource {
  const zip = fileSource(path)
  const start = zip.read(0, 4)
  if (start.length < 4 || start.readUInt32LE(0) !== 0x04034b50) throw new Error('it is no zip file')
  return zip
}

/** Names of files and logs are of whoever made the bundle, and must not look like a line of ours, or move the cursor. */
function print(line: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  stdout.write(`${line.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, '?')}\n`)
}

function run(): number {
  let options: ReturnType<typeof readArguments>
  try {
    options = readArguments()
  } catch (cause) {
    print(cause instanceof Error ? cause.message : String(cause))
    print('Usage: node verify.mjs [--key <key>] [--witness <key>] [bundle.zip or folder]')
    return 3
  }
  const { path, key, witnesses } = options
  let files: Map<string, ByteSource>
  try {
    files = statSync(path).isDirectory() ? readFolder(path) : openZip(openZipFile(path))
  } catch (cause) {
    const isDamaged = cause instanceof RangeError
    const why = cause instanceof Error ? cause.message : cause
    print(`${isDamaged ? 'FALSE' : 'NOT READ'}: ${path}: ${why}`)
    return isDamaged ? 1 : 3
  }
  const found = verifyBundle(files, key, witnesses)
  for (const failure of found.failures) print(`FALSE: ${failure}`)
  for (const one of found.unchecked) print(`NOT CHECKED: ${one}`)
  for (const { name, size, at, by } of found.timestamps) {
    const data = name.replace(/\.tsr$/, '.checkpoint')
    print(
      `time stamp ${at}: the first ${size} records of the log were signed by then, says ${by}. Whether its certificate is one to trust is not checked: ` +
        `openssl ts -verify -data ${data} -in ${name} -CAfile <certificate of the authority>`,
    )
  }
  for (const { seq, notice } of found.erased) {
    const rest = 'what else it says now is not proven'
    print(`record ${seq}: a number was erased from it, as record ${notice} says; ${rest}`)
  }
  print(`${found.origin ?? 'unknown log'}: ${found.records} records, ${found.cosigners} cosigners`)
  const { rows, stored } = found.state
  if (rows > 0) {
    print(
      `state: ${rows} rows; a signed record says who stored ${stored} of them and when, and the others are as the database said`,
    )
  }
  if (found.failures.length > 0) {
    print('FALSE: something in this bundle is not as it was signed.')
    return 1
  }
  if (found.unchecked.length > 0) {
    print('NOT PROVEN: nothing is false, but not everything could be checked.')
    return 2
  }
  const rest = 'Nobody has signed the other files, such as report.html: records.txt counts'
  print(`PROVEN: every record of records.txt is in the signed log. ${rest}.`)
  return 0
}

/** Without `parseArgs`, which the first versions of Node 18 do not have. */
function readArguments() {
  const given = { key: [] as string[], witness: [] as string[], paths: [] as string[] }
  const words = argv.slice(2).flatMap((word) => (/^--\w+=/.test(word) ? splitOption(word) : [word]))
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (!word.startsWith('--')) given.paths.push(word)
    else {
      const value = words.shift()
      if (word !== '--key' && word !== '--witness') throw new RangeError(`unknown option ${word}`)
      if (value === undefined) throw new RangeError(`${word} must be followed by a key`)
      given[word === '--key' ? 'key' : 'witness'].push(value)
    }
  }
  if (given.paths.length > 1) throw new RangeError('give one bundle')
  if (given.key.length > 1) throw new RangeError('give one --key')
  const [path = dirname(fileURLToPath(import.meta.url))] = given.paths
  statSync(path)
  const [key] = given.key.map(parseVerifierKey)
  return { path, key, witnesses: given.witness.map(parseVerifierKey) }
}

function splitOption(word: string): readonly string[] {
  const end = word.indexOf('=')
  return [word.slice(0, end), word.slice(end + 1)]
}

exit(run())
