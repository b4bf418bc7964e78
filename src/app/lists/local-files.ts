/** Where this server has the files that several servers share: number lists, and prepared numbering files. */
import { rm } from 'node:fs/promises'
import type { Settings } from '../../config/settings.js'
import type { LocalFile } from '../../data/number-list/exchange/obtain-list.js'
import { splitListName } from '../../data/number-list/list-names.js'
import {
  findListNames,
  resolveListPath,
  resolveVersionPath,
} from '../../data/number-list/list-paths.js'
import { rollBackList } from '../../data/number-list/list-rollback.js'
import { findVersions } from '../../data/number-list/list-version-files.js'
import {
  isNumberingFileName,
  locateNumberingFile,
} from '../../data/numbering/published-numbering.js'
import { systemClock } from '../../runtime/runtime.js'
import { getListsFolder, getNumberingFolder } from '../data-folders.js'

export function locateFile(
  { name, version }: { readonly name: string; readonly version: string },
  settings: Settings,
): LocalFile {
  const { keepVersions } = settings.lists
  if (isNumberingFileName(name)) {
    const folder = getNumberingFolder(settings)
    return locateNumberingFile({ folder, name, version, keepVersions })
  }
  const folder = getListsFolder(settings)
  const inUse = resolveListPath(folder, name)
  const use = async () => {
    // A damaged file of this version is not one to go back to.
    if (findVersions(folder, name).some((one) => one.inUse && one.version === version)) {
      await rm(inUse)
    }
    await rollBackList({ folder, name, to: version, keep: keepVersions, clock: systemClock })
  }
  const { list } = splitListName(name)
  const findSameContent = () =>
    findListNames(folder)
      .names.filter((other) => other !== name && splitListName(other).list === list)
      .flatMap((other) => [
        resolveListPath(folder, other),
        resolveVersionPath(folder, other, version),
      ])
  return { inUse, kept: resolveVersionPath(folder, name, version), use, findSameContent }
}
