/** Where below the data folder the prepared data lies. */
import { join } from 'node:path'
import type { Settings } from './config.js'
import { factsFolderOf } from './data/facts/fact-feeds.js'

type DataDir = Pick<Settings, 'dataDir'>

export const listsFolder = ({ dataDir }: DataDir): string => join(dataDir, 'lists')
export const factsFolder = ({ dataDir }: DataDir): string => factsFolderOf(dataDir)
export const numberingFolder = ({ dataDir }: DataDir): string => join(dataDir, 'numbering')
