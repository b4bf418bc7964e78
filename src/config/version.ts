/** The version in package.json, shown by the command line, the metrics and the start log. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from './load.js'

export const version: string = (
  JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }
).version
