/** `verify.mjs` of a bundle: `node verify.mjs [--key <key>] [--witness <key>]... [bundle.zip or folder]`. */
import { readdirSync, statSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { argv, exit, stdout } from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
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

function run(): number {
  let options: ReturnType<typeof readArguments>
  try {
    options = readArguments()
  } catch (cause) {
    stdout.write(
      `${cause instanceof Error ? cause.message : cause}\nUsage: node verify.mjs [--key <key>] [--witness <key>] [bundle.zip or folder]\n`,
    )
    return 3
  }
  const { path, key, witnesses } = options
  let files: Map<string, ByteSource>
  try {
    files = statSync(path).isDirectory() ? readFolder(path) : openZip(openZipFile(path))
  } catch (cause) {
    const isDamaged = cause instanceof RangeError
    const why = cause instanceof Error ? cause.message : cause
    stdout.write(`${isDamaged ? 'FALSE' : 'NOT READ'}: ${path}: ${why}\n`)
    return isDamaged ? 1 : 3
  }
  const found = verifyBundle(files, key, witnesses)
  for (const failure of found.failures) stdout.write(`FALSE: ${failure}\n`)
  for (const one of found.unchecked) stdout.write(`NOT CHECKED: ${one}\n`)
  for (const { name, size, at, by } of found.timestamps) {
    const data = name.replace(/\.tsr$/, '.checkpoint')
    stdout.write(
      `time stamp ${at}: the first ${size} records of the log were signed by then, says ${by}. Whether its certificate is one to trust is not checked: ` +
        `openssl ts -verify -data ${data} -in ${name} -CAfile <certificate of the authority>\n`,
    )
  }
  for (const { seq, notice } of found.erased) {
    stdout.write(`record ${seq}: a number was erased from it, as record ${notice} says\n`)
  }
  stdout.write(
    `${found.origin ?? 'unknown log'}: ${found.records} records, ${found.cosigners} cosigners\n`,
  )
  const { rows, stored } = found.state
  if (rows > 0) {
    stdout.write(
      `state: ${rows} rows; a signed record says who stored ${stored} of them and when, and the others are as the database said\n`,
    )
  }
  if (found.failures.length > 0) {
    stdout.write('FALSE: something in this bundle is not as it was signed.\n')
    return 1
  }
  stdout.write(
    found.unchecked.length > 0
      ? 'NOT PROVEN: nothing is false, but not everything could be checked.\n'
      : 'PROVEN: every record is in the signed log, and every file is the one that was packed.\n',
  )
  return found.unchecked.length > 0 ? 2 : 0
}

function readArguments() {
  const { values, positionals } = parseArgs({
    args: argv.slice(2),
    options: { key: { type: 'string' }, witness: { type: 'string', multiple: true } },
    allowPositionals: true,
  })
  if (positionals.length > 1) throw new RangeError('give one bundle')
  const path = positionals[0] ?? dirname(fileURLToPath(import.meta.url))
  statSync(path)
  return {
    path,
    key: values.key === undefined ? undefined : parseVerifierKey(values.key),
    witnesses: (values.witness ?? []).map(parseVerifierKey),
  }
}

exit(run())
