/** Where the project is, seen from its sources and from their compiled copy alike. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

const landmark = 'test/e2e/asterisk/provide.sh'

function above(folder: string): string {
  if (existsSync(join(folder, landmark))) return folder
  const parent = dirname(folder)
  if (parent === folder) throw new Error(`no ${landmark} above ${import.meta.dirname}`)
  return above(parent)
}

/** Folder of package.json, `config` and `test`. */
export const projectRoot: string = above(import.meta.dirname)
