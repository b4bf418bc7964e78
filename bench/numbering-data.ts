/** Imports the public numbering files if they are available; returns what was used. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { importNumbering, importOcnClasses } from '../src/data/numbering/import/numbering-import.js'
import { systemClock } from '../src/runtime/runtime.js'

const files = {
  nanpa: 'nanpa/CoCodeAssignment_Utilized_AllStates_Public.zip',
  cnac: 'cnac/COCodeStatus_ALL.zip',
  ocn: 'linetype/ocn-class.csv',
} as const

/** `folder` gets the prepared files. The downloads are not part of this project. */
export async function importNumberingIfPresent(folder: string): Promise<string> {
  const source = resolve(process.env.CALLGATE_TEST_DATA ?? '../shared/data')
  const pathOf = (file: keyof typeof files) => {
    const path = resolve(source, files[file])
    return existsSync(path) ? path : undefined
  }
  const [nanpa, cnac, ocn] = [pathOf('nanpa'), pathOf('cnac'), pathOf('ocn')]
  if (!nanpa && !cnac) return `area codes alone (no prefix files in ${source})`
  const { US, CA } = await importNumbering({ nanpa, cnac, folder, clock: systemClock })
  if (ocn) await importOcnClasses({ file: ocn, folder })
  const classes = ocn ? 'imported' : 'by company name'
  return `${US?.accepted ?? 0} US and ${CA?.accepted ?? 0} Canadian prefixes, line classes ${classes}`
}
