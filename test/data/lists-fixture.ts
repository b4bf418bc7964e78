/** Lists imported from files of a fresh folder, at a time that stands still. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { openNumberList } from '../../src/data/number-list/format/number-list.js'
import {
  type ChangesImportOptions,
  importChanges,
} from '../../src/data/number-list/import/changes-import.js'
import {
  importList,
  type ListImportOptions,
} from '../../src/data/number-list/import/list-import.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import { fixedClock, type Instant } from '../../src/domain/time/clock.js'
import { parseInstant } from '../../src/domain/time/dates.js'
import type { TempFolder } from './temp-folder.js'

export function at(text: string): Instant {
  const instant = parseInstant(text)
  if (instant === undefined) throw new Error(text)
  return instant
}

export const now = at('2026-11-20T12:00:00Z')

export function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

/** `2125550000` and so on, a line each. */
export function numberLines(from: number, count: number): string {
  return Array.from({ length: count }, (_, nth) => `${2_125_550_000 + from + nth}\n`).join('')
}

export function listsFixture(folder: TempFolder) {
  const lists = () => folder.file('lists')
  /** Files below the lists, with what tells a rewritten or touched one. */
  const state = (): Readonly<Record<string, string>> => {
    if (!existsSync(lists())) return {}
    const files = readdirSync(lists(), { recursive: true, withFileTypes: true })
    const entries = files
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const path = join(entry.parentPath, entry.name)
        const { ino, mtimeMs, ctimeMs } = statSync(path)
        const shown = path.slice(lists().length + 1)
        return [shown, `${ino} ${mtimeMs} ${ctimeMs} ${sha256(readFileSync(path))}`] as const
      })
    return Object.fromEntries(entries)
  }
  return {
    lists,
    path: (name = 'us-dnc') => join(lists(), `${name}.cglist`),
    source(name: string, content: string | Buffer, written = '2026-11-18T08:00:00Z'): string {
      const path = folder.write(name, content)
      utimesSync(path, at(written) / 1000, at(written) / 1000)
      return path
    },
    importing(more: Partial<ListImportOptions> & Pick<ListImportOptions, 'files'>) {
      return importList({ name: 'us-dnc', folder: lists(), clock: fixedClock(now), ...more })
    },
    changing(more: Partial<ChangesImportOptions> & Pick<ChangesImportOptions, 'files'>) {
      return importChanges({ name: 'us-dnc', folder: lists(), clock: fixedClock(now), ...more })
    },
    /** Which of the numbers are on the list in use. */
    listed(numbers: readonly string[], name = 'us-dnc'): string[] {
      const list = openNumberList(join(lists(), `${name}.cglist`))
      return numbers.filter((number) => list.has(toPhoneNumber(number)))
    },
    state,
    files: () => Object.keys(state()).sort(),
  }
}
