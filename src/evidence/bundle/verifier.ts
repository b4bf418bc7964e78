/** `verify.mjs` of a bundle: `node verify.mjs [--key <key>] [--witness <key>]... [bundle.zip or folder]`. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { argv, exit, stdout } from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { parseVerifierKey } from '../../transparency/signed-note.js'
import { verifyBundle } from './verify-bundle.js'
import { readZip } from './zip.js'

function readFolder(folder: string, root = folder): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  for (const one of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, one.name)
    if (one.isDirectory())
      for (const [name, bytes] of readFolder(path, root)) files.set(name, bytes)
    else files.set(relative(root, path).split(sep).join('/'), readFileSync(path))
  }
  return files
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
  let files: Map<string, Buffer>
  try {
    files = statSync(path).isDirectory() ? readFolder(path) : readZip(readFileSync(path))
  } catch (cause) {
    stdout.write(`FALSE: ${path}: ${cause instanceof Error ? cause.message : cause}\n`)
    return 1
  }
  const found = verifyBundle(files, key, witnesses)
  for (const failure of found.failures) stdout.write(`FALSE: ${failure}\n`)
  for (const one of found.unchecked) stdout.write(`NOT CHECKED: ${one}\n`)
  for (const { seq, notice } of found.erased) {
    stdout.write(`record ${seq}: a number was erased from it, as record ${notice} says\n`)
  }
  stdout.write(
    `${found.origin ?? 'unknown log'}: ${found.records} records, ${found.cosigners} cosigners\n`,
  )
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
