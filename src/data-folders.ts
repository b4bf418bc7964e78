/** Where below the data folder the prepared data lies. */
import { join } from 'node:path'
import type { Settings } from './config.js'
import { factsFolderOf } from './data/facts/fact-feeds.js'

type Folders = Pick<Settings, 'dataDir' | 'lists' | 'numbering'>

export const listsFolder = ({ dataDir, lists }: Folders): string =>
  lists.folder ?? join(dataDir, 'lists')
export const numberingFolder = ({ dataDir, numbering }: Folders): string =>
  numbering.folder ?? join(dataDir, 'numbering')
export const factsFolder = ({ dataDir }: Pick<Settings, 'dataDir'>): string =>
  factsFolderOf(dataDir)
