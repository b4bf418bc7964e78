/** The installed package: its folder, and its version, which the command line, the metrics and the log show. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** Where the files that ship with the program are: the folder of package.json. */
export const packageRoot = resolve(import.meta.dirname, '../..')

export const version: string = (
  JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }
).version
