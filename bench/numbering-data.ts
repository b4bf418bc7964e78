/** Imports the public numbering files where they are at hand; says what was used. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { importNumbering, importOcnClasses } from '../src/data/numbering/numbering-import.js'
import { systemClock } from '../src/domain/clock.js'

const files = {
  nanpa: 'nanpa/CoCodeAssignment_Utilized_AllStates_Public.zip',
  cnac: 'cnac/COCodeStatus_ALL.zip',
  ocn: 'linetype/ocn-class.csv',
} as const

/** `folder` is where the prepared files go. The downloads are not ours to ship. */
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
  return `${US?.kept ?? 0} US and ${CA?.kept ?? 0} Canadian prefixes, line classes ${classes}`
}
